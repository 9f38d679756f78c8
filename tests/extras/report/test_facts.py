"""Facts about a run on its page."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from laconic.experiments.run_folder.records import Run
from laconic.experiments.run_folder.runs import read_run
from laconic.extras.report.facts import duration, facts, facts_of_all, title

CONFIG = """
seed: 3
env: {name: gsm8k, source: generated, reward: {price: 0.5}}
agent: {_target_: laconic.learners.agents.tiny.TinyTeam, model: null}
learner:
  _target_: laconic.learners.algorithms.group.GroupLearner
  price: {_target_: laconic.learners.prices.schedule.PassRate}
"""
NOON = datetime(2026, 3, 1, 12).timestamp()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "config.yaml").write_text(CONFIG)
    rows = [
        {"step": 0, "time/evaluation": 10.0},
        {"step": 1, "time/step": 200.0, "time/evaluation": 50.0, "train/price": 0.1},
        {"step": 2, "time/step": 40.4, "train/price": 0.25},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(tmp_path / "metrics.jsonl", (NOON, NOON))
    (tmp_path / "status.json").write_text('{"state": "finished", "version": "0.1.0"}')
    return read_run(tmp_path)


def test_all_facts_of_a_folder_are_listed_in_order(run: Run) -> None:
    assert list(facts(run).items()) == [
        ("environment", "gsm8k"),
        ("source", "generated"),
        ("agent", "tiny.TinyTeam"),
        ("learner", "group.GroupLearner"),
        ("seed", "3"),
        ("price", "0.5 (PassRate: 0.1 to 0.25)"),
        ("date", "2026-03-01"),
        # 10 before training, 200 and 40.4 for the steps; the evaluation is within its step.
        ("duration", "4 min 10 s"),
        ("version", "0.1.0"),
    ]


def test_a_title_names_environment_learner_and_seeds() -> None:
    about = {"environment": "math", "learner": "gspo", "seed": "3"}
    assert title(about, "12-00-00") == "math · gspo · seed 3"
    assert title(about | {"seed": "1, 2"}, "12-00-00") == "math · gspo · seeds 1, 2"
    assert title({"environment": "math"}, "12-00-00") == "math"
    assert title({}, "12-00-00") == "12-00-00"


def test_the_last_process_of_a_run_is_shown_with_commit_device_and_command(run: Run) -> None:
    commit = f"{'a1' * 20}-dirty"
    process = {"commit": commit, "device": "1 x H200", "command": "laconic train seed=3"}
    (run.folder / "provenance.json").write_text(json.dumps([{"commit": "old"}, process]))
    shown_facts = facts(read_run(run.folder))
    assert shown_facts["version"] == "0.1.0 (commit a1a1a1a1a1 with changes)"
    assert (shown_facts["device"], shown_facts["command"]) == ("1 x H200", "laconic train seed=3")
    # What is no list of objects is as if it were not there.
    (run.folder / "provenance.json").write_text('{"command": 3}')
    assert read_run(run.folder).written_by == {}


def test_recorded_choices_are_shown_as_they_were_typed(run: Run) -> None:
    (run.folder / ".hydra").mkdir()
    noted = "hydra: {runtime: {choices: {learner: magrpo, agent: tiny}}}"
    (run.folder / ".hydra" / "hydra.yaml").write_text(noted)
    shown_facts = facts(read_run(run.folder))
    assert (shown_facts["learner"], shown_facts["agent"]) == ("magrpo", "tiny")


def test_a_price_that_stands_still_is_only_the_price(run: Run) -> None:
    assert facts(replace(run, metrics={1: {"train/price": 0.5}}))["price"] == "0.5"


@pytest.mark.parametrize("config", ["", "env: 3\nlearner: [1]\nagent: x", "[1]", "{]"])
def test_unknown_facts_are_left_out(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.yaml").write_text(config)
    assert facts(read_run(tmp_path)) == {}


def test_facts_of_several_runs_are_merged_and_times_added(run: Run) -> None:
    other = replace(run, seed="4", written=NOON + 86400)
    merged = facts_of_all([run, other])
    assert (merged["environment"], merged["seed"]) == ("gsm8k", "3, 4")
    assert merged["duration"] == "8 min 21 s in all"
    assert merged["date"] == "2026-03-01 to 2026-03-02"
    many = facts_of_all([replace(run, seed=str(seed)) for seed in range(9)])
    assert many["seed"] == "0, 1, 2, 3, 4, 5 and 3 more"
    assert facts_of_all([]) == {}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, ""), (0.4, ""), (12.0, "12 s"), (59.6, "1 min 0 s"), (3599.0, "59 min 59 s")]
    + [(3840.0, "1 h 4 min"), (360000.0, "100 h 0 min")],
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.usefixtures("without_pictures")
def test_a_page_shows_the_facts_of_its_run(
    tmp_path: Path, build_run: Callable[..., Path], report: Callable[[Path], object]
) -> None:
    page = report(build_run(tmp_path / "run", steps=4, every=2))
    text = page.text.split("Over training")[0]  # type: ignore[attr-defined]
    assert "price" in text and "0.5" in text and "seed" in text and "5 s" in text
