"""Warnings of a run, and the policies that it saves."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.session.rules import Context, Rules
from laconic.experiments.session.run_state import SKIPPED, refuse_divergence, save_policies, watch
from laconic.learners.distributed.processes import SINGLE_PROCESS


def run(**settings):
    return SimpleNamespace(rules=Rules(Context()), step=3, warnings=[], ended_by="", **settings)


def test_a_step_is_judged_by_the_rules():
    playing = run()
    assert watch(playing, {"eval/accuracy": 0.9, "eval/silence_rate": 0.1}) == []
    (warning,) = watch(playing, {"eval/accuracy": 0.1, "eval/silence_rate": 1.0})
    assert "silence collapse at step 3" in warning


class Kept:
    """A policy that writes down where it was saved."""

    def __init__(self, frozen=False):
        self.frozen, self.places = frozen, []

    def save(self, place):
        self.places.append(place)


def test_one_policy_lies_in_the_folder_and_several_in_folders_of_their_first_agents(tmp_path):
    shared, own, frozen = Kept(), Kept(), Kept(frozen=True)
    save_policies({"a_0": shared, "a_1": shared}, tmp_path)
    assert shared.places == [tmp_path]
    team = {"a_0": shared, "a_1": shared, "b_0": own, "c_0": frozen, "d_0": object()}
    save_policies(team, tmp_path)
    assert shared.places[1:] == [tmp_path / "a_0"] and own.places == [tmp_path / "b_0"]
    assert frozen.places == []


def first_update(folder, every, processes=SINGLE_PROCESS, resumable=True):
    """Make a run of 20 steps after its first step, whose learner has a state of 400 bytes."""
    learner = SimpleNamespace(resumable=resumable, state_dict=lambda: {"w": torch.zeros(100)})
    cfg = SimpleNamespace(train=SimpleNamespace(checkpoint_every=every))
    places = SimpleNamespace(checkpoints=folder)
    update = run(learner=learner, cfg=cfg, folder=places, processes=processes, total=20)
    update.step = 1
    return update


def test_a_full_disk_gets_a_warning_once_the_size_of_checkpoints_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=799))
    update = first_update(tmp_path, every=10)
    (warning,) = watch(update, {})
    assert "need 800 bytes" in warning and "2 at a time" in warning and "799 are free" in warning
    update.step = 2
    assert watch(update, {}) == [] and watch(first_update(tmp_path, every=20), {}) == []
    assert watch(first_update(tmp_path, every=10, resumable=False), {}) == []
    sharded = SimpleNamespace(sharded=True)
    assert watch(first_update(tmp_path, every=10, processes=sharded), {}) == []


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
    run = SimpleNamespace(lost=0, step=0, total=5, cfg={"optimizer": {"lr": 1000}})
    run.cfg = OmegaConf.create(run.cfg)
    stopped = None
    for run.step, (steps, skipped) in enumerate(rows, start=1):
        try:
            refuse_divergence(run, {"learner/steps": steps, SKIPPED: skipped})
        except SettingError as error:
            assert "training diverged" in str(error) and "optimizer.lr (it is 1000)" in str(error)
            stopped = run.step
            break
    assert stopped == stops


def test_a_learner_that_does_not_count_its_steps_is_not_stopped():
    run = SimpleNamespace(lost=0, step=0, total=3, cfg=OmegaConf.create({}))
    for run.step in (1, 2, 3):
        refuse_divergence(run, {SKIPPED: 2.0})
    assert run.lost == 0
