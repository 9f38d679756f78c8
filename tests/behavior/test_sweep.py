from __future__ import annotations

import csv
from pathlib import Path

import pytest


def test_a_sweep_runs_every_combination_and_the_report_draws_them_together(
    run, small, tmp_path, rows, timeless, trained
):
    folder = tmp_path / "sweep"
    swept = [*small, "train.steps=1", "train.evaluate_every=null", "seed=0,1"]
    # The small run has report=false; the last word counts, whatever it is.
    swept += ["env.reward.price=0,0.12", "logger=none", "report=No"]
    outcome = run("train", "-m", *swept, f"hydra.sweep.dir={folder}")
    assert outcome.code == 0, outcome.err
    assert not [*folder.rglob("report.html")] and not (folder / "sweep.csv").exists()
    prices = [
        [row.get("train/price") for row in rows(folder / job / "metrics.jsonl")] for job in "0123"
    ]
    assert prices == [[None, 0.0], [None, 0.12], [None, 0.0], [None, 0.12]]
    # Seed 0 at 0.12, the default price, is the training that other tests compare with, though a job
    # came before it. It is evaluated at its end, the longer training only later.
    before, after = timeless(folder / "1" / "metrics.jsonl")
    first, second, *_ = timeless(trained[0] / "metrics.jsonl")
    assert before == first and after.items() > second.items()
    report = run("report", str(folder))
    assert report.code == 0, report.err
    assert "env.reward.price=0.12" in (folder / "report.html").read_text()
    assert (folder / "report" / "accuracy_tokens.png").exists()
    with open(folder / "sweep.csv", newline="") as file:
        data = list(csv.DictReader(file))
    figures = [rows(folder / job / "metrics.jsonl")[-1]["eval/tokens_said"] for job in "0123"]
    assert [float(row["eval/tokens_said"]) for row in data] == figures
    told = [(row["learner"], row["seed"], row["env.reward.price"]) for row in data]
    assert told == [
        ("gspo", "0", "0"),
        ("gspo", "0", "0.12"),
        ("gspo", "1", "0"),
        ("gspo", "1", "0.12"),
    ]


def test_a_sweep_over_environments_ends_with_one_report_that_has_a_panel_for_each(
    run, small, tmp_path
):
    folder = tmp_path / "sweep"
    settings = [text for text in small if text != "report=false"]
    swept = [*settings, "train.steps=1", "env=gsm8k,signal", "logger=none"]
    outcome = run("train", "-m", *swept, f"hydra.sweep.dir={folder}")
    assert outcome.code == 0, outcome.err
    assert f"report of the sweep: {folder}/report.html" in outcome.out
    for name in ("gsm8k", "signal"):
        assert (folder / "report" / f"{name}_accuracy_tokens.png").exists()


def test_one_failing_job_does_not_stop_the_others(run, small, tmp_path, rows):
    folder = tmp_path / "sweep"
    swept = [*small, "train.steps=1", "env.budget.message=48,0,24", "logger=none"]
    outcome = run("train", "-m", *swept, f"hydra.sweep.dir={folder}")
    assert outcome.code == 1
    assert "error: 1 of the jobs failed (see error.txt):\n  1: " in outcome.message
    output = (folder / "1" / "error.txt").read_text()
    assert output.startswith("env.budget.message must be null or a whole number of at least 1;")
    assert output in outcome.err
    assert [len(rows(folder / job / "metrics.jsonl")) for job in "02"] == [2, 2]
    assert not (folder / "1" / "metrics.jsonl").exists()


@pytest.mark.slow
def test_a_sweep_is_resumed_job_by_job(processes, small, tmp_path, timeless):
    folder = tmp_path / "sweep"
    swept = [*small, "train.steps=2", "seed=0,1", "logger=none"]
    command = ["train", "-m", *swept, f"hydra.sweep.dir={folder}"]
    # The fourth evaluation is the last one of the second job.
    moment = ("laconic.experiments.run_folder.folder.RunFolder.append_evaluation", 4, "before")
    assert processes.run(*command, die=moment).code == -9
    before = (folder / "0" / "metrics.jsonl").read_bytes()
    assert processes.run(*command, "resume=true").code == 0
    assert (folder / "0" / "metrics.jsonl").read_bytes() == before
    assert [len(timeless(Path(folder, job, "metrics.jsonl"))) for job in "01"] == [3, 3]
