"""Run a set: write down its methods, play its baselines, and train what is not finished."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from laconic.envs.dialogue.messages import printable
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.echo import echo
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.run_folder.foreign import read_status
from laconic.experiments.run_folder.runs import read_run
from laconic.extras.benchmark.results import BASELINES, PLAN, unplayed
from laconic.extras.benchmark.sets import METHOD, Set
from laconic.extras.report.facts import duration
from laconic.learners.commands import quoted
from laconic.learners.untrusted_files import read_json

_ERROR = re.compile(r"(?:error|failed): (?:job .*? failed: )?(.+)")
"""Line of a program about an error, in a sweep behind the settings of the job."""
_LOOK_SECONDS, _SAY_SECONDS = 2.0, 60.0
"""Seconds between two looks at the runs, and between two lines of progress."""


def write_plan(
    folder: Path,
    suite: Set,
    composed: Mapping[str, str],
    words: Sequence[str],
    seeds: Sequence[int],
) -> dict[str, Any]:
    """Add methods, with the hashes of their settings, and seeds to `plan.json`.

    Raises:
        SettingError: the folder is of another set, or a method had other settings there.
    """
    path = folder / PLAN
    plan = read_json(path) if path.exists() else {"set": suite.as_json(), "methods": {}}
    if plan["set"] != json.loads(json.dumps(suite.as_json())):
        raise SettingError(f"{str(folder)!r} is of another set; choose another folder=<folder>")
    overrides = [word for word in words if not word.startswith(("hydra", "threads", "logger"))]
    for name, digest in composed.items():
        new = {"settings": overrides, "composed": digest, "seeds": []}
        method = plan["methods"].setdefault(name, new)
        # Not the words: a yaml can change under them, and finished runs are not made anew.
        if method.get("composed") != digest:
            raise SettingError(
                f"{name} had other settings of {' or '.join(METHOD)} in {str(folder)!r}, so its"
                f" runs there are another method (typed then: {' '.join(method['settings'])}; now:"
                f" {' '.join(overrides)}): type another name=<name>"
            )
        method["seeds"] = sorted({*method["seeds"], *seeds})
    write_atomically(path, json.dumps(plan, indent=2) + "\n")
    return dict(plan)


def run_baselines(folder: Path, suite: Set) -> bool:
    """Play what needs no training once per environment; return whether something failed."""
    failure = False
    for name in suite.environments:
        place = folder / "baselines" / name
        if unplayed(place):
            echo(f"{name}: scripts, a single agent and the start")
            failure |= not play_baselines(place, name, suite.overrides(name, "env.", "evaluation."))
    return failure


def play_baselines(place: Path, name: str, overrides: Sequence[str]) -> bool:
    """Compare the baselines of an environment in a process of its own; return whether it ended."""
    place.parent.mkdir(parents=True, exist_ok=True)
    words = [f"entry=[{','.join(BASELINES)}]", "compare.equal=false", "threads=1", "resume=true"]
    words += [f"env={name}", *overrides, f"hydra.run.dir={quoted(place)}"]
    log = place.with_name(f"{name}.log")
    if reason := run("compare", words, log):
        echo(f"{name}: its baselines failed: {reason}; see {log}")
    return not reason


def run_all(
    folder: Path,
    suite: Set,
    learners: dict[str, str],
    passed: Sequence[str],
    flags: Sequence[str],
    seeds: Sequence[int],
) -> bool:
    """Train every method with every seed in every environment; return whether one failed.

    An environment is one sweep of `laconic train`, so a launcher runs its jobs side by side. After
    an interruption, methods that miss the same seeds share a sweep.
    """
    progress, failure = Watch(folder, suite, list(learners), seeds), False
    for name in suite.environments:
        missing: dict[tuple[int, ...], list[str]] = {}
        for method in learners:
            missing_seeds = tuple(s for s in seeds if not progress.is_finished(name, method, s))
            if missing_seeds:
                missing.setdefault(missing_seeds, []).append(method)
        for missing_seeds, group in missing.items():
            words = ["-m", f"env={name}", f"learner={','.join(learners[each] for each in group)}"]
            words += [*suite.overrides(name), *passed, *flags]
            words += [] if any(word.startswith("threads=") for word in passed) else ["threads=1"]
            same_names = all(learners[each] == each for each in group)
            method = "${hydra:runtime.choices.learner}" if same_names else group[0]
            words += [
                f"train.evaluate_every={suite.steps(name)[1]}",
                f"seed={','.join(map(str, missing_seeds))}",
                *("resume=true", "report=false"),
                f"hydra.sweep.dir={quoted(folder / 'runs' / name)}",
                f"hydra.sweep.subdir='{method}/seed-${{seed}}'",
            ]
            log = folder / "runs" / f"{name}.log"
            log.parent.mkdir(exist_ok=True)
            reason = run("train", words, log, progress.say)
            # Not the exit code: a sweep also fails for what failed in its folder earlier.
            runs = [(name, method, seed) for method in group for seed in missing_seeds]
            if not all(progress.is_finished(*each) for each in runs):
                failure = True
                echo(f"{name}: not all runs ended: {reason}; see {log}")
    return failure


def run(
    program: str, words: Sequence[str], log: Path, look: Callable[[], None] | None = None
) -> str:
    """Run a program of ours, whose output goes to the end of a file.

    Returns:
        Why it failed, its first error or its last line; nothing if it did not.
    """
    # -P: files of the working folder hide no installed package.
    command = [sys.executable, "-P", "-m", "laconic", program, *words]
    with open(log, "a+b") as file:
        began = file.tell()
        with subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT) as process:
            code = wait_for(process, look)
        file.seek(began)
        lines = file.read().decode("utf-8", "replace").split("\n")
    errors = (match[1] for line in lines if (match := _ERROR.match(line)))
    last = next((line for line in reversed(lines) if line.strip()), f"exit code {code}")
    return printable(next(errors, last)) if code else ""


def wait_for(process: subprocess.Popen[bytes], look: Callable[[], None] | None = None) -> int:
    """Wait for a process, looking at the runs, and end it if this one has to end.

    Returns:
        Its exit code.
    """

    # A terminal sends Ctrl-C to both; a queue tells only this process to end. Then the training
    # saves a checkpoint.
    def end(*_: object) -> None:
        process.terminate()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        while process.poll() is None:
            if look:
                look()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_SECONDS)
    except KeyboardInterrupt:
        process.wait()
        echo("interrupted; the same command goes on")
        sys.exit(130)
    finally:
        signal.signal(signal.SIGTERM, before)
    if look:
        look()
    return process.returncode


class Watch:
    """Watches the runs of a set and says how many are finished, and how long the others take."""

    def __init__(
        self, folder: Path, suite: Set, names: Sequence[str], seeds: Sequence[int]
    ) -> None:
        """Look at what is finished now."""
        self._set, self._root = suite, folder / "runs"
        self._all = [
            (e, name, seed) for e in suite.environments for name in names for seed in seeds
        ]
        self._began, self._before = time.monotonic(), sum(map(self._minutes, self._all))
        self._said = 0.0, -1

    def is_finished(self, environment: str, method: str, seed: int) -> bool:
        """Return whether a run is finished and need not be made again."""
        return read_run(self._place(environment, method, seed)).state == "finished"

    def say(self) -> None:
        """Print a line if a run has ended since the last one, or a minute has passed."""
        states = [self._status(*run).get("state") == "finished" for run in self._all]
        finished, now = sum(states), time.monotonic()
        if finished == self._said[1] and now - self._said[0] < _SAY_SECONDS:
            return
        self._said = now, finished
        all_minutes = sum(self._set.environments[run[0]].minutes for run in self._all)
        minutes = sum(map(self._minutes, self._all))
        # The pace of this call, in seconds of the clock per minute of the set. The set's own pace
        # weighs as half a minute of work, because the first updates say little.
        spent, work = now - self._began, minutes - self._before
        pace = (spent + 30.0) / (work + 0.5)
        time_left = duration((all_minutes - minutes) * pace)
        words = f", about {time_left} left" if time_left else ""
        echo(f"{finished} of {len(states)} runs finished, {duration(spent) or '0 s'}{words}")

    def _minutes(self, run: tuple[str, str, int]) -> float:
        """Return the part of a run's minutes that is done."""
        part, status = self._set.environments[run[0]], self._status(*run)
        step = status.get("step")
        share = min(max(step, 0) / part.steps, 1.0) if isinstance(step, int) else 0.0
        return part.minutes * share

    def _place(self, environment: str, method: str, seed: int) -> Path:
        return self._root / environment / method / f"seed-{seed}"

    def _status(self, *run: Any) -> dict[str, Any]:
        try:
            return read_status(self._place(*run))
        except (OSError, ValueError):
            return {}
