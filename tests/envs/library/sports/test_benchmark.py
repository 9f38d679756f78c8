from __future__ import annotations

import json
from collections import Counter
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from places import DATA
from written import check_refused, scored, write

from laconic import envs
from laconic.envs.benchmarks.sources import rows
from laconic.envs.library.sports.benchmark import BENCHMARK, Sports
from laconic.envs.task import Task

ROOT = DATA
DATA = ROOT / "sports_understanding"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no Sports Understanding in {DATA}")

ROW = {"input": 'Is the following sentence plausible? "Ivo Marn sank a putt."', "target": "no"}
FORMS = (
    *("{}", "{}.", "#### {}", "So the answer is {}.", "\\boxed{{{}}}", "**{}**", "Answer: {}"),
    "Is the sentence plausible? No one knows him, yet the answer must be {}.",
)


def score(*messages: str, answer: str = "yes") -> tuple[float, bool, str]:
    return scored(BENCHMARK, messages, answer)


def test_it_is_the_benchmark_of_its_name() -> None:
    assert isinstance(envs.benchmark("sports"), Sports)
    assert BENCHMARK.roles == ("solver", "scout", "critic")


def test_a_row_has_a_question_and_no_facts(tmp_path: Path) -> None:
    (task,) = BENCHMARK.load(write(tmp_path / "own.jsonl", ROW))
    assert task == Task(key="own/1", question=ROW["input"], statements=(), answer="no")


def test_the_document_of_big_bench_hard_is_read_like_json_lines(tmp_path: Path) -> None:
    whole = {"canary": "c", "examples": [ROW, {**ROW, "target": "Yes"}]}
    (tmp_path / "sports_understanding.json").write_text(json.dumps(whole, indent=2))
    tasks = BENCHMARK.load(tmp_path)
    assert [(task.key, task.answer) for task in tasks] == [
        ("sports_understanding/1", "no"),
        ("sports_understanding/2", "yes"),
    ]
    assert BENCHMARK.load(tmp_path / "sports_understanding.json", "train") == tasks


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"input": "A?"}, "expected the field 'target'"),
        ({"inptu": "A?", "target": "yes"}, "Did you mean 'inptu'"),
        ({"input": 3, "target": "yes"}, "field 'input' to be a str; got int 3"),
        ({"input": " ", "target": "yes"}, "the field 'input' is empty"),
        ({"input": "A?", "target": "maybe"}, "to be 'yes' or 'no'; got 'maybe'"),
        ({"input": "A?", "target": True}, "field 'target' to be a str; got bool True"),
        (["A?"], "expected a JSON object"),
    ],
)
def test_a_bad_row_is_refused_with_file_and_line(tmp_path: Path, row: Any, message: str) -> None:
    check_refused(BENCHMARK, tmp_path, ROW, row, message)


@needs_data
def test_all_real_rows_load_and_lose_no_word() -> None:
    tasks = BENCHMARK.load(DATA)
    assert len(tasks) == len({task.key for task in tasks}) == 125
    # Counted in the file: 57 of 125 are answered with yes.
    assert Counter(task.answer for task in tasks) == {"yes": 57, "no": 68}
    for task, (_, row) in zip(tasks, rows(DATA), strict=True):
        assert (task.text, task.answer) == (row["input"], row["target"])


@needs_data
@pytest.mark.parametrize("form", FORMS)
def test_real_answers_are_right_and_flipped_ones_wrong_in_every_form(form: str) -> None:
    for case, task in zip(cycle((str.lower, str.capitalize, str.upper)), BENCHMARK.load(DATA)):
        other = "no" if task.answer == "yes" else "yes"
        for word, value in ((task.answer, 1.0), (other, 0.0)):
            assert BENCHMARK.score(task, {"solver_0": form.format(case(word))}).value == value


@needs_data
def test_spelt_out_real_answers_are_right_and_corrupted_ones_wrong() -> None:
    words = {"yes": ("plausible", "not implausible"), "no": ("implausible", "not plausible")}
    for task in BENCHMARK.load(DATA):
        other = "no" if task.answer == "yes" else "yes"
        for word in words[task.answer]:
            message = f"{task.question} The sentence is {word}."
            assert BENCHMARK.score(task, {"solver_0": message}).value == 1.0, message
        for corrupted in (
            *(f"{task.question} The sentence is {word}." for word in words[other]),
            f"#### {task.answer} no: #### {other}",
            f"The answer is {task.answer} or {other}.",
            f"The answer is not {task.answer}.",
            "It is plausible or implausible.",
            task.question,
            "",
        ):
            assert BENCHMARK.score(task, {"solver_0": corrupted}).value == 0.0, corrupted


def test_no_answer_is_worth_nothing() -> None:
    assert score() == (0.0, False, "")
    assert score("", "no idea", "yes or no", ROW["input"]) == (0.0, False, "")


def test_the_majority_counts_and_ties_go_to_the_earliest() -> None:
    assert score("#### no", "#### yes", "plausible") == (1.0, True, "yes")
    assert score("#### yes", "#### no", "implausible") == (0.0, False, "no")
    assert score("#### yes", "#### no") == (1.0, True, "yes")
    assert score("hm", "", "#### yes") == (1.0, True, "yes")


def test_a_commitment_is_the_last_marked_word() -> None:
    assert BENCHMARK.committed("#### no, wait: #### yes it is") == "#### yes"
    assert BENCHMARK.committed("The answer is plausible.") == "answer is plausible"
    assert BENCHMARK.committed("It is plausible.") is None


def test_generated_tasks_are_solved_by_their_own_answer() -> None:
    for task in BENCHMARK.generate(0, 200):
        assert BENCHMARK.score(task, {"solver_0": task.answer_text}).solved
        assert BENCHMARK.score(task, {"solver_0": task.question}).value == 0.0


def test_every_role_gets_instructions() -> None:
    assert "#### yes" in BENCHMARK.instructions("solver")
    assert "solver" in BENCHMARK.instructions("scout")


def test_under_split_everybody_reads_a_real_question(tmp_path: Path) -> None:
    file = write(tmp_path / "own.jsonl", ROW)
    team = {"solver": 1, "scout": 3}
    env = envs.make("sports", free=True, source=str(file), information="split", team=team)
    observations, infos = env.reset(seed=0)
    for agent in env.agents:
        assert ROW["input"] in observations[agent]["text"]
        assert (infos[agent]["share"], infos[agent]["informed"]) == ((), None)
