"""Use of another function's result, on small functions."""

from __future__ import annotations

import ast

import pytest

from laconic.envs.families.cooperation.schemes import Reading


def read(*lines: str) -> Reading:
    module = ast.parse("\n    ".join(("def main(x):", *lines)))
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    return Reading(function, "aux")


def test_outcomes_are_followed_through_names_and_choices():
    outcomes = read("r = 1 if x else aux(x)", "return r or 3").outcomes
    assert [ast.unparse(outcome) for outcome in outcomes] == ["1", "aux(x)", "3"]
    # A name that is given itself is not followed for ever.
    assert read("y = y", "return y").outcomes
    # What a function inside gives back is its own.
    assert [
        ast.unparse(outcome) for outcome in read("def g():", "    return 1", "return 2").outcomes
    ] == ["2"]
    assert read("pass").outcomes == []


def test_names_of_the_result_are_followed():
    assert read("a = aux(x)", "b = a", "c = b + 1").results == {"a", "b"}
    assert read("a = 1").results == set()


@pytest.mark.parametrize(
    ("lines", "judged", "caught", "before_or"),
    [
        (["return aux(x)"], False, False, False),
        (["if aux(x):", "    return 1"], True, False, False),
        (["r = aux(x)", "return 1 if r else 2"], True, False, False),
        (["return [y for y in x if aux(y)]"], True, False, False),
        (["return list(filter(aux, x))"], True, False, False),
        (["return aux(x) or 1"], False, False, True),
        (["return x or aux(x) or 1"], False, False, True),
        (["return x or 1 or aux(x)"], False, False, False),
        (["try:", "    return aux(x)", "except ValueError:", "    return 1"], False, True, False),
    ],
)
def test_where_the_result_stands(lines, judged, caught, before_or):
    result = read(*lines)
    assert (result.judged, result.caught, result.before_or) == (judged, caught, before_or)


@pytest.mark.parametrize(
    ("lines", "splits", "prepares", "finishes"),
    [
        (["return aux(x)"], False, False, False),
        (["return aux(x) + 1"], False, False, True),
        (["return aux(x[1:])"], False, True, False),
        (["x = sorted(x)", "return aux(x)"], False, True, False),
        (["return [aux(y) for y in x]"], True, True, True),
        (["for y in aux(x):", "    print(y)"], False, False, True),
        (["return aux(1) + aux(2)"], True, False, True),
        (["return aux(aux(x))"], False, True, True),
        (["aux(x)", "return x"], False, False, False),
    ],
)
def test_what_is_done_before_and_after_a_call(lines, splits, prepares, finishes):
    result = read(*lines)
    assert (result.splits, result.prepares) == (splits, prepares)
    assert result.finishes(or_too=True) == finishes


def test_a_check_gives_back_truth_values_only():
    assert read("return x > 1").is_check
    assert read("return x.isdigit() and not x").is_check
    assert read("if x:", "    return 'a'", "return 'b'").is_check
    assert not read("return None").is_check
    assert not read("return x + 1").is_check


def test_what_is_computed_and_what_is_handed_back():
    result = read("r = aux(x)", "return r if r else x + 1")
    first, second = result.outcomes
    assert result.hands_back(first) and not result.computes(first)
    assert result.computes(second) and not result.hands_back(second)
    assert not result.computes(ast.parse("len", mode="eval").body)
