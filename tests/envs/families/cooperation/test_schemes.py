"""The four cooperation schemes on hand-written examples, and on programs that show none."""

from __future__ import annotations

import pytest

from laconic.envs.families.cooperation.schemes import SCHEMES, schemes

NUMBER = "def aux(x):\n    return x * 3\n"
MAYBE = "def aux(x):\n    return x * 3 if x else None\n"
CHECK = "def aux(x):\n    return x % 2 == 0\n"
FLAG = "def aux(xs):\n    ok = True\n    for x in xs:\n        if x < 0:\n            ok = False\n"
FLAG += "    return ok\n"
LABEL = "def aux(x):\n    if x < 0:\n        return 'low'\n    return 'high'\n"


def shown(auxiliary: str, *lines: str, head: str = "def main(x):") -> tuple[str, ...]:
    return schemes(auxiliary + "\n    ".join((head, *lines)) + "\n", "main", "aux")


FALLBACK = [
    (MAYBE, ["r = aux(x)", "if r is None:", "    return x + 1", "return r"]),
    (MAYBE, ["r = aux(x)", "if r is not None:", "    return r", "return x + 1"]),
    (MAYBE, ["r = aux(x)", "if not r:", "    r = x + 1", "return r"]),
    (MAYBE, ["r = aux(x)", "return r if r else x + 1"]),
    (MAYBE, ["return aux(x) or x + 1"]),
    (MAYBE, ["if (r := aux(x)) is not None:", "    return r", "return x + 1"]),
    (NUMBER, ["try:", "    return aux(x)", "except ValueError:", "    return x + 1"]),
    (NUMBER, ["try:", "    r = aux(x)", "except Exception:", "    r = x + 1", "return r"]),
]
DECORATOR = [
    (NUMBER, ["return aux(x) + 1"]),
    (NUMBER, ["r = aux(x)", "return round(r, 2)"]),
    (NUMBER, ["return aux(sorted(x))"]),
    (NUMBER, ["x = x.strip()", "return aux(x)"]),
    (NUMBER, ["y = x.lower()", "return aux(y)"]),
    (NUMBER, ["if not x:", "    return 0", "return aux(x)[::-1]"]),
    (NUMBER, ["r = aux(x)", "r += 1", "return r"]),
    # A result that is replaced by a constant was worked on.
    (NUMBER, ["r = aux(x)", "if r > 10:", "    return 10", "return r"]),
    # A number that is compared is no check.
    (NUMBER, ["if aux(x) == x:", "    return True", "return False"]),
    (NUMBER, ["return [y + 1 for y in aux(x)]"]),
    (NUMBER, ["total = 0", "for y in aux(x):", "    total += y", "return total"]),
    (CHECK, ["return not aux(x)"]),
    (CHECK, ["return aux(x) or x > 10"]),
]
COORDINATOR = [
    (NUMBER, ["return [aux(y) for y in x]"]),
    (NUMBER, ["return sum(aux(y) for y in x)"]),
    (NUMBER, ["out = []", "for y in x:", "    out.append(aux(y))", "return out"]),
    (NUMBER, ["while x > 9:", "    x = aux(x)", "return x"]),
    (NUMBER, ["return list(map(aux, x))"]),
    (NUMBER, ["return max(x, key=aux)"]),
    (NUMBER, ["return sorted(x, key=lambda y: aux(y))"]),
    (NUMBER, ["if x < 0:", "    return -aux(-x)", "return aux(x)"]),
    (NUMBER, ["return aux(x[:2]) + aux(x[2:])"]),
]
FILTER = [
    (CHECK, ["if aux(x):", "    return x // 2", "return 3 * x + 1"]),
    (CHECK, ["return x // 2 if aux(x) else 3 * x + 1"]),
    (CHECK, ["even = aux(x)", "if not even:", "    x += 1", "return x"]),
    (CHECK, ["return 'even' if aux(x) else 'odd'"]),
    (FLAG, ["if not aux(x):", "    return []", "return sorted(x)"]),
    (LABEL, ["if aux(x) == 'low':", "    return -x", "return x"]),
    (LABEL, ["match aux(x):", "    case 'low':", "        return -x", "return x"]),
    ("def aux(x):\n    return x.isdigit() and not x == ''\n", ["return int(x) if aux(x) else 0"]),
]
BOTH = [
    (CHECK, ["return [y for y in x if aux(y)]"]),
    (CHECK, ["return list(filter(aux, x))"]),
    (CHECK, ["n = 0", "for y in x:", "    if aux(y):", "        n += y", "return n"]),
]
NONE = [
    (NUMBER, ["return aux(x)"]),
    (NUMBER, ["r = aux(x)", "return r"]),
    (NUMBER, ["return x + 1"]),
    (NUMBER, ["aux(x)", "return x + 1"]),
    (NUMBER, ["y = aux(x + 1)", "return x"]),
    (NUMBER, ["if not x:", "    return 0", "return aux(x)"]),
    # A constant is not computed, so this is no fallback.
    (NUMBER, ["try:", "    return aux(x)", "except ValueError:", "    return None"]),
    (NUMBER, ["if x > 3:", "    return x + 1", "return aux(x)"]),
    (NUMBER, ["return map"]),
    (NUMBER, ["pass"]),
]


@pytest.mark.parametrize(("auxiliary", "lines"), FALLBACK)
def test_a_main_that_computes_where_the_auxiliary_fails_is_a_fallback(auxiliary, lines):
    assert shown(auxiliary, *lines) == ("fallback",)


@pytest.mark.parametrize(("auxiliary", "lines"), DECORATOR)
def test_a_main_that_works_before_or_after_one_call_is_a_decorator(auxiliary, lines):
    assert shown(auxiliary, *lines) == ("decorator",)


@pytest.mark.parametrize(("auxiliary", "lines"), COORDINATOR)
def test_a_main_that_splits_the_case_is_a_coordinator(auxiliary, lines):
    assert shown(auxiliary, *lines) == ("coordinator",)


@pytest.mark.parametrize(("auxiliary", "lines"), FILTER)
def test_a_main_that_branches_on_a_check_is_a_strategy_filter(auxiliary, lines):
    assert shown(auxiliary, *lines) == ("strategy_filter",)


@pytest.mark.parametrize(("auxiliary", "lines"), BOTH)
def test_a_check_on_every_item_is_a_coordinator_and_a_filter(auxiliary, lines):
    assert shown(auxiliary, *lines) == ("coordinator", "strategy_filter")


@pytest.mark.parametrize(("auxiliary", "lines"), NONE)
def test_a_main_that_passes_on_or_ignores_shows_no_scheme(auxiliary, lines):
    assert shown(auxiliary, *lines) == ()


def test_a_result_that_is_worked_on_and_fallen_back_from_shows_two():
    lines = ["r = aux(x)", "if r is None:", "    return x + 1", "return r * 2"]
    assert shown(MAYBE, *lines) == ("fallback", "decorator")


def test_chained_calls_split_nothing():
    assert shown(NUMBER, "return aux(aux(x))") == ("decorator",)


def test_the_loop_that_a_call_is_made_for_once_splits_nothing():
    assert shown(NUMBER, "return [y for y in aux(x)]") == ("decorator",)
    nested = shown(NUMBER, "return [z for y in x for z in aux(y)]")
    assert nested == ("coordinator",)


@pytest.mark.parametrize(
    "program",
    ["", "def main(x):", "def main(x):\n    return aux(x) + 1", NUMBER, "\x00", "\ud800", "(" * 999]
    + ["aux = sorted\ndef main(x):\n    return aux(x) + 1"],
)
def test_what_lacks_a_function_or_is_no_python_shows_none(program):
    assert schemes(program, "main", "aux") == ()


def test_names_that_are_given_to_each_other_come_to_an_end():
    lines = ["a = b = aux(x)", "for _ in x:", "    a = b", "    b = a"]
    assert shown(NUMBER, *lines, "return a or b or x") == ("fallback",)


def test_other_names_may_be_asked_about():
    program = "def part(x):\n    return x\n\ndef whole(x):\n    return part(x) + 1\n"
    assert schemes(program, "whole", "part") == ("decorator",)
    assert schemes(program, "whole", "aux") == ()
    assert SCHEMES == ("fallback", "decorator", "coordinator", "strategy_filter")
