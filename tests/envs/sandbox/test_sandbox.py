"""Right programs pass, wrong ones fail for the reason given; attacks are in a file of their own."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from laconic.envs import sandbox
from laconic.envs.errors import SettingError
from laconic.envs.sandbox import Limits, Program, Verdict, run, run_at
from laconic.envs.sandbox.processes import cores
from laconic.envs.sandbox.wardens import GRACE, WARDENS

PATIENT = Limits(seconds=60, cpu_seconds=20)
"""So much that a busy machine fails no right program."""
NODE = """
class Node:
    def __init__(self, value):
        self.value, self.left = value, None
    def __eq__(self, other):
        return self.value == other.value
    def __len__(self):
        return 1 + (len(self.left) if self.left else 0)
    def __iter__(self):
        yield self.value
def depth(node):
    return 0 if node is None else 1 + depth(node.left)
def chain(n):
    node = Node(n)
    node.left = chain(n - 1) if n else None
    return node
"""


def graded(code: str, *tests: str, entry_points=("f",), **settings) -> Verdict:
    return run(Program(code, tests, entry_points, **settings), PATIENT)


@pytest.fixture(params=["bubblewrap", "process"])
def level(request):
    if request.param == "bubblewrap" and sandbox.level() != "bubblewrap":
        pytest.skip("there is no bubblewrap here")
    return request.param


def test_a_right_program_passes_at_every_level(level):
    program = Program("def f(a, b):\n    return a + b\n", ("assert f(1, 2) == 3",), ("f",))
    verdict = run_at(level, program, PATIENT)
    used = verdict.cpu_seconds
    assert verdict == Verdict((True,), "passed", "separate", level, "", used) and used < 5.0
    assert verdict.passed


def test_no_tests_are_not_passed():
    verdict = graded("def f():\n    return 1\n")
    assert verdict.results == () and not verdict.passed and verdict.outcome == "failed"


def test_every_piece_of_tests_has_its_own_result():
    verdict = graded("def f(n):\n    return n\n", "assert f(1) == 1", "assert f(2) == 3", "f(3)")
    assert verdict.results == (True, False, True)
    assert verdict.outcome == "failed" and not verdict.passed
    assert verdict.message == "AssertionError: "


@pytest.mark.parametrize(
    ("code", "outcome", "message"),
    [
        ("", "error", "NameError: name 'f' is not defined"),
        ("def f(:", "error", "SyntaxError: invalid syntax (<program>, line 1)"),
        ("def f(n):\n    return 1 / 0\n", "error", "ZeroDivisionError: division by zero"),
        ("1 / 0", "error", "ZeroDivisionError: division by zero"),
        ("import os\nos._exit(0)", "error", "the program ended"),
        ("def f(n):\n    return object()\n", "error", "'object' is not a plain value"),
        ("def f(n):\n    raise MemoryError\n", "memory", "MemoryError"),
        ("def f(n):\n    return bytearray(10**11)\n", "memory", "MemoryError"),
        (
            "def f(n):\n    raise ValueError('a\\nb\\x1b[2J\\u2603' * 999)",
            "error",
            "ValueError: a b",
        ),
    ],
)
def test_the_outcome_says_why_a_program_fails(code, outcome, message):
    verdict = graded(code, "assert f(1) == 1")
    assert (verdict.results, verdict.outcome) == ((False,), outcome)
    assert message in verdict.message
    assert (
        len(verdict.message) <= 200 and verdict.message.isascii() and verdict.message.isprintable()
    )


def test_tests_that_are_no_python_fail_and_do_not_raise():
    verdict = graded("def f():\n    return 1\n", "assert f(")
    assert verdict.results == (False,) and "SyntaxError" in verdict.message


def test_time_is_limited_and_what_passed_before_counts():
    code = "import time\ndef f(n):\n    time.sleep(n)\n    return n\n"
    program = Program(code, ("assert f(0) == 0", "assert f(99) == 99", "assert f(0) == 0"), ("f",))
    start_time = time.monotonic()
    verdict = run(program, Limits(seconds=3))
    assert verdict.outcome == "timeout" and verdict.results[1:] == (False, False)
    assert time.monotonic() - start_time < 3 + GRACE


def test_tests_that_loop_over_a_hostile_value_are_stopped():
    code = "def f():\n    return range(10**18)\n"
    program = Program(code, ("assert sum(f()) == 1",), ("f",))
    assert run(program, Limits(seconds=2)).outcome == "timeout"


@pytest.mark.parametrize(
    "value",
    [
        "None", "True", "0", "-7", "10**5000", "0.1", "float('inf')", "-0.0", "1+2j", "''",
        "'it\\'s \"é\\u2603\\n\\ud800'", "b'\\x00\\xff'", "bytearray(b'a')", "[]", "[1, [2, (3,)]]",
        "(1,)", "{'a': {1: (2, 3)}}", "{1, 'a'}", "frozenset({1})", "range(1, 9, 2)",
    ],
)  # fmt: skip
def test_plain_values_cross_both_ways_with_their_types(value):
    test = f"value = {value}\nassert f(value) == value and type(f(value)) is type(value)"
    assert graded("def f(value):\n    return value\n", test).message == ""


def test_subclasses_and_views_cross_as_what_they_hold():
    code = """
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from enum import IntEnum
Point = namedtuple("Point", "x y")
Colour = IntEnum("Colour", "red green")
def f(which):
    counts = Counter("aab")
    return [counts, OrderedDict(counts), Point(1, 2), Colour.green, counts.keys(),
        counts.values(), counts.items(), map(str, [1, 2]), (n for n in [3]), deque([4])][which]
"""
    tests = (
        "assert f(0) == {'a': 2, 'b': 1} and type(f(0)) is dict",
        "assert f(1) == {'a': 2, 'b': 1}",
        "assert f(2) == (1, 2)",
        "assert f(3) == 2 and type(f(3)) is int",
        "assert f(4) == {'a', 'b'} and list(f(4)) == ['a', 'b']",
        "assert sorted(f(5)) == [1, 2]",
        "assert list(f(6)) == [('a', 2), ('b', 1)]",
        "assert list(f(7)) == ['1', '2'] and f(7) != ['1', '2']",
        "assert next(f(8)) == 3",
        "assert list(f(9)) == [4]",
    )
    verdict = graded(code, *tests)
    assert verdict.passed and verdict.form == "separate", verdict


def test_results_and_arguments_of_the_standard_library_cross():
    code = """
from collections import ChainMap, UserDict
from fractions import Fraction
from types import MappingProxyType
class Inventory(UserDict):
    pass
def f(x):
    return [x / 3, Fraction(1, 3), Inventory(a=1), MappingProxyType({2: 3}), ChainMap({1: 2})]
"""
    tests = (
        "from fractions import Fraction\nassert f(Fraction(1))[:2] == [Fraction(1, 3)] * 2",
        "from decimal import Decimal\nassert f(Decimal(6))[0] == Decimal(2)",
        "assert f(3)[2:] == [{'a': 1}, {2: 3}, {1: 2}]",
        "from datetime import timedelta\nassert f(timedelta(days=3))[0] == timedelta(days=1)",
    )
    verdict = graded(code, *tests)
    assert verdict.passed and verdict.form == "separate", verdict


def test_floats_are_compared_by_the_tolerance_of_the_test():
    code = "def f(x):\n    return x / 3\n"
    assert graded(code, "assert abs(f(1.0) - 1 / 3) < 1e-6", "assert f(1.0) == 1 / 3").passed
    assert not graded(code, "assert abs(f(1.0) - 0.34) < 1e-6").passed


def test_tests_may_expect_builtin_exceptions():
    code = """
class Mine(ValueError):
    pass
def f(n):
    if n < 0:
        raise Mine("negative")
    return {}[n]
"""
    caught = "try:\n    f({0})\nexcept {1} as error:\n    assert {2}\nelse:\n    assert False"
    tests = (caught.format(-1, "ValueError", "str(error) == 'negative'"),)
    assert graded(code, *tests, caught.format(1, "KeyError", "True")).passed
    assert not graded(code, caught.format(1, "ValueError", "True")).passed


@pytest.mark.parametrize("answer", ["sys.exit(0)", "os._exit(0)", "object()", "f"])
def test_no_test_can_forgive_a_program_that_ended_or_returned_no_value(answer):
    forgiving = "try:\n    f(1)\nexcept BaseException:\n    pass"
    verdict = graded(f"import os, sys\ndef f(n):\n    return {answer}\n", forgiving)
    assert verdict.results == (False,)


def test_helpers_and_modules_belong_to_the_tests():
    # The program's own `poly` and `math` are not what the tests use.
    code = "import math\nmath.fabs = poly = lambda *_: 0\ndef f(x):\n    return 2\n"
    helpers = "import random\ndef poly(x):\n    return 2 - x\ndef f(x):\n    raise KeyError\n"
    tests = ("assert math.fabs(poly(f(1))) < 1e-4", "r = random.Random(0)\nassert r.random() < 1")
    verdict = graded(code, *tests, helpers=helpers)
    assert verdict.passed and verdict.form == "separate", verdict
    assert not graded(code.replace("return 2", "return 1"), *tests, helpers=helpers).results[0]


def test_check_functions_get_the_candidate():
    check = "def check(candidate):\n    for n in range(9):\n        assert candidate(n) == n * n\n"
    assert graded("def f(n):\n    return n ** 2\n", check + "check(f)").passed
    assert not graded("def f(n):\n    return n + n\n", check + "check(f)").passed


def test_several_entry_points_keyword_arguments_and_recursion_work():
    code = "def g(n=1):\n    return n and 1 + g(n=n - 1)\ndef f(*, n):\n    return g(n)\n"
    assert graded(code, "assert f(n=900) == g(n=900) == 900", entry_points=("f", "g")).passed


def test_line_ends_of_other_systems_and_main_guards_do_no_harm():
    code = "def f():\r\n    return 1\r\n\r\nif __name__ == '__main__':\r\n    raise SystemExit\r\n"
    assert graded(code, "assert f() == 1\r\n").passed


def test_a_program_that_changes_its_argument_changes_only_its_own():
    code = "def f(items):\n    items.sort()\n    return items\n"
    assert graded(code, "given = [2, 1]\nassert f(given) == [1, 2] and given == [2, 1]").passed


def test_builtin_functions_as_arguments_need_no_other_form():
    code = "def f(items, kind):\n    return [item for item in items if isinstance(item, kind)]\n"
    verdict = graded(code, "assert f([1, 'a', 2.5], str) == ['a']", "assert f([1], len) == 0")
    assert verdict.results == (True, False) and verdict.form == "separate"


def test_objects_of_the_programs_classes_take_the_shared_form():
    setup = "root = Node(1)\r\nroot.left = Node(2)\r\n"
    tests = (
        "assert depth(root) == 2",
        "assert root.left.value == 2",
        "assert root.left == Node(2) and root != Node(3)",
        "assert len(root) == 2 and list(root) == [1] and 1 in root and isinstance(root, Node)",
        "assert chain(3).left.value == 2",
        "assert root.value == 2",
    )
    verdict = graded(NODE, *tests, entry_points=("depth", "chain"), setup=setup)
    assert verdict.results == (True, True, True, True, True, False), verdict
    assert verdict.form == "shared"


def test_functions_as_arguments_take_the_shared_form():
    code = "def f(act, items):\n    return [act(item) for item in items]\n"
    verdict = graded(
        code, "assert f(lambda n: n + 1, [1, 2]) == [2, 3]", "assert f(abs, [-1]) == [1]"
    )
    assert verdict.passed and verdict.form == "shared"


def test_what_a_program_returns_never_changes_the_form():
    code = "class Yes:\n    __eq__ = lambda self, other: True\ndef f():\n    return Yes()\n"
    verdict = graded(code, "assert f() == 1")
    assert (verdict.results, verdict.form) == ((False,), "separate")


def test_in_the_shared_form_an_object_never_equals_a_plain_value():
    code = NODE + "class Yes(Node):\n    def __eq__(self, other):\n        return True\n"
    code += "    __sub__ = __contains__ = __lt__ = __eq__\ndef f(*rest):\n    return Yes(1)\n"
    tests = ("assert f() == 5", "assert abs(f() - 5) < 1", "assert 5 in f()", "assert f() < 5")
    verdict = graded(code, *tests, setup="node = Node(1)")
    assert verdict.results == (False,) * 4 and verdict.form == "shared"


def test_the_interpreter_is_fresh_and_finds_nothing(level, monkeypatch):
    monkeypatch.setenv("SECRET", "9")
    code = """
import os, sys, json
def f():
    return [sorted(os.environ), os.listdir("."), sys.argv[1:], sys.flags.isolated,
        "torch" in sys.modules, "envs" in sys.modules, os.path.exists("/proc/self")]
"""
    test = "*rest, proc = f()\nassert rest == [[], [], [], 1, False, False], rest"
    # What Python and bubblewrap set themselves.
    own = "import os\nfor name in ('LC_CTYPE', 'PWD'):\n    os.environ.pop(name, None)\n"
    program = Program(own + code, (test,), ("f",))
    assert run_at(level, program, PATIENT).message == ""


def test_inside_bubblewrap_there_is_no_project_and_no_network():
    if sandbox.level() != "bubblewrap":
        pytest.skip("there is no bubblewrap here")
    here = os.path.dirname(os.path.abspath(__file__))
    code = f"import os\ndef f():\n    return os.path.exists({here!r}), os.path.exists('/proc')\n"
    assert graded(code, "assert f() == (False, False)").passed


def test_many_threads_may_run_programs_at_once():
    programs = [
        Program(f"def f():\n    return {n % 3}\n", ("assert f() == 0",), ("f",)) for n in range(9)
    ]
    expected = [n % 3 == 0 for n in range(9)]
    with ThreadPoolExecutor(9) as threads:
        verdicts = list(threads.map(lambda program: run(program, PATIENT), programs))
    assert [verdict.passed for verdict in verdicts] == expected
    assert len(WARDENS.pids) <= cores()


def test_a_warden_that_dies_costs_one_verdict_and_no_more():
    program = Program("def f():\n    return 1\n", ("assert f() == 1",), ("f",))
    assert run(program, PATIENT).passed
    for pid in WARDENS.pids:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert run(program, PATIENT).passed


def test_a_forked_process_starts_wardens_of_its_own():
    program = Program("def f():\n    return 1\n", ("assert f() == 1",), ("f",))
    assert run(program, PATIENT).passed
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if run(program, PATIENT).passed else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert run(program, PATIENT).passed


def test_the_level_is_found_once_and_told():
    assert sandbox.level() in ("bubblewrap", "process")
    assert sandbox.conditions()["sandbox"].startswith(sandbox.level())


def test_files_that_programs_share_on_disk_are_reported(monkeypatch):
    monkeypatch.setattr(sandbox.wardens, "_ROOTS", [None])
    assert sandbox.conditions()["sandbox"].endswith(", page cache shared")


def test_without_bubblewrap_the_level_is_process(monkeypatch):
    def without(at, program, limits):
        return Verdict((at == "process",), "error", "separate", at, "no bwrap")

    monkeypatch.setattr(sandbox, "_LEVEL", [])
    monkeypatch.setattr(sandbox, "run_at", without)
    monkeypatch.setattr(sandbox.jail, "find_bubblewrap", lambda: "/usr/bin/bwrap")
    with pytest.warns(UserWarning, match="bubblewrap is installed but .*no bwrap.* 'process'"):
        assert sandbox.level() == "process"
    assert sandbox.conditions()["sandbox"].startswith("process, ")


def test_a_machine_without_any_sandbox_is_refused(monkeypatch):
    monkeypatch.setattr(sandbox, "_LEVEL", [])
    refused = Verdict((False,), "error", "separate", "process", "no pipes")
    monkeypatch.setattr(sandbox, "run_at", lambda *_: refused)
    with pytest.raises(SettingError, match="no program can be run in a sandbox.*no pipes"):
        sandbox.level()


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
@pytest.mark.parametrize("value", [0, -1, float("nan"), "5"])
def test_limits_outside_their_range_are_refused(name, value):
    with pytest.raises(SettingError, match=f"limit {name} must be a finite number above 0"):
        Limits(**{name: value})
