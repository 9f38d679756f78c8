"""Helpers are kept, lent to one caller, replaced when dead and ended when late."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from laconic.envs.sandbox.processes import HelperProcess, ProcessPool, cores

ECHO = "import sys\nfor line in sys.stdin:\n    print(line.strip() * 2, flush=True)\n"
DEAF = "import time\ntime.sleep(600)\n"
ONCE = "input(); raise SystemExit(3)"


def helper(program: str) -> HelperProcess:
    return HelperProcess([sys.executable, "-I", "-S", "-c", program], {})


@pytest.fixture
def pool():
    pool = ProcessPool(lambda: helper(ECHO), 2)
    yield pool
    pool.close()


def ask(pool: ProcessPool, text: str) -> str:
    with pool.lend() as process:
        return process.ask(text, 30)


def test_a_helper_answers_lines_and_tells_how_it_ended():
    process = helper(ECHO)
    assert process.ask("ab", 30) == "abab" and process.alive
    process.end()
    assert not process.alive
    ended = helper(ONCE)
    with pytest.raises(OSError, match="the process ended"):
        ended.ask("ab", 30)
    assert ended.end() == 3


def test_no_answer_in_time_is_told_and_the_helper_can_be_killed():
    late = helper(DEAF)
    start_time = time.monotonic()
    with pytest.raises(TimeoutError):
        late.ask("ab", 0.2)
    assert late.end() == -signal.SIGKILL
    assert time.monotonic() - start_time < 10


def test_helpers_start_on_need_are_kept_and_shared(pool):
    assert pool.pids == ()
    assert ask(pool, "a") == "aa"
    first = pool.pids
    assert len(first) == 1 and ask(pool, "b") == "bb" and pool.pids == first
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda n: ask(pool, str(n)), range(40))) == [
            str(n) * 2 for n in range(40)
        ]
    assert len(pool.pids) <= 2


def test_a_dead_helper_is_replaced_and_one_that_failed_its_borrower_is_not_lent_again(pool):
    ask(pool, "a")
    (pid,) = pool.pids
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert ask(pool, "a") == "aa" and pool.pids != (pid,)
    with pytest.raises(KeyError), pool.lend():
        raise KeyError
    assert pool.pids == ()
    assert ask(pool, "a") == "aa"


def test_a_forked_copy_begins_without_helpers_and_leaves_those_there_are(pool):
    ask(pool, "a")
    before = pool.pids
    child = os.fork()
    if child == 0:
        right = pool.pids == () and ask(pool, "b") == "bb" and pool.pids != before
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ask(pool, "c") == "cc" and pool.pids == before


def test_there_is_a_core():
    assert cores() >= 1
