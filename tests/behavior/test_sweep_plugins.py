"""Sweeps with Hydra's launchers and sweepers for several processes, where they are installed."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from places import ROOT

from laconic.experiments.command_line.tree import CONF

REFUSED = "budget.message must be null or a whole number of at least 1; got 0"


def sweep(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a sweep as a user does; only so is the program a `__main__` that has to be pickled."""
    return subprocess.run(
        [sys.executable, "-m", "laconic.experiments.train", "-m", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=500,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launcher", "settings"),
    [("joblib", ["hydra.launcher.n_jobs=2"]), ("submitit_local", [])],
)
def test_a_launcher_with_processes_of_its_own_outlives_a_run_that_fails(
    launcher, settings, small, tmp_path, rows, timeless, trained, run
):
    pytest.importorskip(f"hydra_plugins.hydra_{launcher.partition('_')[0]}_launcher")
    folder = tmp_path / "sweep"
    swept = [*small, "train.steps=2", "env.budget.message=48,0,24", "env.reward.price=0.5"]
    outcome = sweep(
        *swept, "logger=none", f"hydra/launcher={launcher}", *settings, f"hydra.sweep.dir={folder}"
    )
    assert outcome.returncode == 1, outcome.stderr
    assert outcome.stderr.endswith(
        "error: 1 of the jobs failed (see error.txt):\n"
        f"  1: {' '.join(_overrides(folder / '1'))}: {REFUSED}"
        f"{_rest(folder / '1' / 'error.txt')}\n"
    )
    # The first is the training that other tests compare with, in a process of another kind.
    expected = timeless(trained[0] / "metrics.jsonl")[:3]
    assert timeless(folder / "0" / "metrics.jsonl") == expected
    assert len(rows(folder / "2" / "metrics.jsonl")) == 3
    reported = run("report", str(folder))
    assert reported.code == 0, reported.err
    assert "2 finished, 1 failed" in (folder / "report.html").read_text().replace(" · ", ", ")


def _overrides(folder: Path) -> list[str]:
    return list(OmegaConf.load(folder / ".hydra" / "overrides.yaml"))


def _rest(path: Path) -> str:
    """Return the text after the reason in the first line of an error."""
    return path.read_text().splitlines()[0].partition(REFUSED)[2]


def optuna(run, small, folder, *settings):
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="needs the extra 'optuna'")
    return run(
        "train", "-m", *small, "train.steps=1", "logger=none", f"hydra.sweep.dir={folder}",
        "hydra/sweeper=optuna", "hydra/sweeper/sampler=grid", "hydra.sweeper.n_jobs=1", *settings,
    )  # fmt: skip


def test_optuna_finds_the_best_objective_and_counts_a_failed_run_as_a_failed_trial(
    run, small, tmp_path, rows
):
    folder = tmp_path / "sweep"
    outcome = optuna(
        run, small, folder, "hydra.sweeper.direction=maximize", "env.budget.message=choice(0,4,48)"
    )
    assert outcome.code == 1, outcome.err
    assert "error: 1 of the jobs failed" in outcome.err
    finished = [job for job in ("0", "1", "2") if not (folder / job / "error.txt").exists()]
    rewards = [rows(folder / job / "metrics.jsonl")[-1]["eval/reward"] for job in finished]
    assert len(rewards) == 2
    best = OmegaConf.load(folder / "optimization_results.yaml")
    assert math.isclose(best.best_value, max(rewards), rel_tol=1e-12)
    winner = finished[rewards.index(max(rewards))]
    assert f"env.budget.message={best.best_params['env.budget.message']}" in _overrides(
        folder / winner
    )


def test_optuna_weighs_two_objectives(run, small, tmp_path, rows):
    folder = tmp_path / "sweep"
    outcome = optuna(
        run, small, folder, "sweep_metric=[eval/accuracy,eval/tokens_said]",
        "hydra.sweeper.direction=[maximize,minimize]", "env.budget.message=choice(4,48)",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    points = [
        [row["eval/accuracy"], row["eval/tokens_said"]]
        for row in (rows(folder / job / "metrics.jsonl")[-1] for job in "01")
    ]
    results = OmegaConf.to_container(OmegaConf.load(folder / "optimization_results.yaml"))
    values = [solution["values"] for solution in results["solutions"]]
    assert values and all(value in points for value in values)


def test_the_settings_of_a_cluster_compose():
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="needs 'submitit'")
    chosen = ["hydra/launcher=submitit_slurm", "hydra.launcher.partition=gpu"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        launcher = compose("train", chosen, return_hydra_config=True).hydra.launcher
    assert launcher._target_.endswith("SlurmLauncher") and launcher.partition == "gpu"
