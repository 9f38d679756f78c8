"""Restrictions that a process puts on itself, tried in separate processes."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from laconic.envs.sandbox import guards

LIMITS = {"cpu_seconds": 1.2, "file_kb": 4, "processes": 9}


def in_child(act: Callable[[], bool]) -> bool:
    """Return whether a function returns True in a fork of this process."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if act() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_limits_are_set_and_never_raised():
    def limited() -> bool:
        guards.limit(LIMITS, 4096)
        guards.limit({**LIMITS, "cpu_seconds": 100}, 4096)
        # Processor time in whole seconds, rounded up.
        return (
            resource.getrlimit(resource.RLIMIT_CPU) == (2, 2)
            and resource.getrlimit(resource.RLIMIT_FSIZE) == (4096, 4096)
            and resource.getrlimit(resource.RLIMIT_AS)[0] == 4096 * 2**20
            and resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
        )

    assert in_child(limited)


def test_threads_of_the_user_are_counted():
    assert guards.tasks_of_user() >= (1 if sys.platform == "linux" else 0)


@pytest.mark.skipif(not guards.landlock_version(), reason="this kernel has no Landlock")
def test_only_listed_files_are_left(tmp_path: Path):
    (tmp_path / "own").mkdir()
    (tmp_path / "shown").write_text("shown")
    (tmp_path / "hidden").write_text("hidden")

    def refused(act: Callable[[], object]) -> bool:
        try:
            act()
        except PermissionError:
            return True
        return False

    def restricted() -> bool:
        guards.allow_no_new_privileges()
        guards.restrict_files([str(tmp_path / "shown")], [str(tmp_path / "own")])
        (tmp_path / "own" / "new").write_text("new")
        return (
            (tmp_path / "shown").read_text() == "shown"
            and refused(lambda: (tmp_path / "shown").write_text(""))
            and refused((tmp_path / "hidden").read_text)
            and refused(lambda: (tmp_path / "new").write_text(""))
        )

    assert in_child(restricted)
    assert (tmp_path / "own" / "new").read_text() == "new"


@pytest.mark.skipif(sys.platform != "linux", reason="these are Linux's")
def test_orphans_are_adopted_and_memory_is_closed_to_others():
    def adopts() -> bool:
        guards.adopt_orphans()
        guards.die_with_parent()
        guards.close_to_others()
        middle = os.fork()
        if middle == 0:
            if os.fork() == 0:
                os._exit(5)
            os._exit(0)
        ends = {os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(2)}
        return ends == {0, 5}

    assert in_child(adopts)
