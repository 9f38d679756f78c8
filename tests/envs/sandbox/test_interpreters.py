"""Both interpreters are started, and whatever descends from them is ended."""

from __future__ import annotations

import os
import time

from laconic.envs.sandbox.interpreters import PATIENCE, Children


def test_every_descendant_is_killed_and_collected():
    # In a process of its own, for all children of the caller are ended.
    keeper = os.fork()
    if keeper == 0:
        children = Children()
        leader = os.fork()
        if leader == 0:
            os.setsid()
            os.fork()
            time.sleep(600)
            os._exit(0)
        children.add(leader)
        other = os.fork()
        if other == 0:
            time.sleep(600)
            os._exit(0)
        time.sleep(0.2)
        children.end()
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            os._exit(0)
        os._exit(1)
    start_time = time.monotonic()
    assert os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1]) == 0
    assert time.monotonic() - start_time < PATIENCE + 5


def test_without_children_there_is_nothing_to_end():
    keeper = os.fork()
    if keeper == 0:
        Children().end()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1]) == 0
