from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from places import DATA

from laconic import envs
from laconic.envs import sandbox
from laconic.envs.errors import SettingError, SourceError, UnknownNameError
from laconic.envs.families.coding.base import NO_PROGRAM
from laconic.envs.library.coop_humaneval.benchmark import BENCHMARK, CoopHumanEval

needs_data = pytest.mark.skipif(
    not (DATA / "humaneval").is_dir() or not (DATA / "coophumaneval").is_dir(),
    reason=f"no HumanEval and CoopHumanEval files in {DATA}",
)
ROW = {
    "task_id": "Own/1",
    "prompt": 'import math\n\n\ndef up(x):\n    """Double x and round up."""\n',
    "entry_point": "up",
    "test": "def check(candidate):\n    assert candidate(1.2) == 3\n    assert candidate(0) == 0\n",
}
AUX = "def aux(x):\n    return 2 * x"
MAIN = "def up(x):\n    return math.ceil(aux(x))"


@pytest.fixture
def load(tmp_path):
    """Loads rows that were written to a file."""

    def call(*rows):
        file = tmp_path / "test.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return BENCHMARK.load(file)

    return call


@pytest.fixture
def task(load):
    """Return a task whose best program uses an import of the prompt."""
    return load(ROW)[0]


def score(task, auxiliary: str, main: str):
    return BENCHMARK.score(task, {"auxiliary_0": auxiliary, "main_0": main})


def every(tasks, *replies):
    """Return the scores of many programs, graded two at a time."""
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(score, tasks, *replies))


def test_it_is_the_benchmark_of_its_name():
    assert isinstance(envs.benchmark("coop_humaneval"), CoopHumanEval)
    assert BENCHMARK.roles == ("auxiliary", "main") == tuple(BENCHMARK.duties)
    assert BENCHMARK.slow and BENCHMARK.conditions() == sandbox.conditions()


def test_rows_load_with_and_without_a_reference_solution(load):
    with_solution = {**ROW, "canonical_solution": "    return math.ceil(2 * x)\n"}
    bare, whole = load(ROW, with_solution)
    assert (bare.key, whole.key) == ("test/1", "test/2")
    assert bare.answer == "" and whole.answer == ROW["prompt"] + with_solution["canonical_solution"]
    assert bare.source_text == whole.source_text == ROW["prompt"]
    assert len(bare.details["exam"].tests) == 2 and bare.details["exam"].seconds == 2
    assert score(whole, "", whole.answer_text).solved


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": None}, "expected field 'prompt' to be a str; got NoneType"),
        ({"entry_point": "down"}, "docstring of the field 'entry_point', 'down'"),
        ({"test": "assert True"}, "field 'test' to define check(candidate)"),
        ({"canonical_solution": 3}, "expected field 'canonical_solution' to be a str; got int"),
        ({"canonical_solution": "return ("}, "'canonical_solution' to complete the prompt"),
    ],
)
def test_a_bad_row_is_refused_with_file_line_and_field(load, tmp_path, change, message):
    with pytest.raises(SourceError) as caught:
        load(ROW, {**ROW, **change})
    assert str(caught.value).startswith(f"{tmp_path / 'test.jsonl'}:2: ")
    assert message in str(caught.value)


def test_the_score_says_how_it_came_about(task):
    result = score(task, AUX, MAIN)
    assert (result.value, result.solved) == (4.0, True)
    assert result.answer.startswith("import math") and result.answer.endswith(MAIN)
    assert result.detail["schemes"] == ("decorator",)
    assert list(result.detail["points"]) == [
        *("auxiliary", "main", "syntax", "tests", "calls", "substance", "ignored")
    ]
    assert {name: result.detail[name] for name in ("outcome", "passed", "total", "message")} == {
        "outcome": "passed",
        "passed": 2,
        "total": 2,
        "message": "",
    }
    assert {"form", "level"} < set(result.detail)


def test_what_was_not_run_has_the_same_fields(task, monkeypatch):
    ran = set(score(task, AUX, MAIN).detail)
    monkeypatch.setattr(sandbox, "run", lambda *_: pytest.fail("a program was run"))
    for main, outcome in (("", NO_PROGRAM), ("def up(x):\n    return (", "no syntax")):
        result = score(task, AUX, main)
        assert set(result.detail) == ran and result.detail["outcome"] == outcome
        assert result.detail["total"] == 2 and not result.solved


def test_the_first_agent_of_each_role_counts_and_others_do_not(task):
    answers = {"main_0": MAIN, "main_1": "", "auxiliary_0": AUX, "auxiliary_1": "", "guest_0": MAIN}
    assert BENCHMARK.score(task, answers).value == 4.0
    assert BENCHMARK.score(task, {"guest_0": f"{AUX}\n{MAIN}"}).value == 0.0


HOSTILE = {
    "nothing": "",
    "words": "I would rather not.",
    "ten of a name": "\n".join(f"def NAME(x):\n    return {n}" for n in range(10)),
    "a million characters": "def NAME(x):\n    return 1\n" + "#" * 10**6,
    "a million characters in front": "a" * 10**6 + "\ndef NAME(x):\n    return 1",
    "endless recursion": "def NAME(x):\n    return NAME(x) + 1",
    "unparsable": "def NAME(x:\n    return",
    "nul": "def NAME(x):\n    return '\x00'",
    "surrogate": "def NAME(x):\n    return '\ud800'",
    "surrogate escaped": "def NAME(x):\n    return '\\ud800'",
    "nested": "def outer():\n    def NAME(x):\n        return x",
    "async": "async def NAME(x):\n    return x",
    "decorated": "@print\n@no_such\ndef NAME(x):\n    return x",
    "class": "class NAME:\n    def __init__(self, x):\n        pass",
    "generator": "def NAME(x):\n    while True:\n        yield x",
    "exit": "import os\nos._exit(0)\ndef NAME(x):\n    return 3",
    "always equal": "class E:\n    def __eq__(self, o):\n        return True\ndef NAME(x):\n"
    "    return E()",
    "deep": f"def NAME(x):\n    return {'(' * 500}x{')' * 500}",
    "stray return": "return 1\ndef NAME(x):\n    return 1",
    "another script": "def NAME(x):\n    возврат = '零'\n    return возврат",
}


@pytest.mark.parametrize("reply", HOSTILE.values(), ids=HOSTILE)
def test_hostile_replies_get_a_score_and_solve_nothing(task, reply):
    own, theirs = reply.replace("NAME", "up"), reply.replace("NAME", "aux")
    for item in every([task] * 3, [theirs, theirs, AUX], [own, MAIN, own]):
        assert 0 <= item.value <= 4 and isinstance(item.value, float)
        assert not item.solved
        json.dumps(dict(item.detail))


def test_nothing_said_commits_so_that_every_token_has_its_price(task):
    assert BENCHMARK.committed(MAIN) is BENCHMARK.committed("#### 1") is None
    env = envs.make(
        "coop_humaneval",
        free=True,
        tasks=1,
        team={"auxiliary": 1, "main": 1},
        answer="joint",
        rounds=1,
        tokenize=list,
        reward={"price": 1.0, "normalizer": 1000, "paid": "round", "exempt_answer": True},
    )
    env.reset(seed=0, options={"task": task})
    rewards = env.step({"auxiliary_0": AUX, "main_0": MAIN})[1]
    assert rewards == pytest.approx(
        {"auxiliary_0": 4 - len(AUX) / 1000, "main_0": 4 - len(MAIN) / 1000}
    )


def test_the_best_drafts_share_the_work_and_others_are_worth_less():
    tasks = BENCHMARK.generate(3, 4)
    for task in tasks:
        auxiliary, main = task.drafts["auxiliary"], task.drafts["main"]
        values = [item.value for item in every([task] * 6, [auxiliary[0]] * 6, main)]
        # Shared, ignoring, alone; a thin wrapper and what is no Python; words.
        assert values[:3] == [4.0, 3.5, 2.5] and values[4:] == [1.5, 0.4]
        assert 1.5 <= values[3] < 4
        others = [item.value for item in every([task] * 3, auxiliary[1:], [main[0]] * 3)]
        assert others[0] < 4 and others[1:] == [1.1, 1.1]


def test_drafts_are_short_at_the_easiest_level():
    for task in BENCHMARK.generate(0, 100, level=2):
        assert max(len(text) for texts in task.drafts.values() for text in texts) < 240
        assert len(task.drafts["auxiliary"][0]) < 100 and len(task.drafts["main"][0]) < 130


def test_settings_of_the_generator_are_checked():
    with pytest.raises(
        SettingError, match="env.generator.level must be a whole number from 2 to 4"
    ):
        BENCHMARK.generate(0, 1, level=1)
    with pytest.raises(SettingError, match="limit seconds must be a finite number above 0"):
        BENCHMARK.generate(0, 1, seconds=0)
    with pytest.raises(UnknownNameError, match="Did you mean 'level'"):
        BENCHMARK.generate(0, 1, levle=2)
    assert BENCHMARK.generate(0, 1, seconds=2.5)[0].details["exam"].seconds == 2.5


def findings(task, auxiliary, main):
    agents = ("auxiliary_0", "main_0")
    return tuple(BENCHMARK.findings(task, score(task, auxiliary, main), agents).values())


def test_level_feedback_tells_each_agent_what_concerns_it(task):
    assert findings(task, AUX, MAIN) == (
        "Your function aux was found. 2 of 2 tests passed.",
        "Your function up was found. 2 of 2 tests passed.",
    )
    assert findings(task, "words", "words") == (
        "You wrote no function aux that returns something.",
        "You wrote no function up, so nothing was tested.",
    )
    spoilt = "The two functions together are not valid Python, so nothing was tested."
    assert all(text.endswith(spoilt) for text in findings(task, "def aux(x):\n    return (", MAIN))
    auxiliary, main = findings(task, AUX, "def up(x):\n    return 3")
    failed = "1 of 2 tests passed. The first failure, test 2: failed, AssertionError."
    assert auxiliary == f"Your function aux was found. {failed}"
    assert main == f"Your function up was found. {failed} Your up does not call aux."
    # What a program raises is no way to speak: neither agent hears the other here.
    for kind in ("Exception", "ValueError"):
        calling = f"def aux(x):\n    raise {kind}('HELLO MAIN 42')"
        auxiliary, main = findings(task, calling, MAIN)
        assert f"test 1: error, {kind}, HELLO MAIN 42." in auxiliary
        assert f"test 1: error, {kind}." in main
    # It does not help to take the words over, nor to put them together.
    for message in ("aux(x)", "'HEL' + 'LO'"):
        passing = f"def up(x):\n    raise ValueError({message})"
        feedback = findings(task, "def aux(x):\n    return 'HELLO'", passing)
        assert "HELLO" in feedback[0] or message != "aux(x)"
        assert "test 1: error, ValueError." in feedback[1]
    thin = "def up(x):\n    return aux(x)"
    assert findings(task, AUX, thin)[1].endswith("returns; do part of the work in it.")
    ignoring = "def up(x):\n    aux(x)\n    return math.ceil(2 * x)"
    assert findings(task, AUX, ignoring)[1].endswith("Your up ignores what aux returns; use it.")


def test_two_rounds_with_feedback_stop_once_the_score_is_good_enough(task):
    env = envs.make(
        "coop_humaneval",
        free=True,
        tasks=1,
        team={"auxiliary": 1, "main": 1},
        answer="joint",
        rounds=3,
        topology="none",
        feedback="level",
        stop_at=3.8,
        reward={"paid": "round"},
    )
    env.reset(seed=0, options={"task": task})
    observations, rewards, ended, *_ = env.step({"auxiliary_0": AUX, "main_0": "def up(x): pass"})
    assert rewards == {"auxiliary_0": 1.5, "main_0": 1.5} and not any(ended.values())
    assert "0 of 2 tests passed" in observations["main_0"]["text"]
    # The auxiliary lets its function stand.
    _, rewards, ended, _, infos = env.step({"auxiliary_0": "", "main_0": MAIN})
    # The third round, which a good score did without, is paid as well.
    assert rewards == {"auxiliary_0": 8.0, "main_0": 8.0} and all(ended.values())
    assert infos["main_0"]["detail"]["schemes"] == ("decorator",)


@needs_data
def test_all_real_rows_load_and_are_cut_into_their_asserts():
    for name, count, fewest in (("humaneval", 82, 400), ("coophumaneval", 41, 205)):
        tasks = BENCHMARK.load(DATA / name)
        assert len(tasks) == len({task.key for task in tasks}) == count
        assert sum(len(task.details["exam"].tests) for task in tasks) >= fewest
        assert all(task.source_text == task.details["exam"].prompt for task in tasks)


@needs_data
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_gold_solutions_of_humaneval_as_main_pass_all_tests(step):
    tasks = BENCHMARK.load(DATA / "humaneval")[::step]
    result = every(tasks, [""] * len(tasks), [task.answer_text for task in tasks])
    failed = [t.details["id"] for t, task in zip(tasks, result, strict=True) if not task.solved]
    assert failed == []
    # Structure of main, syntax and tests; there is no auxiliary to cooperate with.
    assert [score.value for score in result] == pytest.approx([0.6 + 0.5 + 1] * len(result))


# What CoopHumanEval/2 asks for by its docstring, in our own words: months come first.
VALID_DATE = """
def valid_date(date):
    parts = date.split("-")
    if [len(part) for part in parts] != [2, 2, 4] or not all(map(str.isdigit, parts)):
        return False
    month, day, _ = map(int, parts)
    longest = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}.get(month, 31)
    return 1 <= month <= 12 and 1 <= day <= longest
"""
# The tests of the source that contradict their own docstrings, one by one.
WRONG = {
    "CoopHumanEval/2": {
        "candidate('15-01-2023') == True": "15 is no month",
        "candidate('29-02-2024') == True": "29 is no month",
    },
    "CoopHumanEval/12": {
        "candidate(45) == False": "45 = 3 * 3 * 5",
        "candidate(12) == False": "12 = 2 * 2 * 3",
        "candidate(105) == False": "105 = 3 * 5 * 7, and over the 100 that it is about",
    },
}


@needs_data
def test_the_wrong_tests_of_coophumaneval_are_these_and_no_other():
    solutions = {
        task.details["exam"].name: task.answer_text for task in BENCHMARK.load(DATA / "humaneval")
    }
    solutions["valid_date"] = VALID_DATE
    tasks = [
        task
        for task in BENCHMARK.load(DATA / "coophumaneval")[:16]
        if task.details["exam"].name in solutions
    ]
    assert len(tasks) == 10
    for task in tasks:
        exam, listed = task.details["exam"], WRONG.get(task.details["id"], {})
        code = exam.find(solutions[exam.name])
        sheets = [
            sandbox.Program(code, (test,), exam.called, helpers=exam.preamble)
            for test in exam.tests
        ]
        wrong = {
            test.split("assert ")[1].split("\n")[0]
            for test, verdict in zip(exam.tests, map(sandbox.run, sheets), strict=True)
            if not verdict.passed
        }
        assert wrong == set(listed), task.details["id"]
