from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest

from laconic.envs.library.math.grading import grade as pools
from laconic.envs.library.math.grading.grade import GraderError, GraderPool
from laconic.envs.sandbox.processes import HelperProcess

ENDLESS = ("x+1", "9^{9^{9^9}}")


@pytest.fixture(scope="module")
def pool() -> Iterator[GraderPool]:
    """Return a pool, with or without a running process; starting one takes a second."""
    pool = GraderPool(processes=2, seconds=0.5)
    yield pool
    pool.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    # An orphan stays on the list until somebody asks how it ended.
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def gone(pid: int, seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(pid)


def test_processes_are_started_on_need_and_kept(pool: GraderPool) -> None:
    pool.close()
    assert pool.pids == ()
    assert pool.verdict(r"2\sqrt{3}", r"\sqrt{12}") == "yes"
    first = pool.pids
    assert len(first) == 1
    assert pool.verdict("x+1", "x+2") == "no"
    assert pool.pids == first


def test_an_answer_that_takes_too_long_is_ended_and_its_process_replaced(pool: GraderPool) -> None:
    assert pool.verdict("x+1", "1+x") == "yes"
    (pid,) = pool.pids
    started = time.process_time(), time.monotonic()
    assert pool.verdict(*ENDLESS) == "time-out"
    assert time.monotonic() - started[1] < pools.WALL_SECONDS
    assert gone(pid)
    assert pool.pids == ()
    assert pool.verdict("x+1", "1+x") == "yes"


def test_an_answer_is_ended_by_wall_time_too() -> None:
    pool = GraderPool(processes=1, seconds=60, wall_seconds=0.3)
    # The first answer waits for its process to start, which does not count.
    assert pool.verdict(*ENDLESS) == "time-out"
    assert pool.pids == ()


def test_a_process_killed_from_outside_is_replaced_without_changing_the_verdict(
    pool: GraderPool,
) -> None:
    assert pool.verdict("x+1", "1+x") == "yes"
    (pid,) = pool.pids
    os.kill(pid, signal.SIGKILL)
    assert pool.verdict("x+1", "1+x") == "yes"
    assert pool.pids != (pid,)


class Grader:
    """A process that dies of every answer."""

    def __init__(self) -> None:
        """Start without any request."""
        self.requests: list[tuple[object, float]] = []

    def ask(self, request: str, seconds: float) -> str:
        """Note the request, and end."""
        self.requests.append((json.loads(request), seconds))
        raise OSError

    def end(self) -> int:
        """Return the status of a process that was killed."""
        return -signal.SIGKILL


def test_an_answer_has_two_seconds_of_processor_time_a_minute_in_all_and_two_attempts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grader = Grader()
    monkeypatch.setattr(GraderPool, "lend", lambda pool: nullcontext(grader))
    assert GraderPool(processes=1).verdict("1", "x") == "no"
    assert grader.requests == [(["1", "x", 2.0, False], 60.0)] * 2


def test_a_process_has_five_minutes_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def line(grader: HelperProcess, seconds: float) -> str:
        limits.append(seconds)
        return "failed"

    monkeypatch.setattr(HelperProcess, "line", line)
    with pytest.raises(GraderError, match="within 300 s; it wrote 'failed'"):
        GraderPool(processes=1).verdict("x+1", "1+x")
    assert limits == [300.0]


@pytest.mark.slow
def test_many_threads_share_few_processes(pool: GraderPool) -> None:
    with ThreadPoolExecutor(16) as threads:
        requests = [(f"x+{i}", f"{i + i % 2}+x") for i in range(60)]
        verdicts = list(threads.map(lambda pair: pool.verdict(*pair), requests))
    assert verdicts == ["no" if i % 2 else "yes" for i in range(60)]
    assert len(pool.pids) <= 2
    pool.close()


def test_processes_end_with_the_pool(pool: GraderPool) -> None:
    pool.verdict("x+1", "1+x")
    (pid,) = pool.pids
    pool.close()
    assert gone(pid)
    # And the pool is as good as new.
    assert pool.verdict("x+1", "1+x") == "yes"


@pytest.mark.parametrize(
    "ending", [pytest.param("pass", marks=pytest.mark.slow), "import os; os._exit(0)"]
)
def test_processes_end_with_the_program_however_it_ends(ending: str) -> None:
    program = (
        "from laconic.envs.library.math.grading.grade import POOL\n"
        "assert POOL.verdict('x+1', '1+x') == 'yes'\n"
        f"print(POOL.pids[0], flush=True)\n{ending}"
    )
    root = Path(__file__).parents[3]
    completed = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert gone(int(completed.stdout))


def test_a_program_that_cannot_grade_says_how_to_find_out_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "broken.py"
    program.write_text("raise SystemExit(1)")
    monkeypatch.setattr(pools, "_PROGRAM", program)
    with pytest.raises(GraderError, match="Run `.*broken.py .*` to see why"):
        GraderPool(processes=1).verdict("x+1", "1+x")
