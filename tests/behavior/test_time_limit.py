"""A run with `train.minutes` ends in time, and can be continued with more.

The clock of these runs is not the real one: every row that is written takes 50 seconds.
"""

from __future__ import annotations

import json
import shutil
from functools import partial

import pytest

from laconic.experiments import train
from laconic.experiments.callbacks import chosen
from laconic.experiments.callbacks.time_limit import TimeLimit
from laconic.experiments.command_line import clock

SECONDS_PER_ROW = 50.0


@pytest.fixture
def timed(run, small, tmp_path, monkeypatch):
    """Run a training in `tmp_path/run` on that clock."""
    folder = tmp_path / "run"

    def elapsed():
        path = folder / "metrics.jsonl"
        return SECONDS_PER_ROW * (len(path.read_text().splitlines()) if path.exists() else 0)

    limited = partial(TimeLimit, elapsed=elapsed, slowdown=lambda: 1.0)
    monkeypatch.setattr(chosen, "TimeLimit", limited)
    return lambda *settings: run("train", *small, f"hydra.run.dir={folder}", *settings)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


def status_of(folder):
    return json.loads((folder / "status.json").read_text())


def test_a_run_ends_in_time_and_says_so(timed, folder, trained, timeless):
    outcome = timed("train.minutes=2", "report=true")
    assert outcome.code == 0, outcome.err
    # Updates end with 1, 2 and 3 rows written. Evaluation and update take no time, and the report
    # takes 4 seconds, so after 150 of 120 seconds the third update is the last one.
    status = status_of(folder)
    assert (status["state"], status["step"], status["ended_by"]) == (
        "finished",
        3,
        "train.minutes",
    )
    assert "0: 2 minutes, at most 4 steps of 2 tasks" in outcome.out
    assert "train.minutes=2 is up after 3 updates" in outcome.out
    assert "step 3/3" in outcome.out and "left 0:00" in outcome.out
    assert "3 of at most 4 in 2 minutes" in (folder / "report.html").read_text()
    # The updates are those of a run without a limit; only the last evaluation comes earlier.
    rows, reference = timeless(folder / "metrics.jsonl"), timeless(trained[0] / "metrics.jsonl")
    assert rows[:3] == reference[:3]
    assert "eval/accuracy" in rows[3] and reference[3].items() <= rows[3].items()


def test_a_run_that_used_its_time_stays_as_it_is_and_more_minutes_continue_it(
    timed, folder, trained, timeless
):
    assert timed("train.minutes=2").code == 0
    before = (folder / "metrics.jsonl").read_bytes()
    again = timed("train.minutes=2", "resume=true")
    assert again.code == 0, again.err
    assert (folder / "metrics.jsonl").read_bytes() == before and status_of(folder)["step"] == 3
    longer = timed("train.minutes=20", "resume=true")
    assert longer.code == 0, longer.err
    assert "train.minutes: was 2, now 20" in longer.out
    assert "ended_by" not in status_of(folder)
    rows, reference = timeless(folder / "metrics.jsonl"), timeless(trained[0] / "metrics.jsonl")
    assert rows[4] == reference[4]
    weights = [run / "policy" / "model.safetensors" for run in (folder, trained[0])]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_a_run_killed_before_its_last_evaluation_takes_one_more_update(timed, folder):
    settings = ("train.minutes=2", "train.evaluate_every=null")
    assert timed(*settings).code == 0
    shutil.rmtree(folder / "checkpoints" / "step_00000003")
    resumed = timed(*settings, "resume=true")
    assert resumed.code == 0, resumed.err
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    # The checkpoint is of step 2, and its row has no evaluation.
    assert [row["step"] for row in rows] == [0, 1, 2, 3]
    assert ["eval/accuracy" in row for row in rows] == [True, False, False, True]
    assert status_of(folder)["step"] == 3


def test_too_little_time_for_an_update_leaves_the_evaluation_before_training(timed, folder):
    outcome = timed("train.minutes=0.05")
    # The report alone takes 4 of these 3 seconds.
    assert outcome.code == 0, outcome.err
    assert "train.minutes=0.05 is up after 0 updates" in outcome.out
    rows = (folder / "metrics.jsonl").read_text().splitlines()
    assert len(rows) == 1 and "eval/accuracy" in rows[0]
    assert (folder / "policy" / "model.safetensors").is_file()


def test_what_comes_before_the_first_step_is_not_part_of_the_time(
    run, small, tmp_path, monkeypatch
):
    moments = []
    build = train.prepare

    def slow(*arguments):
        # As long as imports, a model or a server may take.
        monkeypatch.setattr(clock, "_began", clock._began - 1000)
        return build(*arguments)

    monkeypatch.setattr(train, "prepare", slow)
    update = train.update
    monkeypatch.setattr(
        train, "update", lambda *given: moments.append(clock.elapsed()) or update(*given)
    )
    settings = [*small, "train.minutes=15", f"hydra.run.dir={tmp_path}/run"]
    assert run("train", *settings).code == 0
    assert len(moments) == 4 and moments[0] < 900


@pytest.mark.parametrize("minutes", ["0", "-1", "soon"])
def test_minutes_are_a_number_above_zero(run, minutes):
    outcome = run("train", f"train.minutes={minutes}")
    assert outcome.code == 1 and "train.minutes must be" in outcome.message
