"""A warden grades jobs one after the other, and its failures are told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest

from laconic.envs.errors import SandboxError
from laconic.envs.sandbox import Limits, Program, run_at, wardens
from laconic.envs.sandbox.processes import HelperProcess, ProcessPool
from laconic.envs.sandbox.wardens import WARDENS, grade


def job(seconds: float = 30) -> dict[str, object]:
    program = Program("def f():\n    return 1\n", ("assert f() == 1", "assert f() == 2"), ("f",))
    limits = asdict(Limits(seconds=seconds, cpu_seconds=seconds))
    return {**asdict(program), "limits": limits, "level": "process"}


def test_a_job_is_graded_and_its_warden_is_kept():
    result = grade(job())
    assert result["results"] == [True, False] and result["outcome"] == "failed"
    pids = WARDENS.pids
    assert pids and grade(job())["results"] == [True, False]
    assert WARDENS.pids == pids


def test_a_warden_has_nothing_of_the_environment(monkeypatch):
    monkeypatch.setenv("SECRET", "9")
    warden = wardens.start()
    environment = f"/proc/{warden.pid}/environ"
    try:
        with open(environment, encoding="utf-8") as file:
            assert "SECRET" not in file.read()
    except OSError:
        pass  # It has closed itself to others already.
    assert warden.alive
    warden.end()
    assert not warden.alive


def test_a_warden_that_does_not_answer_in_time_is_given_up(monkeypatch):
    pool = ProcessPool(wardens.start, 1)
    monkeypatch.setattr(wardens, "WARDENS", pool)
    monkeypatch.setattr(wardens, "GRACE", -30.0)
    with pytest.raises(SandboxError, match="no answer in time"):
        grade(job())
    assert pool.pids == ()


def test_a_warden_that_is_killed_costs_nothing_but_time():
    code = "import time\ndef f():\n    time.sleep(0.5)\n    return 1\n"
    program = Program(code, ("assert f() == 1",), ("f",))
    WARDENS.close()
    killed: list[int] = []

    def kill() -> None:
        # The warden that is lent is the only child that has children of its own.
        while not killed:
            for pid in _children(os.getpid()):
                if _children(pid):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    with ThreadPoolExecutor(1) as threads:
        threads.submit(kill)
        verdict = run_at("process", program, Limits(seconds=30, idle_seconds=30))
    assert killed and verdict.passed, verdict


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def test_no_room_for_the_folder_of_a_program_is_an_error_and_no_failed_program(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(wardens, "_ROOTS", [None])
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    monkeypatch.setattr(wardens, "WARDENS", ProcessPool(without_folders, 1))
    # Without descriptors Python finds no folder of temporary files, and must not be asked for one.
    monkeypatch.setattr(tempfile, "gettempdir", lambda: [][0])
    with pytest.raises(SandboxError, match=r"failed twice .* No space left on device"):
        grade(job())


def without_folders() -> HelperProcess:
    """Start a warden that cannot make folders, as on a disk without inodes."""
    full = (
        "import os\n"
        "def mkdir(*_):\n    raise OSError(28, 'No space left on device')\n"
        "os.mkdir = mkdir\n"
    )
    command = [sys.executable, "-I", "-S", "-c", f"{full}{wardens._START}warden.main()"]
    return HelperProcess([*command, wardens._FOLDER, ""], {})


def test_no_descriptors_left_is_an_error_and_no_failed_program():
    code = (
        "import resource\n"
        "from laconic.envs import sandbox\n"
        "from laconic.envs.errors import SandboxError\n"
        "program = sandbox.Program('def f():\\n    return 1', ('assert f() == 1',), ('f',))\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))\n"
        "held = [open('/dev/null') for _ in range(3)]\n"
        "try:\n"
        "    sandbox.run_at('process', program, sandbox.Limits(seconds=30))\n"
        "except SandboxError as error:\n"
        "    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    (line,) = ran.stdout.splitlines()
    assert "Too many open files" in line, ran.stderr


def test_an_interpreter_that_has_no_memory_to_start_in_is_an_error():
    limits = {**asdict(Limits(seconds=30)), "memory_mb": 4}
    with pytest.raises(SandboxError, match="failed twice"):
        grade({**job(), "limits": limits})
