"""Two programs never write to one folder, and the folder of a killed one says so."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
from omegaconf import OmegaConf
from places import configs

from laconic.experiments.command_line import lock
from laconic.experiments.run_folder.foreign import read_status

IN_THE_FIRST_STEP = ("laconic.learners.agents.hf.HFPolicy.reply", 3, "before")


def contents(folder):
    """Return the bytes of every file."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("sweep", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_second_program_in_the_folder_is_refused_and_leaves_it_alone(
    processes, small, tmp_path, sweep
):
    folder = tmp_path / "runs"
    where = f"hydra.sweep.dir={folder}" if sweep else f"hydra.run.dir={folder}"
    command = ["train", *(["-m"] if sweep else []), *small, "train.steps=1", "logger=none", where]
    first = processes.start(*command, die=IN_THE_FIRST_STEP, number=signal.SIGSTOP)
    status = (folder / "0" if sweep else folder) / "status.json"
    until = time.monotonic() + 120
    while not stopped(first.pid):
        assert time.monotonic() < until, first.err.read_text()
        time.sleep(0.05)
    before = contents(folder)
    second = processes.run(*command, "seed=1")
    assert second.code == 1
    assert f"is locked by process {first.pid} on " in second.message
    assert contents(folder) == before
    assert not status.exists() or read_status(status.parent)["state"] == "running"
    os.kill(first.pid, signal.SIGKILL)
    assert first.wait().code == -signal.SIGKILL
    assert not lock.is_held(folder)
    again = processes.run(*command, "resume=true")
    assert again.code == 0, again.err
    assert read_status(status.parent)["state"] == "finished"
    assert not list(folder.rglob(lock.NAME))


def stopped(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def test_a_killed_training_is_not_called_running(processes, small, tmp_path):
    folder = tmp_path / "run"
    command = ["train", *small, "logger=none", f"hydra.run.dir={folder}"]
    moment = ("laconic.learners.checkpoint.save", 2, "before")
    assert processes.run(*command, die=moment).code == -signal.SIGKILL
    assert json.loads((folder / "status.json").read_text())["state"] == "running"
    assert read_status(folder)["state"] == "killed"
    assert processes.run("report", str(folder)).code == 0
    assert "killed (step" in (folder / "report.html").read_text()


def test_a_hangup_ends_a_run_in_good_order(processes, small, tmp_path):
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        pytest.skip("hangups are ignored here, as under nohup, and then by the programs too")
    folder = tmp_path / "run"
    command = ["train", *small, "logger=none", f"hydra.run.dir={folder}"]
    ended = processes.run(*command, die=IN_THE_FIRST_STEP, number=signal.SIGHUP)
    assert ended.code == 128 + signal.SIGHUP
    assert read_status(folder)["state"] == "interrupted"
    assert (folder / "policy").is_dir()


@pytest.mark.parametrize("name", sorted(configs("*.yaml")))
def test_two_runs_of_one_second_have_folders_of_their_own(name):
    hydra = OmegaConf.to_container(OmegaConf.load(configs("*.yaml")[name]).hydra, resolve=False)
    folders = [hydra[kind]["dir"] for kind in ("run", "sweep") if kind in hydra]
    # Microseconds are in the name.
    assert folders and all(path.endswith("-%f}") for path in folders)
