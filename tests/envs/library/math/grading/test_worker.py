"""The program of a grader process, spoken to over its pipes."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from laconic.envs.library.math.grading import worker

PROGRAM = Path(worker.__file__)


def started():
    """Return a grader process that is ready, which takes a second of processor time."""
    process = subprocess.Popen(
        [sys.executable, "-P", str(PROGRAM), str(PROGRAM.parents[5])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


process = pytest.fixture(started)
asked = pytest.fixture(started, scope="module")


def ask(process: subprocess.Popen[str], *request: object) -> str:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    return process.stdout.readline()


def test_it_answers_until_its_input_ends_and_keeps_libraries_silent(process) -> None:
    assert ask(process, r"2\sqrt{3}", r"\sqrt{12}", 20) == "yes\n"
    assert ask(process, "x+1", "x+2", 20) == "no\n"
    # Equal in value, but not in form, which counts only where it is asked for.
    assert ask(process, "x^2-1", "(x-1)(x+1)", 20) == "yes\n"
    assert ask(process, "x^2-1", "(x-1)(x+1)", 20, False) == "yes\n"
    assert ask(process, "x^2-1", "(x-1)(x+1)", 20, True) == "no\n"
    # What a library cannot read makes no noise between the verdicts.
    assert ask(process, "x+1", r"\frac{", 20) == "no\n"
    rest = process.communicate()
    assert rest == ("", "") and process.returncode == 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of others are Linux's")
def test_memory_is_limited_and_torch_is_not_imported(asked) -> None:
    assert ask(asked, "x+1", "1+x", 20) == "yes\n"
    assert resource.prlimit(asked.pid, resource.RLIMIT_AS) == (worker.MAX_BYTES,) * 2
    mapped = Path(f"/proc/{asked.pid}/maps").read_text()
    assert "torch" not in mapped


def test_processor_time_is_limited_by_the_system(asked) -> None:
    # The last to ask it.
    assert ask(asked, "x+1", "9^{9^{9^9}}", 0.3) == ""
    asked.wait(20)
    assert asked.returncode == -signal.SIGPROF
