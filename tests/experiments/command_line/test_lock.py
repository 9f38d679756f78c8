"""Two programs never write to one folder, and a dead program holds no lock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from places import ROOT

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import lock

HOLDER = """
import sys, time
from laconic.experiments.command_line import lock
lock.hold(sys.argv[1])
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds `tmp_path / "run"`."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "run")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.wait()


@pytest.fixture(autouse=True)
def _released():
    yield
    lock.release()


def test_a_folder_that_another_process_writes_to_is_refused_until_it_is_dead(other, tmp_path):
    folder = tmp_path / "run"
    assert lock.is_held(folder)
    with pytest.raises(SettingError) as refused:
        lock.hold(folder)
    message = str(refused.value)
    assert f"process {other.pid} on " in message and "hydra.run.dir=<folder>" in message
    assert str(folder / lock.NAME) in message and time.strftime("since %Y") in message
    other.kill()
    other.wait()
    # It could not remove its file, which no longer keeps anybody out.
    assert (folder / lock.NAME).exists() and not lock.is_held(folder)
    assert lock.hold(folder)
    assert json.loads((folder / lock.NAME).read_text())["pid"] == os.getpid()


def test_a_folder_is_taken_once_and_given_back_without_a_trace(tmp_path):
    folder = tmp_path / "deep" / "run"
    assert not lock.is_held(folder)
    assert lock.hold(folder) and not lock.hold(folder) and lock.is_held(folder)
    lock.release(folder)
    lock.release(folder)
    assert not lock.is_held(folder) and list(folder.iterdir()) == []
    assert lock.hold(folder) and lock.hold(tmp_path)
    lock.release()
    assert not lock.is_held(folder) and not lock.is_held(tmp_path)


def test_without_locks_of_the_system_a_living_process_counts(tmp_path, monkeypatch):
    def none(file, how):
        raise OSError(lock.errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock.fcntl, "lockf", none)
    ours = {"host": lock.socket.gethostname(), "started": "then"}
    (tmp_path / lock.NAME).write_text(json.dumps({**ours, "pid": os.getppid()}))
    with pytest.raises(SettingError, match=f"process {os.getppid()} on"):
        lock.hold(tmp_path)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / lock.NAME).write_text(json.dumps({**ours, "pid": ended.pid}))
    assert lock.hold(tmp_path)
    lock.release()
    # Of another machine's processes nothing is known.
    (tmp_path / lock.NAME).write_text(json.dumps({**ours, "host": "elsewhere", "pid": 1}))
    with pytest.raises(SettingError, match="on 'elsewhere'"):
        lock.hold(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[1]"])
def test_an_empty_lock_file_locks_nothing(tmp_path, text):
    (tmp_path / lock.NAME).write_text(text)
    assert lock.hold(tmp_path)


def test_the_lock_of_a_folder_that_was_removed_and_made_again_is_left_to_its_new_holder(tmp_path):
    folder = tmp_path / "run"
    assert lock.hold(folder)
    (folder / lock.NAME).unlink()
    # As another process would make it.
    (folder / lock.NAME).write_text('{"pid": 1}\n')
    lock.release(folder)
    assert (folder / lock.NAME).read_text() == '{"pid": 1}\n'
    assert lock.hold(folder)
