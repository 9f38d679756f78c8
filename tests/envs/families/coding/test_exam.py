"""An exam finds the program in a reply and puts its tests beside it."""

from __future__ import annotations

from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.coding.extract import fenced

EXAM = Exam(
    "f",
    ("assert f(1) == 2",),
    ("f", "g"),
    prompt="import math\n\ndef f(n):\n",
    preamble="import math",
    setup="x = 1",
    imports="import random",
    seconds=3.0,
)


def test_the_clock_leaves_twice_the_processor_time():
    assert (EXAM.limits.cpu_seconds, EXAM.limits.seconds) == (3.0, 6.0)


def test_a_program_is_found_whole_or_as_a_body_of_the_prompt():
    whole = "def f(n):\n    return n"
    assert EXAM.find(fenced(whole)) == whole + "\n"
    assert EXAM.find("    return math.floor(n)\n") == EXAM.prompt + "    return math.floor(n)\n"
    assert EXAM.find(fenced("def f(n):\n    return math.ceil(n)")).startswith("import math")
    assert EXAM.find("no") is None


def test_the_tests_get_imports_and_preamble_and_the_program_its_own_code_alone():
    sheet = EXAM.sheet("code")
    assert (sheet.code, sheet.tests, sheet.entry_points) == ("code", EXAM.tests, ("f", "g"))
    assert (sheet.setup, sheet.helpers) == ("x = 1", "import random\nimport math")
