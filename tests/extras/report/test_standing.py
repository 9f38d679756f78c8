"""Reports of a sweep with finished, running, failed, unevaluated and planned runs."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from rich.console import Console

from laconic.experiments.run_folder.runs import find_runs, read_run
from laconic.extras.report.standing import counts, planned, progress_of
from laconic.extras.report.sweep import sort_out
from laconic.extras.report.write import write_report

NOON = datetime(2026, 3, 1, 12, 5).timestamp()


def build(
    folder: Path, seed: int, rows: int | None, state: str = "", evaluated=(0, 4), error: str = ""
) -> Path:
    """Write a run of four steps that has some rows so far.

    Args:
        folder: of the run.
        seed: of the run.
        rows: how many rows; None is no file.
        state: in `status.json`; empty is no file.
        evaluated: steps with an evaluation.
        error: in `error.txt`; empty is no file.
    """
    (folder / ".hydra").mkdir(parents=True)
    (folder / ".hydra" / "overrides.yaml").write_text(f"- seed={seed}\n")
    (folder / "config.yaml").write_text(f"seed: {seed}\ntrain:\n  steps: 4\n")
    if rows is not None:
        lines = [
            {"step": step}
            | ({"eval/accuracy": 0.5, "eval/tokens_said": 20.0 - step} if step in evaluated else {})
            for step in range(rows)
        ]
        (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(folder / "metrics.jsonl", (NOON, NOON))
    if state:
        status = {"state": state, "step": max((rows or 0) - 1, 0), "warnings": []}
        (folder / "status.json").write_text(json.dumps(status))
    if error:
        (folder / "error.txt").write_text(error)
    return folder


TRACEBACK = """Traceback (most recent call last):
  File "experiments/train.py", line 1, in train
ZeroDivisionError: division by zero
"""
STANDINGS = {
    "1": "running (step 2 of 4), no evaluation after training yet, last row on 2026-03-01 at 12:05",
    "2": "failed: group_size must be at least 2",
    "3": "running",
    "4": "interrupted (step 2 of 4), last evaluated at step 2",
    "5": "failed (step 1 of 4), no evaluation yet: ZeroDivisionError: division by zero",
}


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """Write a sweep of nine jobs: one is done, and six others have begun."""
    folder = tmp_path / "sweep"
    build(folder / "0", 0, 5, "finished")
    build(folder / "1", 1, 3, "running")
    build(folder / "2", 2, None, error="group_size must be at least 2\nsecond line\n")
    build(folder / "3", 3, None, "running")
    build(folder / "4", 4, 3, "interrupted", evaluated=(0, 2))
    build(folder / "5", 5, 2, "failed", evaluated=(), error=TRACEBACK)
    # Refused a second start after it was done: it is done all the same.
    build(folder / "6", 6, 5, "finished", error="the folder already holds a run\n")
    record = {
        "hydra": {
            "overrides": {"task": ["seed=range(0,9)", "env.rounds=2"]},
            "sweeper": {"params": None},
        }
    }
    OmegaConf.save(record, folder / "multirun.yaml")
    return folder


def test_every_run_that_is_not_done_is_named_with_where_it_stands(half: Path) -> None:
    runs = [read_run(path) for path in find_runs(half)]
    sorted_runs = sort_out(runs)
    assert {run.folder.name: why for run, why in sorted_runs.left_out} == STANDINGS
    pooled = [run for setting in sorted_runs.settings for run in setting.runs]
    assert [run.folder.name for run in pooled] == ["0", "6"]
    assert {run.folder.name: progress_of(run) for run in runs if not run.finished} == STANDINGS


def test_the_runs_are_counted_by_kind_with_those_to_come(half: Path) -> None:
    runs = [read_run(path) for path in find_runs(half)]
    assert counts(half, runs) == [
        "2 finished",
        "2 running",
        "1 interrupted",
        "2 failed",
        "4 without an evaluation after training",
        "2 not begun",
    ]


def test_page_and_terminal_say_which_run_is_which(half: Path, tmp_path: Path) -> None:
    console = Console(width=200, record=True, file=(tmp_path / "out").open("w"))
    page = write_report(half, console).read_text("utf-8")
    output = console.export_text()
    for name, words in STANDINGS.items():
        assert f"left out: {name}: {words}" in output
        assert f"{name}: {words}" in re.sub("<[^>]*>", "", page)
    assert "runs: 2 finished, 2 running, 1 interrupted, 2 failed" in output
    assert "2 not begun" in page


def test_a_sweep_that_has_only_begun_has_a_report(tmp_path: Path) -> None:
    build(tmp_path / "0", 0, None, "running")
    assert "running" in write_report(tmp_path).read_text("utf-8")


def test_a_run_that_failed_says_why_on_its_own_page(half: Path, tmp_path: Path) -> None:
    console = Console(width=200, record=True, file=(tmp_path / "out").open("w"))
    page = write_report(half / "5", console).read_text("utf-8")
    assert "The run failed" in page
    assert "failed: ZeroDivisionError: division by zero" in console.export_text()


@pytest.mark.parametrize(
    ("overrides", "jobs"),
    [
        (["seed=0,1,2", "env.reward.price=0,0.5", "train.steps=4"], 6),
        (["seed=range(0,5)", "seed=range(1,9,2)"], 4),
        (["env.reward.price=range(0,1,0.25)", "seed=1,2"], 8),
        (["seed=choice(1,2,3)", "train.steps=4"], 3),
        # No folder could hold so many.
        (["seed=range(10000000000)"], None),
        (["seed=range(0,1000000000000,1)"], None),
        ([f"k{n}=0,1,2,3,4,5,6,7,8,9" for n in range(10)], None),
        (["seed=" + "0," * 100_000 + "0"], None),
        (["seed=range(0,1,0)"], None),
        (["seed=interval(0,1)"], None),
        (["learner=glob(*)"], None),
        (["seed="], 1),
    ],
)
def test_the_jobs_of_a_sweep_are_counted_if_possible(
    tmp_path: Path, overrides: list[str], jobs: int | None
) -> None:
    config = {"hydra": {"overrides": {"task": overrides}, "sweeper": {"params": {"a": "1"}}}}
    OmegaConf.save(config, tmp_path / "multirun.yaml")
    assert planned(tmp_path) == jobs


def test_without_a_record_of_the_sweep_nothing_is_claimed(tmp_path: Path) -> None:
    assert planned(tmp_path) is None
    (tmp_path / "multirun.yaml").write_text("hydra: [torn")
    assert planned(tmp_path) is None
