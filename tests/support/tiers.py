"""Gives the mark `quick` to tests that run in this process alone; `make test` runs these.

What a test does decides, never a mark at the test: its folder, the fixtures that it asks for, and
whether its code, or that of its fixtures and helpers, names a module that starts processes. A
process that is started out of sight, for example by a grader, ends a quick test with an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]
APART = ("slow", "gpu", "parity", "judge", "door", "engine")
"""Marks of tests that neither tier runs."""
FOLDERS = (
    "documentation",
    "extras",
    # Programs, and what reads or composes all files of the project.
    "behavior",
    "experiments/command_line",
    "experiments/test_evaluate_resume.py",
    "experiments/test_train.py",
    # Folders that ask git where they come from.
    "experiments/run_folder",
    # Graders that run programs in the sandbox or ask helper processes.
    "envs/library/coop_humaneval/test_benchmark.py",
    "envs/library/coop_mbpp/test_benchmark.py",
    "envs/library/humaneval/test_benchmark.py",
    "envs/library/humaneval/test_benchmark_docstring.py",
    "envs/library/math/test_benchmark.py",
    "envs/library/mbpp/test_benchmark.py",
    "envs/families/coding",
    "envs/families/cooperation",
    "envs/library/math/grading",
    "envs/sandbox",
    "gpu",
    "graders",
    # Models that are loaded with helper processes, servers that sample, and process groups.
    "learners/agents",
    "learners/distributed",
    "learners/engines",
    # They play or learn for long, or measure time.
    "envs/dialogue/test_by_reply.py",
    "envs/dialogue/test_channel.py",
    "envs/dialogue/test_roster_sparse.py",
    "envs/library/checkmate/test_shipped.py",
    "envs/library/boxnet/test_grid.py",
    "envs/library/boxnet/test_rules.py",
    "envs/library/cups/test_scripts.py",
    "envs/library/hops/test_scripts.py",
    "envs/library/jury/test_scripts.py",
    "envs/worlds/test_environment.py",
    "experiments/statistics",
    "learners/algorithms/test_actor_critic.py",
    "learners/algorithms/test_group_methods.py",
)
"""Folders and files, below `tests/`, whose tests are not quick."""
KEPT = (
    "behavior/test_every_benchmark.py",
    "behavior/test_exchange_rate.py",
    "behavior/test_one_game.py",
    "behavior/test_pettingzoo.py",
)
"""Files of these folders whose tests are quick: contract, exchange rate and one game."""
GRADED = ("humaneval", "mbpp", "math", "coop_humaneval", "coop_mbpp")
"""Environments whose graders start processes: a test that names one is not quick."""
FIXTURES = ("run", "trained", "run_page", "my_package")
"""Fixtures of `runs.py` and of the root's conftest that run programs or pages."""
STARTERS = ("subprocess", "multiprocessing", "HFTeam", "TinyTeam", "make_team")
"""Names of what starts processes; a team reads its tokenizer in one first."""
EVENTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system")
"""Names of the start of a process, for `sys.addaudithook`."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file that `-m quick` would not run: importing takes a third of the time."""
    return True if config.option.markexpr == "quick" and _listed(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is quick, before pytest selects by marks."""
    for item in items:
        if isinstance(item, pytest.Function) and is_quick(item):
            item.add_marker("quick")


def is_quick(item: pytest.Function) -> bool:
    """Return whether a test runs in this process alone, as far as its code shows."""
    if _listed(item.path) or any(item.get_closest_marker(name) for name in APART):
        return False
    words = item.name.partition("[")[2].rstrip("]").split("-")
    # One architecture shows what others show.
    others = getattr(item, "callspec", None) and item.callspec.indices.get("architecture", 0) > 0
    if others or any(name in words for name in GRADED):
        return False
    fixtures = {name: every[-1] for name, every in item._fixtureinfo.name2fixturedefs.items()}
    # A folder may call something else `run`.
    if any(name in fixtures and fixtures[name].baseid in ("", "tests") for name in FIXTURES):
        return False
    return not any(map(starts, [item.function, *(each.func for each in fixtures.values())]))


def _listed(path: Path) -> bool:
    place = path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""
    listed = any(f"{place}/".startswith(f"{folder}/") for folder in FOLDERS)
    return listed and not any(name.startswith(place) for name in KEPT)


@cache
def starts(function: Callable[..., Any]) -> bool:
    """Return whether a function names a starter, or a helper of the tests that does."""
    seen: set[CodeType] = set()

    def look(code: CodeType, known: dict[str, Any]) -> bool:
        if code in seen or not code.co_filename.startswith(str(TESTS)):
            return False
        seen.add(code)
        inner = (part for part in code.co_consts if isinstance(part, CodeType))
        helpers = (known.get(name) for name in code.co_names)
        return (
            any(name in STARTERS for name in code.co_names)
            or any(part in GRADED for part in code.co_consts if isinstance(part, str))
            or any(look(part, known) for part in inner)
            or any(look(each.__code__, each.__globals__) for each in helpers if _plain(each))
        )

    function = getattr(function, "__func__", function)
    return _plain(function) and look(function.__code__, function.__globals__)


def _plain(value: Any) -> bool:
    return isinstance(value, FunctionType)


# The guard

_quick = False
"""Whether a quick test is being set up or runs."""
_started: list[str] = []
"""Processes that it tried to start."""


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if _quick and event in EVENTS:
        _started.append(f"{event} {arguments[1:2]}")
        raise RuntimeError("a quick test starts a process; see tests/support/tiers.py")


sys.addaudithook(_refuse)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Watch while a quick test runs."""
    global _quick
    _quick = item.get_closest_marker("quick") is not None
    _started.clear()
    try:
        return (yield)
    finally:
        _quick = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fail a quick test that tried to start a process, also where its code took no notice."""
    result = yield
    assert not _started, f"a quick test starts a process; see tests/support/tiers.py: {_started}"
    return result
