from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from places import DATA
from written import scored, write

from laconic import envs
from laconic.envs.benchmarks.sources import rows
from laconic.envs.errors import SettingError, SourceError
from laconic.envs.library.gsm8k.benchmark import BENCHMARK, GSM8K
from laconic.envs.task import Task

DATA = DATA / "gsm8k"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no GSM8K files in {DATA}")


def score(*messages: str, answer: str = "12") -> tuple[float, bool, str]:
    return scored(BENCHMARK, messages, answer)


def test_it_is_the_benchmark_of_its_name() -> None:
    assert isinstance(envs.benchmark("gsm8k"), GSM8K)
    assert (BENCHMARK.name, BENCHMARK.roles) == ("gsm8k", ("solver", "helper"))


def test_a_row_is_cut_into_statements_and_question(tmp_path: Path) -> None:
    text = "Mr. Lee buys 3 pens for $1.50.  He sells 1. How many\nare left?"
    file = write(tmp_path / "own.jsonl", {"question": text, "answer": "3-1=<<3-1=2>>2\n#### 1,002"})
    (task,) = BENCHMARK.load(file)
    assert task == Task(
        key="own/1",
        question="How many\nare left?",
        statements=("Mr. Lee buys 3 pens for $1.50.", "He sells 1."),
        answer="1002",
        solution="3-1=2",
    )


def test_a_folder_is_read_by_part(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", *[{"question": "A. B?", "answer": "#### 1"}] * 2)
    write(tmp_path / "test.jsonl", {"question": "C?", "answer": "#### -3"})
    assert [task.key for task in BENCHMARK.load(tmp_path, "train")] == ["train/1", "train/2"]
    assert [(task.key, task.answer) for task in BENCHMARK.load(tmp_path)] == [("test/1", "-3")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "How?"}, "expected the field 'answer'"),
        ({"questoin": "How?", "answer": "#### 1"}, "Did you mean 'questoin'"),
        ({"question": 3, "answer": "#### 1"}, "field 'question' to be a str; got int 3"),
        ({"question": " ", "answer": "#### 1"}, "the field 'question' is empty"),
        ({"question": "How?", "answer": "1"}, "to end in one `#### number`; got '1'"),
        ({"question": "How?", "answer": "#### many"}, "to end in one `#### number`"),
        ({"question": "How?", "answer": "#### 1 #### 2"}, "to end in one `#### number`"),
        (["How?"], "expected a JSON object"),
    ],
)
def test_a_bad_row_is_refused_with_file_and_line(tmp_path: Path, row: Any, message: str) -> None:
    file = write(tmp_path / "test.jsonl", {"question": "How?", "answer": "#### 1"}, row)
    with pytest.raises(SourceError) as caught:
        BENCHMARK.load(tmp_path)
    assert str(caught.value).startswith(f"{file}:2: ")
    assert message in str(caught.value)


@needs_data
@pytest.mark.parametrize(("split", "count"), [("train", 7473), ("evaluation", 660)])
def test_all_real_rows_load_and_lose_no_word(split: Any, count: int) -> None:
    tasks = BENCHMARK.load(DATA, split)
    assert len(tasks) == len({task.key for task in tasks}) == count
    for task, (_, row) in zip(tasks, rows(DATA, split), strict=True):
        assert task.text.split() == row["question"].split()
        assert task.question
        assert all(task.statements)
    # Nearly every real problem has facts before its question and a question mark in it.
    assert sum(bool(task.statements) for task in tasks) > 0.97 * count
    assert sum("?" in task.question for task in tasks) > 0.95 * count


@needs_data
@pytest.mark.parametrize("split", ["train", "evaluation"])
def test_real_answers_are_right_and_corrupted_ones_wrong(split: Any) -> None:
    for task, (_, row) in zip(BENCHMARK.load(DATA, split), rows(DATA, split), strict=True):
        working, gold = row["answer"].rsplit("#### ", 1)
        assert BENCHMARK.score(task, {"solver_0": row["answer"]}).value == 1.0, row
        off_by_one = f"{working}#### {int(gold.replace(',', '')) + 1}"
        longer = f"{working}#### {gold}1"
        decimal = f"{working}#### {gold}.5"
        for corrupted in (off_by_one, longer, decimal):
            assert BENCHMARK.score(task, {"solver_0": corrupted}).value == 0.0, corrupted


def test_no_answer_is_worth_nothing() -> None:
    assert score() == (0.0, False, "")
    assert score("", "no idea") == (0.0, False, "")


@pytest.mark.parametrize(
    "message",
    ["#### 12", "#### 12.00", "\\boxed{12}", "$12.0", "It is 12.", "#### $12", "0012", "12%"],
)
def test_the_right_number_counts_in_every_accepted_form(message: str) -> None:
    assert score(message) == (1.0, True, "12")


@pytest.mark.parametrize("message", ["#### 13", "-12", "12.5", "120", "#### 12 #### 13", "1/12"])
def test_another_number_is_worth_nothing(message: str) -> None:
    value, solved, _ = score(message)
    assert (value, solved) == (0.0, False)


def test_numbers_are_compared_exactly() -> None:
    assert score("#### 9007199254740993", answer="9007199254740992")[0] == 0.0
    assert score("#### 0.30", answer="0.3")[0] == 1.0


def test_the_majority_counts() -> None:
    assert score("#### 13", "#### 12", "it is 12.0") == (1.0, True, "12")
    assert score("#### 12", "#### 13", "#### 13") == (0.0, False, "13")


def test_agents_without_a_number_have_no_vote() -> None:
    assert score("hm", "", "#### 12") == (1.0, True, "12")


def test_of_equally_common_numbers_the_earliest_counts() -> None:
    assert score("#### 12", "#### 13") == (1.0, True, "12")
    assert score("#### 13", "#### 12", "#### 12", "#### 13") == (0.0, False, "13")


def test_hostile_answers_are_graded_quickly_and_never_raise() -> None:
    started = time.perf_counter()
    for text in ("9" * 10**6, "####" * 250_000, "\\boxed{" * 10**5, "\ud800\x00" * 10**5, "١٢ NaN"):
        assert score(text) == (0.0, False, "")
    assert time.perf_counter() - started < 1.0


def test_a_commitment_is_the_last_marked_number() -> None:
    assert BENCHMARK.committed("#### 3, no: #### 12 pens") == "#### 12"
    assert BENCHMARK.committed("so \\boxed{12}.") == "\\boxed{12}"
    assert BENCHMARK.committed("it is 12") is None
    assert BENCHMARK.committed("####") is None


def test_generated_tasks_are_solved_by_their_own_answer() -> None:
    for task in BENCHMARK.generate(0, 200):
        assert int(task.answer) >= 0
        assert BENCHMARK.score(task, {"solver_0": f"#### {task.answer}"}).solved


def test_every_role_gets_instructions() -> None:
    assert "#### number" in BENCHMARK.instructions("solver")
    assert "solver" in BENCHMARK.instructions("helper")


def test_the_environment_deals_a_generated_task() -> None:
    env = envs.make("gsm8k", free=True, information="split", tasks=5, generator={"level": 3})
    observations, _ = env.reset(seed=0)
    assert set(observations) == set(env.agents)


def test_the_form_of_an_answer_can_pay_in_place_of_the_score() -> None:
    env = envs.make(
        "gsm8k", free=True, tasks=1, team={"solver": 1}, rounds=1, reward={"measure": "stated"}
    )
    right = next(iter(env.tasks.values())).answer
    outcomes = []
    for text in (f"#### {right}", f"#### {right}9", f"It is {right}.", ""):
        env.reset(seed=0)
        _, rewards, _, _, infos = env.step({"solver_0": text})
        outcomes.append((rewards["solver_0"], infos["solver_0"]["solved"]))
    # Only the two answers behind the mark pay, right or wrong; what is solved stays.
    assert outcomes == [(1.0, True), (1.0, False), (0.0, True), (0.0, False)]


def test_one_measure_pays_at_most() -> None:
    with pytest.raises(SettingError, match="one of env.reward.measure and env.reward.multiply_by"):
        envs.make(
            "gsm8k", free=True, tasks=1, reward={"measure": "stated", "multiply_by": "strict"}
        )
