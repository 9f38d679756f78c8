"""Data of a folder of runs, as another program reads it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from laconic.extras.report.data import as_csv
from laconic.extras.report.write import write_report

Build = Callable[..., Path]


def data_of(folder: Path) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Write the report of a folder and read both files."""
    write_report(folder)
    with open(folder / "sweep.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return rows, json.loads((folder / "sweep.json").read_text())


def figures(write_rows: Any, folder: Path, **steps: dict[str, float]) -> None:
    """Replace the evaluations of a run: `step_60={"tokens_said": 10.0}`, intervals of +-1."""
    write_rows(
        folder / "evaluations.jsonl",
        [
            {
                "step": int(name.removeprefix("step_")),
                "episodes": 9,
                "intervals": {
                    metric: {"mean": mean, "low": mean - 1, "high": mean + 1, "count": 9}
                    for metric, mean in means.items()
                },
            }
            for name, means in steps.items()
        ],
    )
    (folder / "metrics.jsonl").write_text("")


@pytest.mark.usefixtures("without_pictures")
def test_a_run_is_a_row_with_the_settings_that_vary_and_all_figures(
    tmp_path: Path, build_run: Build, write_rows: Any
) -> None:
    for number, (seed, price) in enumerate([(0, 0.0), (1, 0.0), (0, 0.5)]):
        overrides = [f"seed={seed}", f"env.reward.price={price}", "env.rounds=2"]
        folder = build_run(tmp_path / str(number), seed=seed, price=price, overrides=overrides)
        start, end = {"tokens_said": 40.0}, {"tokens_said": 10.0 + number, "gain": -1.0}
        figures(write_rows, folder, step_0=start, step_60=end)
    rows, data = data_of(tmp_path)
    heads = ["run", "env", "agent", "learner", "optimizer", "env.reward.price", "seed", "state"]
    heads += ["left_out", "step", "episodes", "eval/tokens_said", "eval/gain", "start/tokens_said"]
    assert list(rows[0]) == heads
    told = [(row["env.reward.price"], row["seed"], row["eval/tokens_said"]) for row in rows]
    assert told == [("0.0", "0", "10.0"), ("0.0", "1", "11.0"), ("0.5", "0", "12.0")]
    assert [row["start/tokens_said"] for row in rows] == ["40.0"] * 3
    assert [row["env.reward.price"] for row in data["runs"]] == [0.0, 0.0, 0.5]
    first, second = data["settings"]
    assert (first["env.reward.price"], first["runs"]) == (0.0, ["0", "1"])
    # Mean 10.5, standard error 0.5, t with one degree of freedom 12.7062: 6.353; over tasks 1.
    # sqrt(6.353^2 + 1) = 6.431.
    tokens = first["eval"]["tokens_said"]
    assert tokens == pytest.approx({"mean": 10.5, "low": 4.069, "high": 16.931, "count": 2}, 1e-3)
    # Both seeds start from one policy, whose interval is that of its 9 tasks.
    one = {"mean": 40.0, "low": 39.0, "high": 41.0, "count": 9}
    assert first["start"]["tokens_said"] == second["start"]["tokens_said"] == one


@pytest.mark.usefixtures("without_pictures")
def test_a_sweep_that_was_killed_or_failed_half_way_has_all_its_rows(
    tmp_path: Path, build_run: Build
) -> None:
    build_run(tmp_path / "0", seed=0, overrides=["seed=0", "env.budget.message=48"])
    build_run(tmp_path / "1", seed=0, upto=30, overrides=["seed=0", "env.budget.message=24"])
    # This one failed before it had a configuration.
    (tmp_path / "2" / ".hydra").mkdir(parents=True)
    (tmp_path / "2" / ".hydra" / "overrides.yaml").write_text("[seed=0, env.budget.message=0]")
    (tmp_path / "2" / "error.txt").write_text("env.budget.message must be at least 1\n")
    rows, data = data_of(tmp_path)
    assert [row["env.budget.message"] for row in rows] == ["48", "24", "0"]
    assert [row["step"] for row in rows] == ["60", "20", ""]
    assert [bool(row["eval/accuracy"]) for row in rows] == [True, True, False]
    assert [row["left_out"][:10] for row in rows] == ["", "unfinished", "failed: en"]
    assert [setting["runs"] for setting in data["settings"]] == [["0"]]
    assert data["runs"][2]["seed"] == 0 and "eval/accuracy" not in data["runs"][2]


@pytest.mark.usefixtures("without_pictures")
def test_nested_settings_with_commas_stay_one_value(tmp_path: Path, build_run: Build) -> None:
    schedules = ["[helper,solver]", "[[helper,solver],solver]"]
    for number, schedule in enumerate(schedules):
        typed = [f"env.schedule={schedule}", "+env.note='a, \"b\"'", f"learner/price=p{number}"]
        folder = build_run(tmp_path / str(number), overrides=[*typed, "~env.team.helper"])
        chosen = f"hydra: {{runtime: {{choices: {{learner/price: p{number}, learner: gspo}}}}}}"
        (folder / ".hydra" / "hydra.yaml").write_text(chosen)
    rows, data = data_of(tmp_path)
    assert [json.loads(row["env.schedule"]) for row in rows] == [
        ["helper", "solver"],
        [["helper", "solver"], "solver"],
    ]
    assert data["runs"][1]["env.schedule"] == [["helper", "solver"], "solver"]
    assert [row["learner/price"] for row in rows] == ["p0", "p1"]
    assert {row["learner"] for row in rows} == {"gspo"}
    # What all runs share is no column.
    assert "env.note" not in rows[0] and "env.team.helper" not in rows[0]


@pytest.mark.usefixtures("without_pictures")
def test_a_swept_group_is_named_in_its_own_column(tmp_path: Path, build_run: Build) -> None:
    for number, learner in enumerate(("gspo", "mine.Mine")):
        folder = build_run(tmp_path / str(number), overrides=[f"learner={learner}"])
        config = (folder / "config.yaml").read_text()
        (folder / "config.yaml").write_text(f"{config}names: {{learner: {learner}, env: math}}\n")
    rows, _ = data_of(tmp_path)
    told = [(row["learner"], row["env"]) for row in rows]
    assert told == [("gspo", "math"), ("mine.Mine", "math")]
    assert list(rows[0]).count("learner") == 1


def test_runs_with_other_figures_share_one_table() -> None:
    rows = [{"run": "a", "eval/x": 1.0}, {"run": "b", "step": 2, "eval/y": None, "eval/x": 3.0}]
    assert as_csv(rows) == "run,step,eval/x,eval/y\na,,1.0,\nb,2,3.0,\n"


def test_the_lines_of_the_page_make_a_figure(
    tmp_path: Path, build_multirun: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("agg")
    write_report(build_multirun(tmp_path / "multirun" / "prices"))
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "sweeps.md").read_text()
    (lines,) = re.findall(r"```text\n(import pandas.*?)```", page, re.DOTALL)
    found: dict[str, Any] = {}
    exec(lines, found)
    assert list(found["means"].index) == [0.0, 0.5]
    assert len([line for line in lines.splitlines() if line]) == 4
    assert (tmp_path / "prices.png").stat().st_size > 1000
