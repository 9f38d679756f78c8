"""The form is read from the tests."""

from __future__ import annotations

import pytest

from laconic.envs.sandbox.judge import needs


@pytest.mark.parametrize(
    "test",
    [
        "",
        "assert f(1) == [2]",
        "assert f('a').upper() == 'A'",
        "def check(candidate):\n    assert candidate(1).index(2) == 0\ncheck(f)",
        "import math\nassert math.isclose(f(1), 2)",
        "import random as r\nrng = r.Random(1)\nassert f(rng.randint(1, 2))",
        "class Own:\n    x = 1\nown = Own()\nassert f(own.x)",
        "assert [x for x in f(1)] == [1]",
    ],
)
def test_plain_values_are_enough_for_plain_tests(test):
    assert not needs([test], ("f",)).objects


@pytest.mark.parametrize(
    "test",
    [
        "assert f(Node(1)) == 1",
        "tree = f(1)\nassert tree.left == 1",
        "assert f(1).left == 1",
        "assert f(1)(2) == 3",
    ],
)
def test_objects_are_needed_where_only_the_program_can_make_them(test):
    assert needs([test], ("f",)).objects


def test_modules_that_tests_forgot_to_import_are_theirs():
    result = needs(["assert f(1) == sys.getsizeof(1) + Node.size"], ("f",))
    assert result.modules == ("sys",) and result.foreign == ("Node",)


def test_a_name_of_the_program_is_no_module():
    assert needs(["assert queue(1) == 1"], ("queue",)).modules == ()


def test_source_that_is_no_python_is_refused():
    with pytest.raises(SyntaxError):
        needs(["assert ("], ("f",))
