"""What other programs have left in a run folder is told truly, and cannot command the terminal."""

from __future__ import annotations

import json

import pytest
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.running import lock
from laconic.experiments.running.foreign import read_status, refuse_old_names
from laconic.experiments.running.run_folder import RunFolder


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


def test_a_run_that_was_killed_is_not_called_running(folder):
    assert read_status(folder.path) == {}
    folder.start(OmegaConf.create({"seed": 0}), resume=False)
    folder.write_status("running", 3)
    assert read_status(folder.path)["state"] == "killed"
    lock.hold(folder.path)
    assert read_status(folder.path)["state"] == "running"
    lock.release()
    folder.write_status("finished", 4)
    assert read_status(folder.path)["state"] == "finished"


def test_a_status_of_somebody_else_cannot_command_the_terminal(folder):
    text = json.dumps({"state": "run\x1b[2Jning\u202e", "warnings": ["a\tb\nc\x07\u009b", 1]})
    (folder.path / "status.json").write_text(text)
    assert read_status(folder.path) == {"state": "run[2Jning", "warnings": ["a\tb\nc", 1]}
    (folder.path / "status.json").write_text("[]")
    with pytest.raises(ValueError):
        read_status(folder.path)


def test_names_of_today_and_of_others_are_no_reason_to_refuse(tmp_path):
    ours = {"env._target_": "laconic.envs.make", "optimizer._target_": "torch.optim.AdamW"}
    refuse_old_names(tmp_path, {**ours, "env.name": "envs.make"})
    with pytest.raises(SettingError, match="called 'laconic.envs.make' 'envs.make'"):
        refuse_old_names(tmp_path, {**ours, "env._target_": "envs.make"})
