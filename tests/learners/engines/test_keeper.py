"""A program that is kept ends with the one who started it, whatever becomes of that one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.engines import keeper
from laconic.learners.engines.process import Process, free_port
from laconic.learners.errors import ServerError

# A program with a child of its own; both say who they are.
PROGRAM = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(os.getpid(), child.pid, flush=True)
time.sleep(60)
"""


def pids(log, seconds=10.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if len(found := log.read_text("utf-8").split()) == 2:
            return [int(one) for one in found]
        time.sleep(0.02)
    raise AssertionError("it printed nothing")


def gone(pid, seconds=10.0):
    """Whether a process ends in time; one that only waits for its parent to notice has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_a_clean_end_takes_the_program_and_its_children_along(tmp_path):
    process = Process([sys.executable, "-c", PROGRAM], {}, tmp_path / "log")
    started = pids(tmp_path / "log")
    process.check()
    process.close()
    assert all(map(gone, started))


def test_a_starter_that_is_killed_takes_them_along_too(tmp_path):
    starter = (
        "import sys, time; from pathlib import Path\n"
        "from laconic.learners.engines.process import Process\n"
        f"Process([sys.executable, '-c', {PROGRAM!r}], {{}}, Path({str(tmp_path / 'log')!r}))\n"
        "time.sleep(60)"
    )
    (tmp_path / "log").touch()
    one = subprocess.Popen([sys.executable, "-c", starter])
    started = pids(tmp_path / "log", 30.0)
    os.kill(one.pid, signal.SIGKILL)
    one.wait()
    assert all(map(gone, started))


def test_a_program_that_ends_by_itself_is_said_with_the_end_of_its_log(tmp_path):
    words = [sys.executable, "-c", "print('no such model'); raise SystemExit(3)"]
    process = Process(words, {}, tmp_path / "log")
    until = time.monotonic() + 10
    with pytest.raises(ServerError, match=r"(?s)code 3.*no such model"):
        while time.monotonic() < until:
            process.check()
            time.sleep(0.02)
    process.close()


def test_a_program_that_is_not_there_is_refused_by_its_key(tmp_path):
    with pytest.raises(SettingError, match=r"engine\.program='no-such-server'"):
        Process(["no-such-server"], {}, tmp_path / "log")


def test_a_free_port_can_be_taken_and_grace_is_short():
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", free_port()))
    assert 0 < keeper.GRACE <= 30
