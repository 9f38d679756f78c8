"""Structure and exact numbers decide; algebra is asked only about single expressions."""

from __future__ import annotations

import pytest

from laconic.envs.library.math.grading.compare import same, value_of


def yes(gold: str, answer: str) -> bool:
    return True


def never(gold: str, given: str) -> bool:
    raise AssertionError(f"algebra was asked about {gold!r} and {given!r}")


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("5", "5", True),
        ("", "", False),
        ("0.5", r"\frac{1}{2}", True),
        ("(1,2)", "(2,1)", False),
        ("1, 2", "2, 1", True),
        ("1, 1", "1", False),
        (r"\{1\}", "1", True),
        ("x = 5", "5", True),
        ("x = 5", "6", False),
        ("x = 5", "y = 5", False),
        ("5", "3 = 5", False),
        ("(1,2)", "[1,2]", False),
        (",".join(["1"] * 41), ",".join(["1"] * 40 + ["1.0"]), False),
    ],
)
def test_rules_decide_without_algebra(gold: str, answer: str, expected: bool) -> None:
    assert same(gold, answer, never) is expected


def test_expressions_without_structure_are_asked_about_the_reference_first() -> None:
    calls = []

    def decide(gold: str, answer: str) -> bool:
        calls.append((gold, answer))
        return True

    assert same("(x+1, 2)", "(1+x, 2)", decide)
    assert calls == [("x+1", "1+x")]


def test_a_number_asked_for_is_no_sum_that_gives_it() -> None:
    assert not same("6", "3+3", yes)
    assert not same("3:5", "x", yes)


def test_the_value_of_an_equation_is_what_it_says_of_its_name() -> None:
    assert value_of("x = 5") == "5"
    assert value_of("x + y = 5") == "x + y = 5"
    assert value_of("5") == "5"


def test_algebra_is_not_asked_about_words_that_one_side_has_alone() -> None:
    # `x cats` is x with a unit, `cats x` is words: their letters are compared, and differ.
    assert same("x cats", "cats x", yes) is False
    assert same("cats x", "x cats", yes) is False
