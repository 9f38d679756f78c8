from __future__ import annotations

import math
import pickle

import cloudpickle
import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from places import configs

from laconic.experiments.command_line import cli, sweeping
from laconic.experiments.command_line.sweeping import (
    Failure,
    FolderCallback,
    failures,
    forget,
    mark,
    reason,
    sweeper_value,
    unmark,
)
from laconic.experiments.command_line.tree import CONF

PROGRAMS = sorted(configs("*.yaml"))


@pytest.fixture(autouse=True)
def _no_sweep():
    forget()
    yield
    forget()


def test_a_sweeper_gets_numbers_or_none():
    assert sweeper_value(0.5) == 0.5
    assert sweeper_value([0.5, 12.0]) == [0.5, 12.0]
    assert sweeper_value(math.inf) == math.inf
    assert sweeper_value(None) is None
    # Optuna refuses NaN, also for a trial that failed.
    assert sweeper_value(math.nan) is None
    assert sweeper_value([0.5, math.nan]) is None


def test_the_line_that_says_most_is_the_first_of_a_message_and_the_last_of_a_traceback():
    assert reason("seed must be even; got 1\nmore\n") == "seed must be even; got 1"
    assert reason("Traceback (most recent call last):\n  File ...\nValueError: no\n") == (
        "ValueError: no"
    )
    assert reason("") == ""


def test_failed_jobs_are_found_in_the_folder_of_the_sweep_until_they_run_again(
    tmp_path, monkeypatch
):
    assert failures() == []
    # Hydra runs in the folder that it names.
    monkeypatch.chdir(tmp_path)
    hydra = {"runtime": {"cwd": str(tmp_path)}, "sweep": {"dir": "many"}}
    FolderCallback().on_multirun_start(OmegaConf.create({"hydra": hydra}))
    for job in ("0", "1/deep", "2"):
        (tmp_path / "many" / job / ".hydra").mkdir(parents=True)
    recorded = tmp_path / "many" / "1" / "deep" / ".hydra" / "overrides.yaml"
    recorded.write_text("- seed=1\n- env.price=0.5\n")
    mark(tmp_path / "many" / "1" / "deep", "no luck\nat all")
    mark(tmp_path / "many" / "2", "gone")
    assert failures() == [
        Failure("1/deep", "seed=1 env.price=0.5", "no luck"),
        Failure("2", "", "gone"),
    ]
    assert str(failures()[0]) == "1/deep: seed=1 env.price=0.5: no luck"
    unmark(tmp_path / "many" / "2")
    unmark(tmp_path / "many" / "2")
    assert [failure.folder for failure in failures()] == ["1/deep"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_learns_of_jobs_in_other_processes(name):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose(name, return_hydra_config=True)
    assert (
        cfg.hydra.callbacks.sweep._target_
        == "laconic.experiments.command_line.sweeping.FolderCallback"
    )


def test_a_job_in_another_process_uses_the_globals_of_that_process(monkeypatch):
    # Launchers pickle the job by value; what it polls has to be the module's own list there.
    monkeypatch.setattr(cli, "_play", lambda main, cfg, with_traceback: (main(cfg), cfg))
    job = pickle.loads(cloudpickle.dumps(cli._job(lambda cfg: cfg + 1, False)))
    assert job(1) == (2, 1)


def test_the_folder_of_a_sweep_does_not_depend_on_where_a_job_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere" / "0").mkdir(parents=True)
    mark(tmp_path / "elsewhere" / "0", "lost")
    hydra = {"runtime": {"cwd": "/nowhere"}, "sweep": {"dir": str(tmp_path / "elsewhere")}}
    sweeping.remember(OmegaConf.create(hydra))
    assert [failure.reason for failure in failures()] == ["lost"]


def test_an_error_outside_the_jobs_is_reported_with_the_command_that_continues(tmp_path):
    assert sweeping.describe_end(ValueError("no")) is None
    hydra = {"runtime": {"cwd": str(tmp_path)}, "sweep": {"dir": "many"}}
    sweeping.remember(OmegaConf.create(hydra))
    assert sweeping.describe_end(ValueError("worker lost\nmore")) == (
        "the sweep ended early, ValueError: worker lost\n"
        f"the same command with resume=true hydra.sweep.dir={tmp_path}/many continues it"
    )
