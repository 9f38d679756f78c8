from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from places import DATA
from written import check_refused, scored, write

from laconic import envs
from laconic.envs.benchmarks.sources import rows
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.strategyqa.benchmark import BENCHMARK, StrategyQA
from laconic.envs.task import Task

DATA = DATA / "strategyqa"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no StrategyQA files in {DATA}")

BIG_BENCH = {
    "input": "Can a stone swim? ",
    "target_scores": {"Yes": 0, "No": 1},
    "target": "No. Stones sink. What sinks cannot swim. ",
}
ORIGINAL = {
    "qid": "1f",
    "term": "Stone",
    "description": "a piece of rock",
    "question": "Can a stone swim?",
    "answer": False,
    "facts": ["Stones sink. ", "What sinks cannot swim."],
    "decomposition": ["Do stones sink?", "Can what #1 swim?"],
    "evidence": [[["no_evidence"]]],
}
FORMS = (
    *("{}", "{}.", "#### {}", "So the answer is {}.", "\\boxed{{{}}}", "**{}**", "Answer: {}"),
    "First I thought of dogs, which no one doubts can swim. {}.",
)


def score(*messages: str, answer: str = "yes") -> tuple[float, bool, str]:
    return scored(BENCHMARK, messages, answer)


def test_it_is_the_benchmark_of_its_name() -> None:
    assert isinstance(envs.benchmark("strategyqa"), StrategyQA)
    assert BENCHMARK.roles == ("solver", "helper", "critic")


def test_a_row_of_big_bench_has_a_question_and_no_facts(tmp_path: Path) -> None:
    (task,) = BENCHMARK.load(write(tmp_path / "own.jsonl", BIG_BENCH))
    assert task == Task(
        key="own/1",
        question="Can a stone swim?",
        statements=(),
        answer="no",
        solution="Stones sink. What sinks cannot swim.",
    )


def test_a_row_of_the_original_has_its_facts_as_statements(tmp_path: Path) -> None:
    (task,) = BENCHMARK.load(write(tmp_path / "own.jsonl", ORIGINAL))
    assert task == Task(
        key="own/1",
        question="Can a stone swim?",
        statements=("Stones sink.", "What sinks cannot swim."),
        answer="no",
        relevant=(True, True),
        solution="Do stones sink? Can what #1 swim?",
    )


def test_the_explanation_of_big_bench_can_be_dealt_as_facts(tmp_path: Path) -> None:
    place = write(tmp_path / "own.jsonl", BIG_BENCH)
    (plain,), (task,) = BENCHMARK.load(place), BENCHMARK.load(place, facts=True)
    facts = ("Stones sink.", "What sinks cannot swim.")
    assert task == replace(plain, statements=facts, relevant=(True, True), solution="")
    assert BENCHMARK.load(place, facts=False) == (plain,)
    env = envs.make(
        "strategyqa", free=True, source=str(place), information="split", reader={"facts": True}
    )
    env.reset(seed=0)
    assert env.task.statements == facts
    assert envs.make("strategyqa", free=True, source=str(place)).tasks["own/1"] == plain


def test_an_examination_without_a_book_leaves_the_facts_of_the_original_out(tmp_path: Path) -> None:
    place = write(tmp_path / "own.jsonl", ORIGINAL)
    (with_facts,), (task,) = BENCHMARK.load(place, facts=True), BENCHMARK.load(place, facts=False)
    assert (with_facts,) == BENCHMARK.load(place)
    assert task == replace(with_facts, statements=(), relevant=())
    # What is no fact does not become one.
    without = write(tmp_path / "without.jsonl", {**ORIGINAL, "facts": []})
    assert BENCHMARK.load(without, facts=True)[0].statements == ()


def test_settings_of_reading_are_checked(tmp_path: Path) -> None:
    place = str(write(tmp_path / "own.jsonl", BIG_BENCH))
    with pytest.raises(SettingError, match=r"env\.reader\.facts must be true or false; got 3"):
        envs.make("strategyqa", free=True, source=place, reader={"facts": 3})
    with pytest.raises(UnknownNameError, match="'fact'. Did you mean 'facts'"):
        envs.make("strategyqa", free=True, source=place, reader={"fact": True})
    with pytest.raises(UnknownNameError, match="setting of env.reader"):
        envs.benchmark("gsm8k").load(place, facts=True)


def test_facts_that_a_copy_joined_are_cut_again(tmp_path: Path) -> None:
    joined = {**ORIGINAL, "facts": "Stones sink. What sinks cannot swim."}
    del joined["decomposition"]
    (task,) = BENCHMARK.load(write(tmp_path / "own.jsonl", joined))
    assert task.statements == ("Stones sink.", "What sinks cannot swim.")
    assert task.solution == ""


def test_a_folder_holds_the_releases_under_their_own_names(tmp_path: Path) -> None:
    (tmp_path / "strategyqa_train.json").write_text(json.dumps([ORIGINAL] * 2, indent=2))
    (tmp_path / "task.json").write_text(json.dumps({"name": "s", "examples": [BIG_BENCH]}))
    trained = BENCHMARK.load(tmp_path, "train")
    assert [task.key for task in trained] == ["strategyqa_train/1", "strategyqa_train/2"]
    assert [task.key for task in BENCHMARK.load(tmp_path)] == ["task/1"]
    assert BENCHMARK.load(tmp_path / "strategyqa_train.json") == trained


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"input": "A?"}, "expected the field 'target_scores'"),
        ({"input": "A?", "target_scores": 1}, "field 'target_scores' to be a dict; got int 1"),
        ({"input": "A?", "target_scores": {"Yes": 1, "No": 1}}, "give 1 to one of 'Yes' and 'No'"),
        ({"input": "A?", "target_scores": {"Yes": 0, "No": 0}}, "give 1 to one of"),
        ({"input": "A?", "target_scores": {"Maybe": 1}}, "give 1 to one of"),
        ({"input": " ", "target_scores": {"Yes": 1}}, "the field 'input' is empty"),
        ({**BIG_BENCH, "target": 3}, "field 'target' to be a str; got int 3"),
        (
            {"questoin": "A?", "answer": True},
            "the field 'question'; the row has 'questoin', 'answer'",
        ),
        ({"question": "A?", "answer": True}, "expected the field 'facts'"),
        ({"question": "A?", "facts": []}, "expected the field 'answer'"),
        ({**ORIGINAL, "answer": "no"}, "field 'answer' to be a bool; got str 'no'"),
        ({**ORIGINAL, "answer": 1}, "field 'answer' to be a bool; got int 1"),
        ({**ORIGINAL, "facts": {"a": 1}}, "field 'facts' to be a list; got dict"),
        ({**ORIGINAL, "facts": ["A.", 3]}, "field 'facts' to be a list of texts; got int 3 in it"),
        ({**ORIGINAL, "decomposition": 3}, "field 'decomposition' to be a list; got int 3"),
        (["A?"], "expected a JSON object"),
    ],
)
def test_a_bad_row_is_refused_with_file_and_line(tmp_path: Path, row: Any, message: str) -> None:
    check_refused(BENCHMARK, tmp_path, BIG_BENCH, row, message)


@needs_data
def test_all_real_rows_load_and_lose_no_word() -> None:
    tasks = BENCHMARK.load(DATA)
    assert len(tasks) == len({task.key for task in tasks}) == 1145
    # Counted in the file: 527 of 1,145 are answered with yes.
    assert Counter(task.answer for task in tasks) == {"yes": 527, "no": 618}
    for task, (_, row) in zip(tasks, rows(DATA), strict=True):
        assert task.text.split() == row["input"].split()
        assert f"{task.answer}. {task.solution}".lower().split() == row["target"].lower().split()


@needs_data
@pytest.mark.parametrize("form", FORMS)
def test_real_answers_are_right_and_flipped_ones_wrong_in_every_form(form: str) -> None:
    for case, task in zip(cycle((str.lower, str.capitalize, str.upper)), BENCHMARK.load(DATA)):
        other = "no" if task.answer == "yes" else "yes"
        for word, value in ((task.answer, 1.0), (other, 0.0)):
            assert BENCHMARK.score(task, {"solver_0": form.format(case(word))}).value == value


@needs_data
def test_explained_real_answers_are_right_and_corrupted_ones_wrong() -> None:
    for task, (_, row) in zip(BENCHMARK.load(DATA), rows(DATA), strict=True):
        other = "no" if task.answer == "yes" else "yes"
        right = f"{task.solution} #### {task.answer}"
        assert BENCHMARK.score(task, {"solver_0": right}).value == 1.0, row
        # The source's own words: the verdict first, its reasons behind it.
        assert BENCHMARK.score(task, {"solver_0": row["target"]}).value == 1.0, row
        for corrupted in (
            f"{task.solution} #### {other}",
            f"{right} Wait: #### {other}",
            f"The answer is {task.answer} or {other}.",
            f"The answer is not {task.answer}.",
            f"#### {task.answer}?",
            f"#### {task.answer}terday",
            "#### ",
            "",
        ):
            assert BENCHMARK.score(task, {"solver_0": corrupted}).value == 0.0, corrupted


def test_no_answer_is_worth_nothing() -> None:
    assert score() == (0.0, False, "")
    assert score("", "no idea", "yes or no") == (0.0, False, "")


def test_the_majority_counts_and_ties_go_to_the_earliest() -> None:
    assert score("#### no", "#### yes", "So yes.") == (1.0, True, "yes")
    assert score("#### yes", "#### no", "no") == (0.0, False, "no")
    assert score("#### yes", "#### no") == (1.0, True, "yes")
    assert score("hm", "", "#### yes") == (1.0, True, "yes")


def test_a_commitment_is_the_last_marked_word() -> None:
    assert BENCHMARK.committed("#### no, wait: #### yes it is") == "#### yes"
    assert BENCHMARK.committed("So the answer is no.") == "answer is no"
    assert BENCHMARK.committed("yes") is None
    assert BENCHMARK.committed("#### plausible") is None


def test_generated_tasks_are_solved_by_their_own_answer() -> None:
    for task in BENCHMARK.generate(0, 200):
        assert BENCHMARK.score(task, {"solver_0": task.answer_text}).solved
        assert BENCHMARK.committed(task.answer_text) == f"#### {task.answer}"


def test_every_role_gets_instructions() -> None:
    assert "#### yes" in BENCHMARK.instructions("solver")
    assert "solver" in BENCHMARK.instructions("helper")


def test_under_split_everybody_reads_a_question_of_big_bench(tmp_path: Path) -> None:
    file = write(tmp_path / "own.jsonl", BIG_BENCH)
    env = envs.make("strategyqa", free=True, source=str(file), information="split")
    observations, infos = env.reset(seed=0)
    for agent in env.agents:
        assert "Can a stone swim?" in observations[agent]["text"]
        assert "What you know" not in observations[agent]["text"]
        assert (infos[agent]["share"], infos[agent]["informed"]) == ((), None)


def test_the_facts_of_the_original_are_dealt_among_the_helpers(tmp_path: Path) -> None:
    file = write(tmp_path / "own.jsonl", ORIGINAL)
    env = envs.make("strategyqa", free=True, source=str(file), information="split")
    observations, infos = env.reset(seed=0)
    assert sorted(infos[agent]["share"] for agent in env.agents) == [(), (), (0,), (1,)]
    assert infos["solver_0"]["share"] == ()
    for agent in env.agents:
        held = [ORIGINAL["facts"][index].strip() for index in infos[agent]["share"]]
        assert all(fact in observations[agent]["text"] for fact in held)
        assert ("What you know" in observations[agent]["text"]) == bool(held)
