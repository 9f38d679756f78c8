"""Evaluations that play every task several times and estimate pass@k."""

from __future__ import annotations

import pytest

from laconic.experiments.evaluate import estimate_passes, show
from laconic.learners.episode import Episode
from laconic.learners.metrics import Interval

SAMPLED = ["agent=scripted", "agent.script=random", "evaluation.greedy=false", "threads=1"]


def episodes(*solved: str) -> dict[int, Episode]:
    """Make episodes by place; one text a task, + for a solved one, a space for one not played."""
    marks = "".join(solved)
    return {
        place: Episode(task="", turns=(), rewards={}, solved=mark == "+")
        for place, mark in enumerate(marks)
        if mark != " "
    }


def test_passes_are_estimated_task_by_task():
    # pass@2 of 2 of 4 is 1 - C(2, 2) / C(4, 2) = 5 / 6, of 0 of 4 it is 0, of 3 of 4 it is 1.
    passes = estimate_passes(episodes("+-+-", "----", "++-+"), 4, [1, 2])
    assert list(passes) == ["pass@1", "pass@2"]
    assert passes["pass@1"].mean == pytest.approx(5 / 12)
    assert passes["pass@2"].mean == pytest.approx((5 / 6 + 0 + 1) / 3)
    assert {interval.count for interval in passes.values()} == {3}


def test_tasks_that_were_not_played_often_enough_are_left_out():
    passes = estimate_passes(episodes("++", "+ ", "--"), 2, [1])
    assert (passes["pass@1"].mean, passes["pass@1"].count) == (0.5, 2)
    assert estimate_passes(episodes("+ "), 2, [1]) == {}
    assert estimate_passes(episodes("+"), 1, [1]) == {}


@pytest.mark.parametrize(("spent", "rows"), [(38.0, 2), (73.5, 3)])
def test_figures_have_the_words_and_forms_of_a_report(capsys, spent, rows):
    tokens = {name: Interval(mean, mean, mean, 1) for name, mean in (
        ("tokens_spent", spent), ("tokens_said", 38.0)
    )}  # fmt: skip
    show({**tokens, "accuracy": Interval(1.0, 0.9286, 1.0, 1)}, 1)
    title, *lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert title == "1 episode, 95 % intervals"
    figures = [line for line in lines if line[-1:].isdigit() or line.endswith("]")]
    said = ["accuracy 100.0 % [92.9, 100.0]", "tokens said 38.0"]
    assert figures == [*said, "tokens said and thought 73.5"][:rows]


def test_every_task_is_played_so_often_and_pass_at_k_is_written(run, tmp_path, rows):
    folder = tmp_path / "run"
    outcome = run(
        "evaluate",
        *SAMPLED,
        "env=sports",
        "evaluation.tasks=6",
        "evaluation.batch=5",
        "evaluation.samples=4",
        "evaluation.pass_at=[1,3]",
        f"hydra.run.dir={folder}",
    )
    assert outcome.code == 0, outcome.err
    (row,) = rows(folder / "evaluations.jsonl")
    assert row["episodes"] == 24
    assert row["intervals"]["pass@3"]["count"] == 6
    (metrics,) = rows(folder / "metrics.jsonl")
    assert metrics["eval/pass@1"] == pytest.approx(metrics["eval/accuracy"])
    assert metrics["eval/pass@3"] >= metrics["eval/pass@1"]
    assert "pass@3" in outcome.out and "other intervals treat 4 plays of one as" in outcome.out
    played = [row["task"] for row in rows(folder / "episodes.jsonl")]
    assert len(played) == 24 and {played.count(task) for task in played} == {4}


def test_a_single_play_of_each_task_estimates_nothing(run, tmp_path, rows):
    command = ["evaluate", "agent=scripted", "evaluation.tasks=2", "threads=1"]
    assert run(*command, f"hydra.run.dir={tmp_path}/run").code == 0
    (metrics,) = rows(tmp_path / "run" / "metrics.jsonl")
    assert not any("pass@" in name for name in metrics)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["evaluation.samples=4"], "set evaluation.greedy=false"),
        (["evaluation.samples=0"], "evaluation.samples must be a whole number of at least 1"),
        (["evaluation.pass_at=[2]"], "from 1 to evaluation.samples (1); got [2]"),
        (["evaluation.pass_at=[0]"], "evaluation.pass_at must be a list of whole numbers"),
        (["evaluation.pass_at=1"], "evaluation.pass_at must be a list of whole numbers"),
        (["evaluation.pass_at=[true]"], "evaluation.pass_at must be a list of whole numbers"),
    ],
)
def test_settings_out_of_range_are_refused(run, tmp_path, settings, words):
    command = ["evaluate", "agent=scripted", *settings, f"hydra.run.dir={tmp_path}/run"]
    outcome = run(*command)
    assert outcome.code == 1 and words in outcome.message
