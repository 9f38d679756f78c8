from __future__ import annotations

import time

import pytest

from laconic.envs.library.checkmate.move_texts import WINDOW, commitment, move_text


@pytest.mark.parametrize(
    "text", ["", "no idea", "####", "#### ?", "#### mate", "\\boxed{}", "Qh7#"]
)
def test_a_text_without_a_marked_move_commits_to_nothing(text: str) -> None:
    assert commitment(text) is None


@pytest.mark.parametrize(
    ("text", "exact", "move"),
    [
        ("#### Qh7#", "#### Qh7#", "Qh7#"),
        ("so #### Qh7# .", "#### Qh7#", "Qh7#"),
        ("####Qh7", "####Qh7", "Qh7"),
        ("#### **Qxh7#**", "#### **Qxh7#", "Qxh7#"),
        ("#### 41. Qh7++", "#### 41. Qh7++", "Qh7++"),
        ("#### 41... Rd1#", "#### 41... Rd1#", "Rd1#"),
        ("#### e8=Q#!!", "#### e8=Q#!!", "e8=Q#!!"),
        ("#### h5f7", "#### h5f7", "h5f7"),
        ("#### Qh5-f7", "#### Qh5-f7", "Qh5-f7"),
        ("#### 0-0-0#", "#### 0-0-0#", "0-0-0#"),
        ("#### O-O#", "#### O-O#", "O-O#"),
        ("\\boxed{Qh7\\#}", "\\boxed{Qh7\\#}", "Qh7\\#"),
        ("$\\boxed{\\text{Qh7\\#}}$", "\\boxed{\\text{Qh7\\#}}", "Qh7\\#"),
        ("#### Qh7# no: #### Qg7#", "#### Qg7#", "Qg7#"),
        ("\\boxed{Qh7#} or #### Qg7#", "#### Qg7#", "Qg7#"),
        ("#### Qh7# or \\boxed{Qg7#}", "\\boxed{Qg7#}", "Qg7#"),
        ("#### \u2655xd7#", "#### \u2655xd7#", "\u2655xd7#"),
        ("#### \u265b\ufe0fd7#", "#### \u265b\ufe0fd7#", "\u265b\ufe0fd7#"),
        ("#### \u2659e8=\u2655#", "#### \u2659e8=\u2655#", "\u2659e8=\u2655#"),
        ("#### Q\u00d7d7\u266f", "#### Q\u00d7d7\u266f", "Qxd7#"),
        ("#### Qh5\u2013f7", "#### Qh5\u2013f7", "Qh5-f7"),
        ("#### O\u2011O", "#### O\u2011O", "O-O"),
        ("<b>#### Qd7#</b>", "#### Qd7#", "Qd7#"),
        ("#### <b>Qd7#</b>", "#### <b>Qd7#", "Qd7#"),
        ("#### \\(Qd7\\#\\)", "#### \\(Qd7\\#", "Qd7\\#"),
        ("#### \\text{Qd7\\#}", "#### \\text{Qd7\\#", "Qd7\\#"),
        ("\\boxed{\u265bd7\\#}", "\\boxed{\u265bd7\\#}", "\u265bd7\\#"),
        # A later mark without a move takes nothing back.
        ("#### Qh7# #### ?", "#### Qh7#", "Qh7#"),
    ],
)
def test_the_last_marked_move_is_the_commitment(text: str, exact: str, move: str) -> None:
    assert commitment(text) == (exact, move)


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("", None),
        ("no idea", None),
        ("Rd8# and Qh7# #### Qh7# or Qg7#", "Qh7#"),
        # Said to be the move.
        ("answer: Qh7#", "Qh7#"),
        ("checkmate is Qh7#", "Qh7#"),
        ("the answer is: `Qh7#`", "Qh7#"),
        ("The move is 12. Qh7#, not Rd8 or g4.", "Qh7#"),
        ("The move is Qh7#. No, the move is Rd8.", "Rd8"),
        # Nothing but a move, then squares.
        ("Qh5, then Rd8 with the king on g8", "Rd8"),
        ("The king on g8 goes to h8", "h8"),
        # Letters and digits glued to a move make it a word.
        ("a1c Qh77 10-0 MQh7 e4e5e6", None),
    ],
)
def test_one_move_of_a_text_counts(text: str, move: str | None) -> None:
    assert move_text(text) == move


def test_only_the_end_of_a_text_is_read() -> None:
    assert commitment("#### e4" + "." * (WINDOW - 7)) == ("#### e4", "e4")
    assert commitment("#### e4" + "." * (WINDOW - 6)) is None


def test_hostile_texts_are_read_quickly() -> None:
    started = time.perf_counter()
    for text in (
        "#### " * 10**6,
        "####" + " " * 10**6,
        "\\boxed{" * 10**5,
        "0-" * 10**6,
        "a1" * 10**6,
        "Qh7 " * 10**6,
        "the move is " * 10**5,
        "\ud800\x00" * 10**6,
    ):
        assert commitment(text) is None
        move_text(text)
    assert time.perf_counter() - started < 2.0
