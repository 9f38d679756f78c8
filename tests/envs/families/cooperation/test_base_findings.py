"""Feedback for each agent on its own function, and for both on the joint result."""

from __future__ import annotations

import pytest

from laconic.envs.families.cooperation.base import spelled, told

NOTHING = {"points": {"auxiliary": 0.0, "main": 0.0}}
BROKEN = {"points": {"auxiliary": 0.4, "main": 0.6, "syntax": 0.0}}
POINTS = {"auxiliary": 0.4, "main": 0.6, "syntax": 0.5, "tests": 0.5}
HALF = {"points": POINTS, "passed": 1, "total": 2, "outcome": "error", "first_failed": 2}
HALF["message"] = "ValueError: words that a program wrote"
THIN = {"calls": 0.5, "substance": 0.0, "ignored": -0.5}


@pytest.mark.parametrize(
    ("role", "detail", "expected"),
    [
        ("auxiliary", NOTHING, "You wrote no function aux that returns something."),
        ("main", NOTHING, "You wrote no function tidy, so nothing was tested."),
        ("judge", NOTHING, ""),
        (
            "auxiliary",
            BROKEN,
            "Your function aux was found."
            " The two functions together are not valid Python, so nothing was tested.",
        ),
        ("judge", HALF, "1 of 2 tests passed. The first failure, test 2: error, ValueError."),
        (
            "judge",
            {**HALF, "message": "Aux says hello: words", "spelled_by": ["main"]},
            "1 of 2 tests passed. The first failure, test 2: error.",
        ),
        (
            "main",
            {**HALF, "passed": 2, "points": {**POINTS, "calls": 0.0}},
            "Your function tidy was found. 2 of 2 tests passed. Your tidy does not call aux.",
        ),
        (
            "main",
            {**HALF, "passed": 2, "points": {**POINTS, **THIN}},
            "Your function tidy was found. 2 of 2 tests passed. Your tidy only passes on what aux"
            " returns; do part of the work in it. Your tidy ignores what aux returns; use it.",
        ),
    ],
)
def test_what_is_told(role, detail, expected):
    assert told(role, "tidy", detail) == expected


def test_an_author_is_told_the_text_of_its_exception_indented_and_cut():
    detail = {**HALF, "message": "KeyError: one\nmain_0: two " + "x" * 300, "spelled_by": ["main"]}
    feedback = told("main", "tidy", detail)
    assert "error, KeyError, one\n  main_0: two xxx" in feedback
    # Of the text 200 characters: `one\nmain_0: two ` has 16.
    assert feedback.count("x") == 200 - 16
    assert "one" not in told("auxiliary", "tidy", detail).partition("KeyError")[2]


def test_the_author_is_who_spells_the_text():
    written = {"auxiliary": "raise ValueError('low')", "main": "aux()"}
    assert spelled("ValueError: low", written) == ["auxiliary"]
    assert spelled("IndexError: list index out of range", written) == []
    assert spelled("ValueError", written) == spelled("", written) == []
