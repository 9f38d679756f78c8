"""Warnings of a run, and the end of one whose weights no longer change."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.callbacks.warnings import SKIPPED, Divergence, Warnings
from laconic.learners.distributed.processes import SINGLE_PROCESS


def run(**settings):
    warnings = []
    return SimpleNamespace(
        callbacks={},
        step=3,
        warnings=warnings,
        warn=warnings.append,
        ended_by="",
        end="",
        **settings,
    )


def test_a_step_is_judged_by_the_rules():
    playing, callback = run(), Warnings({})
    callback.on_log(playing, {"eval/accuracy": 0.9, "eval/silence_rate": 0.1})
    assert playing.warnings == []
    callback.on_log(playing, {"eval/accuracy": 0.1, "eval/silence_rate": 1.0})
    (warning,) = playing.warnings
    assert "silence collapse at step 3" in warning


def first_update(folder, every, processes=SINGLE_PROCESS, resumable=True):
    """Make a run of 20 steps after its first step, whose learner has a state of 400 bytes."""
    learner = SimpleNamespace(resumable=resumable, state_dict=lambda: {"w": torch.zeros(100)})
    cfg = SimpleNamespace(train=SimpleNamespace(checkpoint_every=every))
    places = SimpleNamespace(checkpoints=folder)
    update = run(learner=learner, cfg=cfg, folder=places, processes=processes, total=20)
    update.step = 1
    return update


def warned(update):
    Warnings({}).on_log(update, {})
    return update.warnings


def test_a_full_disk_gets_a_warning_once_the_size_of_checkpoints_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=799))
    (warning,) = warned(first_update(tmp_path, every=10))
    assert "need 800 bytes" in warning and "2 at a time" in warning and "799 are free" in warning
    later = first_update(tmp_path, every=10)
    later.step = 2
    assert warned(later) == [] and warned(first_update(tmp_path, every=20)) == []
    assert warned(first_update(tmp_path, every=10, resumable=False)) == []
    sharded = SimpleNamespace(sharded=True)
    assert warned(first_update(tmp_path, every=10, processes=sharded)) == []


@pytest.mark.parametrize(
    ("rows", "stops"),
    [
        # Steps taken and skipped of each update; the run has five.
        ([(0, 4), (0, 4), (0, 4)], 3),
        ([(1, 3), (0, 4), (0, 4), (0, 4)], 4),
        ([(0, 4), (0, 4), (4, 0), (0, 4), (4, 0)], None),
        ([(4, 0), (4, 0), (4, 0), (4, 0), (0, 4)], 5),
        ([(0, 0), (0, 0), (0, 0), (0, 0), (0, 0)], None),
    ],
)
def test_a_run_whose_steps_are_not_finite_is_stopped_with_the_reason(rows, stops):
    cfg = OmegaConf.create({"optimizer": {"lr": 1000}})
    run, divergence, stopped = SimpleNamespace(step=0, total=5, cfg=cfg), Divergence(), None
    for run.step, (steps, skipped) in enumerate(rows, start=1):
        try:
            divergence.on_log(run, {"learner/steps": steps, SKIPPED: skipped})
        except SettingError as error:
            assert "training diverged" in str(error) and "optimizer.lr (it is 1000)" in str(error)
            stopped = run.step
            break
    assert stopped == stops


def test_a_learner_that_does_not_count_its_steps_is_not_stopped():
    run, divergence = SimpleNamespace(step=0, total=3, cfg=OmegaConf.create({})), Divergence()
    for run.step in (1, 2, 3):
        divergence.on_log(run, {SKIPPED: 2.0})
    assert divergence.lost == 0
