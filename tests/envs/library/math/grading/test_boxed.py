"""The answer of a message: the last marker that holds something, else words, else the last."""

from __future__ import annotations

import time

import pytest

from laconic.envs.library.math.grading.boxed import WINDOW, answer_in, commitment


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("nothing at all", None),
        (r"\boxed{}", None),
        (r"\boxed{5", None),
        (r"\boxed{5}", (r"\boxed{5}", "5")),
        (r"so \boxed 5.", (r"\boxed 5", "5")),
        (r"\fbox{ \frac{1}{2} }!", (r"\fbox{ \frac{1}{2} }", r"\frac{1}{2}")),
        (r"\boxed{\{1, 2\}}", (r"\boxed{\{1, 2\}}", r"\{1, 2\}")),
        (r"\boxed{1} and \boxed{2}", (r"\boxed{2}", "2")),
        # The last one that holds something.
        (r"\boxed{1} and \boxed{ }", (r"\boxed{1}", "1")),
        ("#### 7\nbye", ("#### 7", "7")),
        ("#### 7\n\\boxed{8}", (r"\boxed{8}", "8")),
        ("\\boxed{8}\n#### 7", ("#### 7", "7")),
        (r"#### \boxed{9}", (r"\boxed{9}", "9")),
        (r"\boxedx{3}", None),
        # An empty set is something, an empty or open box is not, so an earlier one counts.
        (r"\boxed{\{\}}", (r"\boxed{\{\}}", r"\{\}")),
        (r"\boxed{\{ \, \}}", (r"\boxed{\{ \, \}}", r"\{ \, \}")),
        ("\\boxed{\u2205}", ("\\boxed{\u2205}", "\u2205")),
        ("\\boxed{-\u221e}", ("\\boxed{-\u221e}", "-\u221e")),
        ("#### \u221e", ("#### \u221e", "\u221e")),
        (r"First \boxed{7}. No: \boxed{8", (r"\boxed{7}", "7")),
        (r"First \boxed{7}. No: \boxed{}", (r"\boxed{7}", "7")),
    ],
)
def test_the_last_marker_that_holds_something_commits(text: str, expected: object) -> None:
    assert commitment(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The answer is 12.", "12"),
        ("the answer is $x+1$, I think", "x+1"),
        ("Answer: **(B)**", "(B)"),
        ("I get 3, then 4/5", "4/5"),
        ("we have $a$ and later 7", "7"),
        ("7 gives $a$", "a"),
        ("It is \u20117", "-7"),
        ("It is \uff17", "7"),
        (r"The answer is 3. \boxed{4} The answer is 5.", "4"),
        ("", None),
    ],
)
def test_without_a_marker_words_count_and_then_the_last_expression(
    text: str, expected: str | None
) -> None:
    assert answer_in(text) == expected


def test_only_the_end_of_a_text_is_read_and_no_text_is_slow() -> None:
    assert commitment(r"\boxed{1}" + "x" * WINDOW) is None
    start_time = time.monotonic()
    for piece in (r"\boxed{", "{", "#### ", "answer is ", "$", "1,"):
        answer_in(piece * 50_000)
    assert time.monotonic() - start_time < 10
