"""Train learners on a named set of environments, and report them.

    laconic benchmark learner=gspo,grpo seeds=0
    laconic benchmark benchmark=core learner=grpo name=wide learner.objective.epsilon_high=0.4
    laconic benchmark report outputs/benchmark/mini_v1 theirs.json

Settings of learner, optimizer, logger, threads and hydra are passed to `laconic train`, as is
`--config-dir`; the set fixes all others. `name` is the method's name in the table, needed where
settings of a learner are typed. Launchers work (`hydra/launcher=joblib`). The same command goes on
where it was stopped: finished runs stay, others resume.

`report` writes table.md, benchmark.html, benchmark.png, results.json (marl-eval's layout) and
benchmark.json, which others can add to their tables. It is called at the end as well.
"""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from rich.console import Console

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import lock
from laconic.experiments.command_line.arguments import Argument, read_arguments, refuse
from laconic.experiments.command_line.echo import echo
from laconic.experiments.python import compose
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.run_folder.foreign import read_status
from laconic.experiments.run_folder.runs import read_run
from laconic.extras.benchmark import report
from laconic.extras.benchmark.results import BASELINES, PLAN, collect, unplayed
from laconic.extras.benchmark.sets import NAME, Set, check_starts, load
from laconic.extras.report.facts import duration
from laconic.learners.commands import quoted
from laconic.learners.untrusted_files import read_json

ARGUMENTS = {
    "benchmark": Argument("name of a set (mini, core), or a yaml of your own", default="mini"),
    "learner": Argument("learners, separated by commas", default="gspo"),
    "name": Argument("name of a single learner in the table; default: that of the learner"),
    "seeds": Argument("seeds, separated by commas; default: those of the set"),
    "folder": Argument("folder of the benchmark; default: outputs/benchmark/<set>", Path),
}
_FIXED = ("env", "agent", "train", "evaluation", "seed", "experiment", "engine", "resume")
"""Beginnings of the keys that a set fixes."""
_PASSED = ("learner", "optimizer", "logger", "threads", "hydra")
_METHOD = ("learner", "optimizer")
_CONFIGS = ("--config-dir", "-cd")
_LOOK_SECONDS, _SAY_SECONDS = 2.0, 60.0
"""Seconds between two looks at the runs, and between two lines of progress."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark of the command line, or report one."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["report"]:
        report.main(words[1:])
        return
    own, passed, flags = split(words)
    options = read_arguments("benchmark", __doc__, own, ARGUMENTS)
    try:
        suite = load(options.benchmark)
        learners = options.learner.split(",")
        names = methods(learners, options.name, passed)
        seeds = seeds_of(options.seeds) or [*suite.seeds]
        check_starts(suite)
        composed = dict(zip(names, check_settings(suite, learners, passed, flags), strict=True))
        folder = (options.folder or Path("outputs/benchmark") / suite.title).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        lock.hold(folder)
        plan = write_plan(folder, suite, composed, [*passed, *flags], seeds)
    except (OSError, ValueError) as error:
        refuse(error)
    failure = run_baselines(folder, suite)
    try:
        # A set without a score is refused before it trains.
        collect(folder)
        by_method = dict(zip(names, learners, strict=True))
        failure |= run_all(folder, suite, by_method, passed, flags, seeds)
        report.write(folder, [], Console())
    except SettingError as error:
        refuse(error)
    echo(f"{len(plan['methods'])} methods in {folder}")
    if failure:
        echo("not all runs are finished (table.md lists them); the same command goes on with them")
        sys.exit(1)


def split(words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the words of this program, the settings of trainings, and the flags of configs."""
    own, passed, flags = [], list[str](), list[str]()
    rest = iter(words)
    for word in rest:
        key = word.partition("=")[0].lstrip("+~")
        if key in _CONFIGS:
            flags += [word] if "=" in word else [word, next(rest, "")]
        elif key not in ARGUMENTS and key.replace("/", ".").split(".")[0] in _PASSED:
            passed.append(word)
        elif "=" in word and not word.startswith("-") and key.partition(".")[0] in _FIXED:
            refuse(
                f"the set fixes {key}, so that results compare; got {word!r}. Write a set of your"
                " own (benchmark=my_set.yaml) to change it"
            )
        else:
            own.append(word)
    return own, passed, flags


def methods(learners: Sequence[str], name: str | None, passed: Sequence[str]) -> list[str]:
    """Return the names of methods.

    Raises:
        SettingError: a name is missing, or cannot be one.
    """
    changed = [word for word in passed if word.lstrip("+~").startswith(_METHOD)]
    if (changed and not name) or (name and len(learners) > 1):
        raise SettingError(
            "a method with settings of its own is run by itself: expected one learner and"
            f" name=<name>; got learner={','.join(learners)} name={name or ''} {' '.join(changed)}"
        )
    names = [name] if name else list(learners)
    if wrong := [each for each in names if not NAME.fullmatch(each)]:
        raise SettingError(f"a name must match {NAME.pattern}; got {wrong[0]!r}: type name=<name>")
    return names


def seeds_of(text: str | None) -> list[int]:
    """Return the seeds of the command line, each once.

    Raises:
        SettingError: one of them is no seed.
    """
    words = text.split(",") if text else []
    if wrong := [word for word in words if not (word.isascii() and word.isdecimal())]:
        raise SettingError(f"seeds must be whole numbers from 0, as in seeds=0,1; got {wrong[0]!r}")
    return sorted(set(map(int, words)))


def check_settings(
    suite: Set, learners: Sequence[str], passed: Sequence[str], flags: Sequence[str]
) -> list[str]:
    """Compose a training of every learner and environment.

    Returns:
        For every learner, a hash of the settings that make the method.

    Raises:
        SettingError: a learner or a setting does not exist.
    """
    words = [part for flag in flags for part in flag.split("=", 1)]
    folders = [word for word in words if word not in _CONFIGS]
    searched = [f"hydra.searchpath=[file://{Path(each).absolute()}]" for each in folders]
    more = [word for word in passed if not word.startswith("hydra")]
    hashes = []
    for learner in learners:
        parts = {}
        for name in suite.environments:
            words = [f"env={name}", f"learner={learner}", *settings(suite, name), *more, *searched]
            cfg = OmegaConf.to_container(compose(*words))
            parts[name] = [cfg[key] for key in _METHOD] if isinstance(cfg, dict) else []
        hashes.append(hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest())
    return hashes


def settings(suite: Set, name: str, *groups: str) -> list[str]:
    """Return the overrides of an environment of a set, of all groups or of some."""
    pairs = suite.environments[name].settings.items()
    return [f"{key}={quoted(x)}" for key, x in pairs if not groups or key.startswith(groups)]


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
                f"{name} had other settings of {' or '.join(_METHOD)} in {str(folder)!r}, so its"
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
            failure |= not play_baselines(place, name, settings(suite, name, "env.", "evaluation."))
    return failure


def play_baselines(place: Path, name: str, overrides: Sequence[str]) -> bool:
    """Compare the baselines of an environment in a process of its own; return whether it ended."""
    place.parent.mkdir(parents=True, exist_ok=True)
    words = [f"entry=[{','.join(BASELINES)}]", "compare.equal=false", "threads=1", "resume=true"]
    words += [f"env={name}", *overrides, f"hydra.run.dir={quoted(place)}"]
    log = place.with_name(f"{name}.log")
    with start("compare", words, log) as process:
        if wait_for(process) == 0:
            return True
    echo(f"{name}: its baselines failed, see {log}")
    return False


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
            words += [*settings(suite, name), *passed, *flags]
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
            with start("train", words, log) as process:
                code = wait_for(process, progress.say)
            if code:
                failure = True
                echo(f"{name}: not all runs ended, see {log}")
    return failure


def start(program: str, words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a program of ours; its output goes to a file."""
    # -P: files of the working folder hide no installed package.
    command = [sys.executable, "-P", "-m", "laconic", program, *words]
    with open(log, "ab") as file:
        return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)


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


if __name__ == "__main__":
    main()
