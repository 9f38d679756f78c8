from __future__ import annotations

import csv
import json

import pytest

from laconic.extras.analysis import list_runs
from laconic.extras.analysis.demand import write_compared
from laconic.extras.report.write import write_report

FEW = ["evaluation.tasks=3", "demand.span=2", "demand.points=3", "threads=1"]


@pytest.fixture(scope="module")
def measured(run, policy_folder, tmp_path_factory):
    """Return the folder and the outcome of a small measurement."""
    folder = tmp_path_factory.mktemp("demand") / "run"
    agent = [f"agent.model={policy_folder}", "agent.sampling.max_reply_tokens=6"]
    outcome = run("demand", *FEW, *agent, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    return folder, outcome


def test_it_writes_tables_figures_and_a_picture(measured, rows):
    folder, outcome = measured
    (row,) = rows(folder / "metrics.jsonl")
    assert row["demand/tokens"] > 0 and {"demand/bought", "demand/worth"} <= row.keys()
    (line,) = rows(folder / "demand.jsonl")
    assert (line["step"], line["episodes"], len(line["curve"]["price"])) == (0, 3, 3)
    assert (folder / "demand.png").read_bytes().startswith(b"\x89PNG")
    assert {"demand.csv", "messages.csv", "tokens.csv"} <= {path.name for path in folder.iterdir()}
    assert json.loads((folder / "status.json").read_text())["state"] == "finished"
    assert "tokens bought at this price" in outcome.out


def test_its_folder_has_a_report_with_a_section_of_its_own(measured):
    page = write_report(measured[0]).read_text("utf-8")
    assert "What its words are worth" in page and "tokens bought at this price" in page


def test_runs_are_compared_with_predictions(run, trained, tmp_path):
    outcome = run(
        "demand", *FEW, "agent=scripted", f"runs={trained[0]}", f"hydra.run.dir={tmp_path}/d"
    )
    assert outcome.code == 0, outcome.err
    with open(tmp_path / "d" / "runs.csv", encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    assert (line["run"], line["price"], line["seed"]) == ("run", "0.12", "0")
    assert "trained runs" in outcome.out
    assert "1 runs below the choke price" in outcome.out


@pytest.mark.slow
def test_a_training_can_follow_its_demand(run, small, rows, tmp_path):
    more = ["evaluation.demand=2", "train.steps=2", f"hydra.run.dir={tmp_path}/t"]
    outcome = run("train", *small, *more)
    assert outcome.code == 0, outcome.err
    assert [row["step"] for row in rows(tmp_path / "t" / "demand.jsonl")] == [0, 2]
    first, _, last = rows(tmp_path / "t" / "metrics.jsonl")
    assert "demand/tokens" in first and "demand/tokens" in last
    assert "What its words are worth" in write_report(tmp_path / "t").read_text("utf-8")


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("demand.points=1", "demand.points must be a whole number of at least 2"),
        ("demand.worth=mine", "own"),
        ("runs=nowhere", "runs must name folders of trained runs; 'nowhere' holds none"),
        ("evaluation.split=tests", "evaluation.split"),
    ],
)
def test_errors_are_reported(run, tmp_path, wrong, expected):
    outcome = run("demand", *FEW, "agent=scripted", wrong, f"hydra.run.dir={tmp_path}/d")
    assert outcome.code == 1 and expected in outcome.message


def test_no_runs_are_no_runs(tmp_path):
    assert list_runs(None) == []
    write_compared([], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_training_refuses_to_follow_no_tasks(run, small, tmp_path):
    outcome = run("train", *small, "evaluation.demand=0", f"hydra.run.dir={tmp_path}/t")
    assert outcome.code == 1
    assert "evaluation.demand must be null or a whole number of at least 1" in outcome.message
