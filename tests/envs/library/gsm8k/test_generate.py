from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import pytest

from laconic.envs.benchmarks import generation
from laconic.envs.benchmarks.generation import split_of
from laconic.envs.errors import SettingError
from laconic.envs.library.gsm8k import generate as module
from laconic.envs.library.gsm8k.generate import generate


def test_no_tasks_are_no_work() -> None:
    assert generate(0, 0, "train") == ()


@pytest.mark.slow
@pytest.mark.parametrize("level", [(1, 8), 1, 8])
@pytest.mark.parametrize("split", ["train", "evaluation"])
def test_ten_thousand_tasks_differ_and_come_quickly(split: Any, level: Any) -> None:
    started = time.process_time()
    tasks = generate(0, 10_000, split, level)
    # Measured at about one second; the bound leaves room for a busy machine.
    assert time.process_time() - started < 6
    assert len({task.text for task in tasks}) == 10_000
    # Not even a problem under other distractors or in another order comes twice.
    assert len({contents(task) for task in tasks}) == 10_000
    assert len({task.key for task in tasks}) == 10_000


def facts(task: Any) -> list[str]:
    return [text for text, flag in zip(task.statements, task.relevant, strict=True) if flag]


def contents(task: Any) -> str:
    return "\n".join((*sorted(facts(task)), task.question))


@pytest.mark.parametrize("level", [(1, 8), 1])
def test_train_and_evaluation_share_no_problem_whatever_the_seeds(level: Any) -> None:
    trained = {
        contents(task) for seed in (0, 1, -5) for task in generate(seed, 1500, "train", level)
    }
    evaluated = [
        task for seed in (0, 2, 10**30) for task in generate(seed, 500, "evaluation", level)
    ]
    assert not trained & {contents(task) for task in evaluated}
    assert all(split_of(contents(task)) == "evaluation" for task in evaluated)


def test_the_same_arguments_give_the_same_tasks() -> None:
    random.seed(1)
    first = generate(3, 50, "train")
    random.seed(2)
    np.random.seed(2)
    assert generate(3, 50, "train") == first
    assert generate(4, 50, "train") != first


def test_fewer_tasks_are_the_first_of_more() -> None:
    assert generate(3, 20, "evaluation") == generate(3, 50, "evaluation")[:20]


def test_process_wide_generators_stay_untouched() -> None:
    before, array_before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    generate(3, 20, "train")
    assert random.getstate() == before
    assert np.random.get_state()[1].tolist() == array_before  # type: ignore[index]


def test_a_known_task_stays_what_it_is() -> None:
    # Written down so that a change of the tasks behind every published figure is seen.
    (task,) = generate(0, 1, "train", 1, 1)
    assert task.key == "train-0/0"
    assert task.text == (
        "Ida loses 3 ropes. Joy fills 7 boxes with rings. Ida has 7 ropes."
        " How many ropes does Ida have now?"
    )
    assert task.answer == "4"


def test_all_levels_occur_in_a_mix() -> None:
    counts = [len(task.statements) for task in generate(0, 300, "train", (1, 8), 0)]
    assert min(counts) == 2
    assert max(counts) >= 8


@pytest.mark.parametrize(
    ("distractors", "counts"), [(0, {0}), (3, {3}), ((1, 2), {1, 2}), (12, {12})]
)
@pytest.mark.parametrize("level", [1, (2, 8)])
def test_distractors_are_as_many_as_asked(distractors: Any, counts: set[int], level: Any) -> None:
    tasks = generate(0, 200, "train", level, distractors)
    assert {task.relevant.count(False) for task in tasks} == counts  # type: ignore[union-attr]
    assert all(len(set(task.statements)) == len(task.statements) for task in tasks)


def test_distractors_stand_anywhere_and_chains_keep_their_order() -> None:
    tasks = generate(0, 400, "train", (2, 8), 1)
    places = [task.relevant.index(False) / (len(task.statements) - 1) for task in tasks]  # type: ignore[union-attr]
    assert min(places) == 0 and max(places) == 1
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    for task in tasks:
        needed = facts(task)
        order = [days.index(d) for text in needed for d in days if text.startswith(f"On {d},")]
        assert order == sorted(order)


def test_a_space_that_is_used_up_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PEOPLE", ("Ann", "Ben", "Cal"))
    monkeypatch.setattr(module, "ITEMS", ("pens", "cups"))
    monkeypatch.setattr(generation, "_PATIENCE", 800)
    # 3 people, 2 items: 6 * (64 * 3 + 36 * 3 + 64) = 2184 problems, about 546 of them here.
    with pytest.raises(SettingError, match=r"count must be at most .* level 1; got 1000"):
        generate(0, 1000, "evaluation", 1)
    assert len(generate(0, 300, "evaluation", 1)) == 300


@pytest.mark.parametrize(
    "level", [0, 9, 1.5, True, "1", None, (3, 2), (0, 8), (1, 9), (1, 2, 3), ()]
)
def test_a_level_out_of_range_is_refused(level: Any) -> None:
    with pytest.raises(
        SettingError, match="env.generator.level must be a whole number from 1 to 8"
    ):
        generate(0, 1, "train", level)


@pytest.mark.parametrize("distractors", [-1, 13, 0.5, (2, 1), "many"])
def test_distractors_out_of_range_are_refused(distractors: Any) -> None:
    with pytest.raises(SettingError, match="env.generator.distractors must be a whole number"):
        generate(0, 1, "train", 1, distractors)
