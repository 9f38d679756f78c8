"""A server program ends with the run that started it, even if that run is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.engines import process
from laconic.learners.engines.process import ServerProcess, free_port
from laconic.learners.errors import ServerError

# A program with a child process; it prints both process ids.
PROGRAM = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(os.getpid(), child.pid, flush=True)
time.sleep(60)
"""


def pids(log, seconds=10.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if len(words := log.read_text("utf-8").split()) == 2:
            return [int(word) for word in words]
        time.sleep(0.02)
    raise AssertionError("the program printed nothing")


def gone(pid, seconds=10.0):
    """Return whether a process ends in time; a zombie has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_closing_ends_the_program_and_its_children(tmp_path):
    server = ServerProcess([sys.executable, "-c", PROGRAM], {}, tmp_path / "log")
    started = pids(tmp_path / "log")
    server.check()
    server.close()
    assert all(map(gone, started))


def test_killing_the_run_ends_them_too(tmp_path):
    run = (
        "import sys, time; from pathlib import Path\n"
        "from laconic.learners.engines.process import ServerProcess\n"
        f"ServerProcess([sys.executable, '-c', {PROGRAM!r}], {{}}, "
        f"Path({str(tmp_path / 'log')!r}))\n"
        "time.sleep(60)"
    )
    (tmp_path / "log").touch()
    child = subprocess.Popen([sys.executable, "-c", run])
    started = pids(tmp_path / "log", 30.0)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert all(map(gone, started))


def test_a_file_of_the_current_folder_does_not_replace_a_module_of_the_supervisor(
    tmp_path, monkeypatch
):
    (tmp_path / "signal.py").write_text("raise SystemExit('wrong module')", "utf-8")
    monkeypatch.chdir(tmp_path)
    server = ServerProcess([sys.executable, "-P", "-c", PROGRAM], {}, tmp_path / "log")
    assert len(pids(tmp_path / "log")) == 2
    server.close()


def test_a_program_that_ends_is_reported_with_the_end_of_its_log(tmp_path):
    words = [sys.executable, "-c", "print('no such model'); raise SystemExit(3)"]
    server = ServerProcess(words, {}, tmp_path / "log")
    deadline = time.monotonic() + 10
    with pytest.raises(ServerError, match=r"(?s)code 3.*no such model"):
        while time.monotonic() < deadline:
            server.check()
            time.sleep(0.02)
    server.close()


def test_a_missing_program_is_refused_by_its_key(tmp_path):
    with pytest.raises(SettingError, match=r"engine\.program='no-such-server'"):
        ServerProcess(["no-such-server"], {}, tmp_path / "log")


def test_a_free_port_can_be_used_and_the_grace_is_short():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", free_port()))
    assert 0 < process.GRACE_SECONDS <= 30
