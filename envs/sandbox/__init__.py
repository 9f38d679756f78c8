"""Run untrusted programs against tests that they cannot reach.

There are two interpreters. A fresh one runs the program (`python -I`, empty environment, empty
temporary folder; memory, processor time, threads, file size and output limited). The other one runs
the tests. Only calls and plain values cross, encoded without pickle and checked on the tests' side.
A program passes only by right answers, not by anything it prints, patches, inspects or exits with.

Forms. `separate`: plain values only. `shared`: the tests need objects of the program's own classes,
or pass functions to it. The tests decide the form, never the program's results. In the shared form,
such objects appear in the tests as handles. Their attributes, length, truth, and `==` with another
handle are computed by the program. A test that checks only those can be fooled by a suitable class.
Comparisons with plain values are computed by the tests in both forms.

Levels. `bubblewrap`: no network, no files except the interpreter's libraries, no other process
visible. `process`: the same interpreter under the kernel's own restrictions (seccomp, Landlock and,
where it allows them, namespaces); `conditions` lists those in force. Neither defends against faults
of the kernel.

Memory. A program learns nothing worth remembering, because tests continue after a failed assertion
(`quiet`). It also has few means to remember: it reads copies in memory (`namespaces`).

Limitations: changes that a program makes to its arguments are not seen. Programs and tests have the
standard library only.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from laconic.envs.checks import number
from laconic.envs.errors import SandboxError, SettingError
from laconic.envs.sandbox import guards, jail, syscalls, wardens
from laconic.envs.sandbox.wardens import grade

Form = Literal["separate", "shared"]
Level = Literal["bubblewrap", "process"]
Outcome = Literal["passed", "failed", "error", "timeout", "memory"]


@dataclass(frozen=True, slots=True)
class Program:
    """Untrusted code with its trusted tests."""

    code: str
    """Untrusted source under test."""
    tests: tuple[str, ...]
    """Pieces of Python source; each passes when it runs without an exception. They run in order
    and share their names."""
    entry_points: tuple[str, ...]
    """Names that the tests call, looked up after the program has run."""
    setup: str = ""
    """Source that runs after the code and before the tests, and may use the code's classes."""
    helpers: str = ""
    """Further source that the tests use; names of `entry_points` in it are replaced."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the resources of a program."""

    seconds: float = 5.0
    """Wall time of the program and its tests together, unless `times` says otherwise."""
    cpu_seconds: float = 5.0
    """Processor time of the program and its tests together, likewise."""
    times: float = 1.0
    """Multiple of both times for all tests together. Each test may use both times once; the first
    includes the start of the program. A test that exceeds them is the last."""
    idle_seconds: float = 1.0
    """Maximum wall time without progress, in seconds."""
    memory_mb: float = 512
    """Address space in MiB."""
    processes: int = 16
    """Threads; the kernel does not count them for root. Processes are refused altogether."""
    file_kb: float = 1024
    """KiB that the program may write to its folder."""
    output_kb: float = 1024
    """KiB of one result. Printed text is discarded."""

    def __post_init__(self) -> None:
        """Compare every limit with its range."""
        for name, value in asdict(self).items():
            number(f"limit {name}", value, above=0, below=1e9)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of a program."""

    results: tuple[bool, ...]
    """One per piece of tests."""
    outcome: Outcome
    """`passed`, or the reason for the first failure: an assertion (`failed`), another exception or
    the end of the program (`error`), `timeout` or `memory`."""
    form: Form
    """`separate` if only plain values crossed, `shared` if objects and functions did too."""
    level: Level
    """Level of isolation."""
    message: str = field(default="")
    """The first failure in one line of printable ASCII, at most 200 characters."""
    cpu_seconds: float = 0.0
    """Processor time of the program and its tests, as last measured while they ran."""

    @property
    def passed(self) -> bool:
        """True if there are tests and all of them passed."""
        return bool(self.results) and all(self.results)


_LEVEL: list[Level] = []
_FINDING = threading.Lock()
_TRIAL = Program("def seven():\n    return 7\n", ("assert seven() == 7",), ("seven",))


def run(program: Program, limits: Limits | None = None) -> Verdict:
    """Run a program against its tests.

    Waits for a free core, then takes little more than `limits.times` times `limits.seconds`. Many
    threads may call it at once.

    Args:
        program: code and tests.
        limits: limits on its resources; None for the defaults.

    Returns:
        The verdict; no action of the program raises.

    Raises:
        SettingError: no program can be run on this machine.
        SandboxError: this program could not be run, twice.
    """
    return run_at(level(), program, limits or Limits())


def run_at(at: Level, program: Program, limits: Limits) -> Verdict:
    """Run a program at a given level; `run` takes the best available.

    Args:
        at: `bubblewrap` or `process`.
        program: code and tests.
        limits: limits on its resources.

    Raises:
        SandboxError: the program could not be run, twice.
    """
    job = {**asdict(program), "limits": asdict(limits), "level": at}
    verdict = grade(job)
    return Verdict(tuple(verdict.pop("results")), level=at, **verdict)


def level() -> Level:
    """Return the best level on this machine, found by running a program at it, once.

    Warns where bubblewrap is installed and does not work.

    Raises:
        SettingError: no program can be run here.
    """
    with _FINDING:
        if not _LEVEL:
            reason = _why_not("bubblewrap")
            if not reason:
                _LEVEL.append("bubblewrap")
                return "bubblewrap"
            other = _why_not("process")
            if other:
                raise SettingError(
                    "no program can be run in a sandbox on this machine; at the level 'bubblewrap'"
                    f" because of {reason!r}, at the level 'process' because of {other!r}"
                )
            if jail.find_bubblewrap():
                warnings.warn(
                    f"bubblewrap is installed but runs no program here ({reason}); programs run at"
                    " the sandbox level 'process' (SECURITY.md says what it keeps out)",
                    stacklevel=2,
                )
            _LEVEL.append("process")
        return _LEVEL[0]


def _why_not(at: Level) -> str:
    """Return why no program can be run at a level; empty where one can."""
    if at == "bubblewrap" and not jail.find_bubblewrap():
        return "bubblewrap is not installed"
    try:
        verdict = run_at(at, _TRIAL, Limits(seconds=30, cpu_seconds=30, idle_seconds=30))
    except SandboxError as error:
        return str(error)
    return "" if verdict.passed else verdict.message


def conditions() -> Mapping[str, str]:
    """Return the level in force and its gaps, in the form of `Benchmark.conditions`."""
    in_memory = wardens.root() is not None
    traces = "" if in_memory else ", page cache shared"
    if level() == "bubblewrap":
        return {"sandbox": f"bubblewrap, no network{traces}"}
    filtered = syscalls.machine() != ""
    network = "no network" if filtered else "network open"
    files = "own files only" if in_memory or guards.landlock_version() else "files readable"
    return {"sandbox": f"process, {network}, {files}{traces}"}
