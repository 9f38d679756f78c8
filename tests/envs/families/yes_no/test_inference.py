from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from laconic.envs.benchmarks import generation
from laconic.envs.benchmarks.generation import Problem
from laconic.envs.errors import SettingError
from laconic.envs.families.yes_no.inference import generator


def decoy(random: Random) -> tuple[object, str]:
    subject = random.randrange(20)
    return subject, f"Idle {subject}."


def wide(random: Random, holds: bool) -> Problem:
    """Hardly ever the same twice."""
    fact = f"Fact {random.randrange(10**6)}."
    return Problem((fact, "More."), "Is it?", "yes" if holds else "no", "so", decoy)


def narrow(random: Random, holds: bool) -> Problem:
    """Eight problems in all."""
    return Problem(
        (f"Rare {random.randrange(8)}.",), "Is it rare?", "yes" if holds else "no", "so", decoy
    )


def test_yes_and_no_come_in_pairs_in_either_order() -> None:
    tasks = generator({1: [wide]})(0, 200, "train", 1, 0)
    pairs = [(task.answer, two.answer) for task, two in zip(tasks[::2], tasks[1::2], strict=True)]
    assert set(pairs) == {("yes", "no"), ("no", "yes")}
    assert Counter(task.answer for task in generator({1: [wide]})(1, 7, "train", 1, 0))["yes"] in (
        3,
        4,
    )


def test_facts_are_flagged_and_distractors_are_about_different_things() -> None:
    for task in generator({1: [wide]})(0, 50, "evaluation", 1, (2, 5)):
        assert task.relevant is not None
        flagged = list(zip(task.statements, task.relevant, strict=True))
        assert all(flag != text.startswith("Idle") for text, flag in flagged)
        assert sum(task.relevant) == 2
        assert 4 <= len(set(task.statements)) == len(task.statements) <= 7
        assert (task.question, task.solution) == ("Is it?", "so")


def test_a_task_keeps_its_kind_and_its_answer_while_problems_are_rare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Each task is one kind, wide or narrow, with equal chance. If a miss let it choose again, the
    # narrow kind would give way to the wide one as soon as its problems are used up.
    monkeypatch.setattr(generation, "_PATIENCE", 200)
    with pytest.raises(SettingError, match=r"problems of level 1;.* found"):
        generator({1: [wide, narrow]})(0, 200, "train", 1, 0)


@pytest.mark.parametrize(("level", "distractors"), [(3, 0), (0, 0), ((2, 1), 0), (1, -1), (1, 13)])
def test_settings_out_of_range_are_refused(level: int, distractors: int) -> None:
    with pytest.raises(SettingError, match="generator"):
        generator({1: [wide], 2: [wide]})(0, 1, "train", level, distractors)
