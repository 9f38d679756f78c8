from __future__ import annotations

import json
import time
from typing import Any

import pytest
from places import DATA

from laconic import envs
from laconic.envs import sandbox
from laconic.envs.contract import check_env
from laconic.envs.errors import SourceError
from laconic.envs.families.coding.base import NO_PROGRAM
from laconic.envs.families.coding.extract import fenced
from laconic.envs.library.humaneval.benchmark import BENCHMARK, HumanEval, read

needs_data = pytest.mark.skipif(
    not (DATA / "humaneval").is_dir(), reason=f"no HumanEval files in {DATA}"
)

PROMPT = '''import math


def half(x):
    """Half of x."""
    return x / 2


def size(xs: list) -> int:
    """ Round half of the length of xs up.
    An empty list gives 0.
    >>> size([1, 2, 3])
    2
    """
'''
BODY = "    return math.ceil(half(len(xs)))\n"
ROW = {
    "task_id": "Own/7",
    "prompt": PROMPT,
    "entry_point": "size",
    "canonical_solution": BODY,
    "test": "def check(candidate):\n    for n in range(4):\n"
    "        assert candidate([0] * n) == math.ceil(half(n))\n",
}
WHOLE = f"def size(xs):\n{BODY}"


@pytest.fixture
def task():
    """Return a task whose solution and check use the prompt's import and function."""
    return read(ROW, "here", "t", BODY)


@pytest.fixture
def no_sandbox(monkeypatch):
    """Fails the test if a program is run."""
    monkeypatch.setattr(sandbox, "run", lambda *_: pytest.fail("a program was run"))


def score(task, *messages: str):
    return BENCHMARK.score(task, {f"coder_{i}": text for i, text in enumerate(messages)})


def test_it_is_the_benchmark_of_its_name():
    assert isinstance(envs.benchmark("humaneval"), HumanEval)
    assert (BENCHMARK.name, BENCHMARK.roles) == ("humaneval", ("coder", "tester"))
    assert BENCHMARK.slow and BENCHMARK.separator == "\n"
    assert BENCHMARK.conditions() == sandbox.conditions()


def test_a_row_is_cut_into_head_and_conditions(tmp_path):
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps(ROW))
    (task,) = BENCHMARK.load(file)
    assert task.key == "own/1"
    assert task.statements == (
        "Round half of the length of xs up.",
        "An empty list gives 0.",
        "`size([1, 2, 3])` gives `2`",
    )
    assert task.question.startswith("Complete the Python function size:\nimport math\n")
    assert task.question.endswith("def size(xs: list) -> int:")
    assert task.source_text == PROMPT and task.answer == PROMPT + BODY
    assert task.answer_text == fenced(PROMPT + BODY)
    exam = task.details["exam"]
    assert exam.preamble == PROMPT[: PROMPT.index("\n\n\ndef size")]
    assert (exam.name, task.details["id"]) == ("size", "Own/7")


def test_a_row_without_reference_solution_can_be_read_too():
    row = {name: value for name, value in ROW.items() if name != "canonical_solution"}
    assert read(row, "here", "t").answer == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": None}, "expected field 'prompt' to be a str; got NoneType"),
        ({"prompt": "def size(xs:"}, "expected field 'prompt' to be Python"),
        ({"entry_point": "sise"}, "docstring of the field 'entry_point', 'sise'"),
        ({"test": "assert True"}, "field 'test' to define check(candidate)"),
        ({"test": "def check(candidate"}, "field 'test' to define check(candidate)"),
        ({"canonical_solution": "return ("}, "'canonical_solution' to complete the prompt"),
        ({"task_id": 7}, "expected field 'task_id' to be a str; got int 7"),
    ],
)
def test_a_bad_row_is_refused_with_file_line_and_field(tmp_path, change: Any, message):
    file = tmp_path / "test.jsonl"
    file.write_text(f"{json.dumps(ROW)}\n{json.dumps({**ROW, **change})}\n")
    with pytest.raises(SourceError) as caught:
        BENCHMARK.load(tmp_path)
    assert str(caught.value).startswith(f"{file}:2: ")
    assert message in str(caught.value)


def test_a_row_that_lacks_a_field_is_refused(tmp_path):
    (tmp_path / "test.jsonl").write_text(json.dumps({"task_id": "Own/7"}))
    with pytest.raises(SourceError, match="test.jsonl:1: expected the field 'canonical_solution'"):
        BENCHMARK.load(tmp_path)


def test_there_are_no_original_rows_for_training(tmp_path):
    (tmp_path / "test.jsonl").write_text(json.dumps(ROW))
    with pytest.raises(SourceError, match="expected train.jsonl"):
        BENCHMARK.load(tmp_path, "train")


@needs_data
def test_all_real_rows_load():
    tasks = BENCHMARK.load(DATA / "humaneval")
    assert len(tasks) == len({task.key for task in tasks}) == 82
    for task in tasks:
        assert task.statements and task.details["exam"].name in task.question
        assert '"""' not in task.question.partition("def " + task.details["exam"].name)[2]
        assert all("\n" not in statement for statement in task.statements)


@pytest.mark.parametrize(
    "reply",
    [
        PROMPT + BODY,
        fenced(PROMPT + BODY),
        f"Here you are:\n{fenced(WHOLE)}\nDone!",
        WHOLE,
        BODY,
        BODY.strip(),
        f"```\n{BODY}```",
        fenced(WHOLE).replace("\n", "\r\n"),
        "\tif xs:\n\t\treturn math.ceil(half(len(xs)))\n\treturn 0",
    ],
)
def test_the_right_program_counts_in_every_accepted_form(task, reply):
    result = score(task, reply)
    assert (result.value, result.solved) == (1.0, True)
    assert result.answer and result.detail["passed"] == result.detail["total"] == 1
    assert set(result.detail) == {"outcome", "form", "level", "passed", "total", "message"}


@pytest.mark.parametrize(
    "reply",
    [
        "    return len(xs) // 2",
        "    raise ValueError",
        "def size(xs):\n    pass",
        "def half(x):\n    return x\n\ndef size(xs):\n    return math.ceil(half(len(xs)))",
        "import no_such_module\n" + WHOLE,
        "    return half",
    ],
)
def test_a_wrong_program_is_worth_nothing(task, reply):
    result = score(task, reply)
    assert (result.value, result.solved, result.detail["passed"]) == (0.0, False, 0)


def test_no_program_is_worth_nothing_and_starts_no_process(task, no_sandbox):
    for messages in ((), ("",), ("#### 12", "x" * 10**6), ("def other(): return 1",), ("pass",)):
        result = score(task, *messages)
        assert (result.value, result.solved, result.answer) == (0.0, False, "")
        assert result.detail["outcome"] == NO_PROGRAM and result.detail["total"] == 1


def test_the_commonest_program_counts_and_of_equal_ones_the_first(task):
    wrong = "    return -1\n"
    assert score(task, wrong, BODY, BODY).solved
    assert not score(task, BODY, wrong, wrong).solved
    assert score(task, "no idea", BODY, wrong).solved
    assert not score(task, wrong, BODY).solved


def test_hostile_answers_are_graded_quickly(task, no_sandbox):
    started = time.process_time()
    for text in ("```\n" * 10**5, "def size(\x00", "\ud800" * 10**5, "(" * 10**6, "-" * 19_000):
        assert score(task, text).value == 0.0
    assert time.process_time() - started < 5.0


def test_generated_tasks_show_other_inputs_than_they_test():
    for task in BENCHMARK.generate(0, 50):
        exam = task.details["exam"]
        (test,) = exam.tests
        assert f">>> {exam.name}(" in task.source_text and "candidate(" in test
        examples = [
            line.partition(exam.name)[2] for line in task.source_text.split("\n") if ">>>" in line
        ]
        assert len(examples) == 2
        assert all(f"candidate{call} " not in test for call in examples)
        assert all(statement in task.source_text for statement in task.statements)


def test_generated_solutions_pass_as_a_whole_and_as_a_body():
    for task in BENCHMARK.generate(1, 6):
        body = task.answer.partition("\n")[2]
        assert score(task, task.answer_text).value == score(task, body).value == 1.0
        assert score(task, task.answer.replace("return ", "return None if True else ")).value == 0.0


@pytest.mark.parametrize("information", ["full", "split"])
def test_the_contract_holds_and_random_talk_runs_no_program(information, no_sandbox):
    settings = {"team": {"coder": 1, "tester": 2}, "answer": "coder", "information": information}
    check_env(lambda: envs.make("humaneval", free=True, tasks=10, **settings))


def test_what_one_info_says_of_the_conditions_is_not_shared_with_another() -> None:
    env = envs.make("humaneval", free=True, tasks=2)
    _, infos = env.reset(seed=0)
    first, second = (infos[agent]["conditions"] for agent in env.possible_agents[:2])
    assert first == second == BENCHMARK.conditions()
    assert first is not second
