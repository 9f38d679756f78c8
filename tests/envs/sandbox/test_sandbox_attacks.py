"""Programs that try everything but solving the task; `attacks/*.txt` holds them by kind."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from marks import LIBRARY, copies, marks

from laconic.envs import sandbox
from laconic.envs.sandbox import Limits, Program, Verdict, guards, syscalls
from laconic.envs.sandbox.processes import cores
from laconic.envs.sandbox.wardens import GRACE, WARDENS

FOLDER = Path(__file__).parent / "attacks"
LIMITS = Limits(seconds=1.0, cpu_seconds=1.0, memory_mb=256)
ESCAPED = "laconic-escaped"
THING = "class Thing:\n    def __init__(self, value):\n        self.value = value\n"
TESTS = (
    "assert f({0}3{1}) == 9",
    "assert f({0}12{1}) == 144",
    "def check(candidate):\n"
    "    expected = 25\n"
    "    assert candidate({0}5{1}) == expected\n"
    "    assert abs(candidate({0}7{1}) - 49) < 1e-6\n"
    "check(f)",
)


def _attacks() -> dict[str, str]:
    results = {}
    for path in sorted(FOLDER.glob("*.txt")):
        for part in path.read_text("utf-8").split("#### ")[1:]:
            name, _, code = part.partition("\n")
            results[f"{path.stem}: {name}"] = code
    return results


VICTIMS = Path(tempfile.gettempdir()).resolve() / f"laconic-victims-{os.getpid()}"
"""Stands as VICTIMS in the attacks."""
ATTACKS = {name: code.replace("VICTIMS", str(VICTIMS)) for name, code in _attacks().items()}
# What a program does to its surroundings is the same in both forms.
FORM_MATTERS = ("endings", "objects", "output", "looking")


def _program(code: str, form: str) -> Program:
    if form == "separate":
        return Program(code, tuple(test.format("", "") for test in TESTS), ("f",))
    tests = tuple(test.format("Thing(", ")") for test in TESTS)
    return Program(THING + code, tests, ("f",), setup="thing = Thing(3)")


def _timed(level: str, program: Program) -> tuple[Verdict, float]:
    with WARDENS.lend() as warden:
        start_time = time.monotonic()
        job = {
            **{name: getattr(program, name) for name in Program.__slots__},
            "limits": {name: getattr(LIMITS, name) for name in Limits.__slots__},
            "level": level,
        }
        result = json.loads(warden.ask(json.dumps(job), LIMITS.seconds + GRACE))
    seconds = time.monotonic() - start_time
    return Verdict(tuple(result.pop("results")), level=level, **result), seconds


@cache
def _verdicts(level: str, form: str) -> dict[str, tuple[Verdict, float]]:
    """Run all attacks of a form at a level, one per core at a time."""
    names = [name for name in ATTACKS if form == "separate" or name.split(":")[0] in FORM_MATTERS]
    with ThreadPoolExecutor(cores()) as threads:
        results = threads.map(lambda name: _timed(level, _program(ATTACKS[name], form)), names)
        return dict(zip(names, results, strict=True))


def _levels() -> list[str]:
    return ["process"] if sandbox.level() == "process" else ["bubblewrap", "process"]


@pytest.fixture(scope="module", autouse=True)
def temporary_folder(tmp_path_factory: pytest.TempPathFactory):
    """Wardens that put the folders of their programs where this test can look."""
    folder = tmp_path_factory.mktemp("programs")
    WARDENS.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        yield folder
    WARDENS.close()


def _skip_absent(level: str) -> None:
    if level not in _levels():
        pytest.skip("there is no bubblewrap here")


@pytest.fixture(scope="module", autouse=True)
def others(temporary_folder: Path) -> set[int]:
    """Processes that other tests have started and still need."""
    return _descendants()


@pytest.fixture(scope="module", autouse=True)
def victims(temporary_folder: Path) -> Iterator[dict[Path, tuple[object, ...]]]:
    """Files that the attacks of `marks.txt` are told of, and real ones that they are not."""
    paths = [*copies(VICTIMS), LIBRARY, Path(os.devnull)]
    yield {path: marks(path) for path in paths}
    shutil.rmtree(VICTIMS)


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("level", ["bubblewrap", "process"])
def test_no_attack_passes_a_single_test(level: str, name: str) -> None:
    _skip_absent(level)
    verdict, seconds = _verdicts(level, "separate")[name]
    assert verdict.results == (False, False, False), verdict
    assert verdict.form == "separate"
    assert not verdict.passed and verdict.outcome != "passed" and verdict.message
    # The limit, and what starting and cleaning may take on a busy machine.
    assert seconds < LIMITS.seconds + 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ATTACKS if name.split(":")[0] in FORM_MATTERS])
def test_no_attack_passes_a_single_test_in_the_shared_form(name: str) -> None:
    verdict, _ = _verdicts(sandbox.level(), "shared")[name]
    assert verdict.results == (False, False, False), verdict
    assert verdict.form == "shared"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ATTACKS if name.split(":")[0] in FORM_MATTERS])
def test_no_attack_passes_in_the_shared_form_without_bubblewrap(name: str) -> None:
    verdict, _ = _verdicts("process", "shared")[name]
    assert verdict.results == (False, False, False), verdict


@pytest.mark.parametrize("level", ["bubblewrap", "process"])
def test_attacks_leave_no_process_no_file_and_no_mark_behind(
    level: str, temporary_folder: Path, others: set[int], victims: dict[Path, tuple[object, ...]]
) -> None:
    _skip_absent(level)
    _verdicts(level, "separate")
    assert list(temporary_folder.iterdir()) == []
    assert _descendants() - others == set(WARDENS.pids)
    assert [marks(path) for path in victims] == list(victims.values())
    if level == "bubblewrap" or guards.landlock_version():
        places = ("/", "/tmp", "/var/tmp", "/dev/shm", "/usr/lib", Path.home(), "/home", "/etc")
        places = (*places, temporary_folder)
        assert [place for place in places if (Path(place) / ESCAPED).exists()] == []


@pytest.mark.parametrize("level", ["bubblewrap", "process"])
def test_the_sandbox_still_works_after_all_attacks(level: str) -> None:
    _skip_absent(level)
    _verdicts(level, "separate")
    program = _program("def f(n):\n    return n * n\n", "separate")
    assert sandbox.run_at(level, program, Limits(seconds=30)).passed


@pytest.mark.parametrize("form", ["separate", "shared"])
def test_the_same_tests_pass_a_program_that_solves_the_task(form: str) -> None:
    code = "def f(thing):\n    n = getattr(thing, 'value', thing)\n    return n * n\n"
    verdict = sandbox.run(_program(code, form), Limits(seconds=30))
    assert verdict.passed and verdict.form == form


def test_without_bubblewrap_system_calls_are_filtered_on_known_processors() -> None:
    if not syscalls.machine():
        pytest.skip("the filter does not know this processor")
    code = "import os\ndef f(n):\n    os.fork()\n    return 0\n"
    verdict = sandbox.run_at("process", _program(code, "separate"), Limits(seconds=30))
    assert verdict.message.startswith("PermissionError")


def _descendants() -> set[int]:
    """Processes below this one, whatever session they are in."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(name)] = int(fields[1])
    below, waiting = set(), [os.getpid()]
    while waiting:
        parent = waiting.pop()
        children = {pid for pid, its in parents.items() if its == parent}
        below |= children
        waiting += children
    return below
