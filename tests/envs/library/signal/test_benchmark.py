from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from written import check_refused, scored, write

from laconic import envs
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.signal.benchmark import BENCHMARK, COLORS, THINGS, Signal
from laconic.envs.task import Task

ROW = {
    "question": "What colour is the ball?",
    "statements": ["The ball is red.", "The cup is blue."],
    "answer": "Red",
}


def score(*messages: str, answer: str = "red") -> tuple[float, bool, str]:
    return scored(BENCHMARK, messages, answer)


def test_it_is_the_benchmark_of_its_name() -> None:
    assert isinstance(envs.benchmark("signal"), Signal)
    assert BENCHMARK.roles == ("solver", "helper")


def test_a_task_asks_for_one_thing_of_its_table_and_that_one_matters() -> None:
    for task in BENCHMARK.generate(0, 200, things=16, colors=8, distractors=(0, 5)):
        question = task.question.removeprefix("What colour is the ").removesuffix("?")
        assert question in THINGS and task.answer in COLORS
        expected = f"The {question} is {task.answer}."
        assert [text == expected for text in task.statements] == list(task.relevant or ())
        assert len(set(task.statements)) == len(task.statements) <= 6


def test_other_wordings_have_the_same_facts_question_and_answer() -> None:
    task = Task(
        "t",
        "What colour is the cup?",
        ("The ball is red.", "The cup is blue."),
        "blue",
        (False, True),
    )
    first, second = BENCHMARK.paraphrases(task)
    assert first.statements == ("The colour of the cup is blue.", "The colour of the ball is red.")
    assert (first.question, first.relevant) == ("Which colour does the cup have?", (True, False))
    assert second.statements == ("There is a red ball.", "There is a blue cup.")
    assert (second.question, second.relevant) == ("Name the colour of the cup.", (False, True))
    assert all((each.key, each.answer) == ("t", "blue") for each in (first, second))


def test_statements_in_other_words_have_the_wordings_that_their_details_bring() -> None:
    task = Task("t", "Is it red?", ("The ball is red.",), "red")
    assert BENCHMARK.paraphrases(task) == ()
    details = {"paraphrases": [task]}
    assert BENCHMARK.paraphrases(Task("t", "Red?", (), "red", details=details)) == (task,)


def test_settings_say_how_many_things_and_colors_there_are() -> None:
    tasks = BENCHMARK.generate(0, 12, things=3, colors=2, distractors=1)
    words = {word.strip(".") for task in tasks for text in task.statements for word in text.split()}
    assert words == {"The", "is", *THINGS[:3], *COLORS[:2]}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"things": 1}, "generator.things must be a whole number from 2 to 16; got 1"),
        ({"things": (2, 3)}, "generator.things must be a whole number"),
        ({"colors": 9}, "generator.colors must be a whole number from 2 to 8; got 9"),
        ({"colors": True}, "generator.colors must be a whole number"),
        ({"things": 4, "distractors": 4}, "generator.distractors must be a whole number from 0"),
        ({"things": 2, "colors": 2, "distractors": 0}, "at most the number of different train"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(settings: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        BENCHMARK.generate(0, 60, **settings)


def test_an_unknown_setting_of_the_generator_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'colors'"):
        BENCHMARK.generate(0, 1, colours=3)


def test_a_marked_colour_goes_before_a_named_one_and_the_last_counts() -> None:
    assert score("#### red") == score("#### RED, not blue") == (1.0, True, "red")
    assert score("It is blue. No, it is red!") == (1.0, True, "red")
    assert score("#### blue #### red it is, says the blue one") == (1.0, True, "red")
    assert score("#### blue, or red") == (0.0, False, "blue")
    assert score("reddish", "rose-reds", "#### redder", "") == score() == (0.0, False, "")


def test_the_majority_counts_and_ties_go_to_the_earliest() -> None:
    assert score("#### blue", "#### red", "red") == (1.0, True, "red")
    assert score("#### blue", "#### red") == (0.0, False, "blue")
    assert score("no idea", "#### red") == (1.0, True, "red")


def test_a_commitment_is_the_last_marked_colour_letter_for_letter() -> None:
    assert BENCHMARK.committed("#### red? #### Blue.") == "#### Blue"
    assert BENCHMARK.committed("The ball is red.") is None


def test_rows_of_ones_own_are_read(tmp_path: Path) -> None:
    file = write(tmp_path / "own.jsonl", ROW, {**ROW, "relevant": [True, False]})
    task, other = BENCHMARK.load(file)
    assert task == Task("own/1", ROW["question"], tuple(ROW["statements"]), "red")
    assert (other.key, other.relevant) == ("own/2", (True, False))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**ROW, "answer": "mauve"}, "to be one of red, blue"),
        ({**ROW, "statements": "The ball is red."}, "field 'statements' to be a list"),
        ({**ROW, "statements": ["The ball is red.", 3]}, "field 'statements' to be texts"),
        ({**ROW, "relevant": [True]}, "field 'relevant' to be 2 times true or false"),
        ({**ROW, "relevant": [1, 0]}, "field 'relevant' to be 2 times true or false"),
        ({"question": "?"}, "expected the field 'answer'"),
    ],
)
def test_a_bad_row_is_refused_with_file_and_line(tmp_path: Path, row: Any, message: str) -> None:
    check_refused(BENCHMARK, tmp_path, ROW, row, message)


def test_dealt_out_one_helper_holds_what_matters() -> None:
    env = envs.make("signal", free=True, information="split", tasks=50)
    for seed in range(20):
        _, infos = env.reset(seed=seed)
        informed = [infos[agent]["informed"] for agent in env.possible_agents]
        assert informed[0] is None and sorted(informed[1:]) == [False, False, True]


def test_both_parts_have_as_many_tasks_as_are_taken_by_default() -> None:
    for split in ("train", "evaluation"):
        assert len(envs.make("signal", free=True, split=split).tasks) == 4096


def test_tables_of_the_two_parts_are_disjoint_and_their_forty_problems_are_the_same():
    tables, problems = {}, {}
    for split in ("train", "evaluation"):
        tasks = BENCHMARK.generate(seed=0, count=500, split=split)
        tables[split] = {(*sorted(task.statements), task.question) for task in tasks}
        problems[split] = {(task.question, task.answer) for task in tasks}
    assert len(tables["train"]) == len(tables["evaluation"]) == 500
    assert not tables["train"] & tables["evaluation"]
    # Ten things in four colors.
    assert problems["train"] == problems["evaluation"] and len(problems["train"]) == 10 * 4
