from __future__ import annotations

import time
from itertools import islice

import pytest

from laconic.envs.families.chess.move_texts import commitment, moves_in


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
        # A later mark without a move takes nothing back.
        ("#### Qh7# #### ?", "#### Qh7#", "Qh7#"),
    ],
)
def test_the_last_marked_move_is_the_commitment(text: str, exact: str, move: str) -> None:
    assert commitment(text) == (exact, move)


def test_a_marked_move_is_the_only_candidate() -> None:
    assert list(moves_in("Rd8# and Qh7# #### Qh7# or Qg7#")) == ["Qh7#"]


def test_unmarked_moves_come_before_squares_and_stated_ones_first() -> None:
    text = "The king on g8 goes to h8 after Qh5. The move is 12. Qh7#, not Rd8 or g4."
    assert list(moves_in(text)) == ["Qh7#", "Rd8", "Qh7#", "Qh5", "g4", "h8", "g8"]


@pytest.mark.parametrize("text", ["answer: Qh7#", "checkmate is Qh7#", "the answer is: `Qh7#`"])
def test_a_move_may_be_stated_in_words(text: str) -> None:
    assert next(moves_in(text)) == "Qh7#"


def test_letters_and_digits_glued_to_a_move_make_it_a_word() -> None:
    assert list(moves_in("a1c Qh77 10-0 MQh7 e4e5e6")) == []


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
        assert len(list(islice(moves_in(text), 10**5))) <= 20_000
    assert time.perf_counter() - started < 2.0
