"""Results of a benchmark: read from run folders, written as JSON, and read from strangers' JSON.

`results.json` has the layout of marl-eval (Gorsane et al., 2209.10485), and nothing else:

    set -> environment -> method -> seed_0 -> step_0 -> {step_count, reward, accuracy, ...}
                                           -> absolute_metrics -> the same of the last evaluation

Each metric is a list with one value per task, or with one for an evaluation that is exact. Steps
are numbered by evaluation, because marl-eval takes steps of equal names in all environments.
`benchmark.json` holds the same results with the set, its tasks, scales and costs: the file to
share.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import strict, write_atomically
from laconic.experiments.run_folder.records import Evaluation, Run
from laconic.experiments.run_folder.runs import read_run
from laconic.extras.analysis.frontier import Frontier
from laconic.extras.benchmark.score import Scale, scale
from laconic.extras.benchmark.sets import NAME, Set, read
from laconic.extras.benchmark.statistics import Array
from laconic.learners.metrics import Outcomes
from laconic.learners.untrusted_files import parse_json, read_text

FILE, PLAN, LAYOUT = "benchmark.json", "plan.json", "results.json"
FORMAT = 1
SCRIPTS = ("silent", "random", "telegraph", "oracle")
BASELINES = (*SCRIPTS, "single", "team")
"""Entries of `laconic compare` that are played once per environment; `team` is the start."""
FIGURES = {"reward": (-1e9, 1e9), "accuracy": (0.0, 1.0), "tokens_spent": (0.0, 1e9)}
"""Metrics of an evaluation -> smallest and largest value of a task."""
_MAX_BYTES = 64 * 2**20
_MAX_RUNS, _MAX_METHODS = 10_000, 100
_SEED = re.compile(r"seed_\d{1,9}")
_ABSOLUTE = "absolute_metrics"
_SAME = "run both with one set and one version of laconic-marl"


@dataclass(frozen=True, slots=True)
class Played:
    """What an environment of a set is, as far as figures depend on it."""

    tasks: str
    """Name of the evaluation tasks and their seeds."""
    game: str
    """Hash of all settings of the environment."""
    scale: Scale
    """Rewards that score 0 and 1."""
    count: int
    """Number of values of a metric: tasks, or 1 where an evaluation is exact."""
    baselines: Mapping[str, Mapping[str, float]]
    """Name of a script, of `single` or `team` -> its `FIGURES`."""


Steps = Sequence[Mapping[str, Sequence[float]]]
"""Evaluations of a run in their order: metric -> values by task."""


@dataclass(frozen=True, slots=True)
class Results:
    """Results of one folder, or of a stranger's file."""

    set: Set
    """Set of the benchmark."""
    played: Mapping[str, Played]
    """Environment -> what was played there."""
    runs: Mapping[str, Mapping[str, Mapping[int, Steps]]]
    """Method -> environment -> seed -> evaluations."""
    unfinished: Sequence[tuple[str, str, int, str]] = ()
    """Method, environment, seed and state of each run that is not finished."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Method -> seconds of its finished runs, evaluations included."""
    joined: Sequence[str] = ()
    """Files of others with the names of their methods, in one line each."""

    def scores(self, method: str, evaluation: int = -1) -> list[Array] | None:
        """Return normalized scores by environment, (seeds, tasks) each.

        Only seeds that are finished in every environment count; None without any.
        """
        by_environment = self.runs[method]
        if set(by_environment) != set(self.set.environments):
            return None
        seeds = sorted(set.intersection(*(set(runs) for runs in by_environment.values())))
        return (
            [self.values(method, name, seeds, evaluation) for name in self.played]
            if seeds
            else None
        )

    def values(self, method: str, name: str, seeds: Sequence[int], evaluation: int = -1) -> Array:
        """Return normalized rewards of some seeds in an environment, (seeds, tasks)."""
        runs, zero = self.runs[method][name], self.played[name].scale
        rewards = np.array([runs[seed][evaluation]["reward"] for seed in seeds], float)
        scores: Array = (rewards - zero.silent) / (zero.best - zero.silent)
        return scores


def unplayed(folder: Path, entries: Sequence[str] = BASELINES) -> list[str]:
    """Return the entries of a comparison that neither ended nor are unfit for the environment.

    `comparison.json` is written after every entry, so that it exists says nothing of the others.
    """
    try:
        rows = _json(folder / "comparison.json")["entries"]
        ended = {row["name"] for row in rows if row["state"] != "failed"}
    except (SettingError, LookupError, TypeError):
        ended = set()
    return [entry for entry in entries if entry not in ended]


def collect(folder: Path) -> Results:
    """Read the folder that `laconic benchmark` wrote.

    Raises:
        SettingError: the folder holds no benchmark, or its baselines are not finished.
    """
    if not (folder / PLAN).is_file():
        raise SettingError(f"{str(folder)!r} holds no benchmark: it has no {PLAN}")
    plan = _json(folder / PLAN)
    suite = read(plan.get("set"), str(folder / PLAN))
    places = {name: folder / "baselines" / name for name in suite.environments}
    try:
        methods: dict[str, list[int]] = {
            name: sorted(map(int, each["seeds"])) for name, each in plan["methods"].items()
        }
        played = {name: _played(place, suite, name) for name, place in places.items()}
    except SettingError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        # The folder of someone else may hold anything.
        raise SettingError(
            f"{str(folder)!r} is not what laconic benchmark writes: {type(error).__name__} {error}"
        ) from error
    if wrong := [name for name in methods if not NAME.fullmatch(name)]:
        raise SettingError(
            f"{str(folder)!r}: expected names of methods like {NAME.pattern}; got {wrong}"
        )
    runs: dict[str, dict[str, dict[int, Steps]]] = {}
    unfinished = [
        (f"({entry})", name, 0, read_run(place / entry).error or "not played")
        for name, place in places.items()
        for entry in unplayed(place)
    ]
    seconds = dict.fromkeys(methods, 0.0)
    for method, seeds in methods.items():
        for name in suite.environments:
            for seed in seeds:
                run = read_run(folder / "runs" / name / method / f"seed-{seed}")
                try:
                    steps = _steps(run, suite, name, played[name])
                except SettingError as error:
                    unfinished.append((method, name, seed, str(error)))
                    continue
                runs.setdefault(method, {}).setdefault(name, {})[seed] = steps
                seconds[method] += sum(row.get("time/step", 0.0) for row in run.metrics.values())
    return Results(suite, played, runs, unfinished, seconds)


def _played(folder: Path, suite: Set, name: str) -> Played:
    """Read the baselines of an environment and make its scale."""
    # Without one of them, another script would be the best, and the scale another one.
    if missing := unplayed(folder, SCRIPTS):
        raise SettingError(
            f"env={name}: the scale needs scripts that did not end in {str(folder)!r}:"
            f" {', '.join(missing)}. See {str(folder.with_name(f'{name}.log'))!r}; the command that"
            " began the benchmark plays them again"
        )
    evaluations = last_evaluations(folder)
    figures = {
        entry: {key: each.intervals[key].mean for key in FIGURES}
        for entry, each in evaluations.items()
    }
    evaluation, whole = evaluations["silent"], read_run(folder).settings
    further = reached(evaluation, whole["env"]["reward"], suite.environments[name].frontier)
    values = _values(evaluation.outcomes["reward"])
    zero = scale_of(name, evaluations, further)
    return Played(evaluation.tasks, _game(whole["env"]), zero, len(values), figures)


def reached(
    evaluation: Evaluation, reward: Mapping[str, Any], frontier: str | None
) -> dict[str, float]:
    """Return the best reward on a frontier that a team can reach, by its name, if there is one."""
    if frontier is None:
        return {}
    corners = tuple((x, y) for x, y in evaluation.floors[frontier])
    best = Frontier(corners).best_return(reward["price"] / reward["normalizer"])
    return {f"{frontier} frontier": best}


def last_evaluations(folder: Path) -> dict[str, Evaluation]:
    """Return the evaluation of each baseline that was played in a comparison."""
    evaluations = {entry: read_run(folder / entry).evaluations for entry in BASELINES}
    missing = unplayed(folder)
    return {entry: each[-1] for entry, each in evaluations.items() if each and entry not in missing}


def scale_of(
    name: str, evaluations: Mapping[str, Evaluation], further: Mapping[str, float]
) -> Scale:
    """Return the scale of an environment from what its baselines earned, and what else is known.

    Raises:
        SettingError: the best known team earns no more than silence.
    """
    rewards = {entry: each.intervals["reward"].mean for entry, each in evaluations.items()}
    if distance := evaluations["silent"].intervals.get("distance_to_best"):
        further = {**further, "closed form": rewards["silent"] + distance.mean}
    return scale(name, {each: rewards[each] for each in SCRIPTS if each in rewards}, further)


def _steps(run: Run, suite: Set, name: str, played: Played) -> Steps:
    """Return the evaluations of a finished run on the tasks of the set.

    Raises:
        SettingError: says what the run is short of.
    """
    due_steps = suite.steps(name)
    if run.state != "finished":
        raise SettingError(f"{run.state}: {run.error}" if run.error else run.state)
    evaluations = {each.step: each for each in run.evaluations}
    if missing := [step for step in due_steps if step not in evaluations]:
        raise SettingError(f"no evaluation after updates {missing}")
    due = [evaluations[step] for step in due_steps]
    if _game(run.settings.get("env")) != played.game or any(e.tasks != played.tasks for e in due):
        raise SettingError("it played another game or other tasks than the baselines")
    try:
        steps = [{key: _values(each.outcomes[key]) for key in FIGURES} for each in due]
    except KeyError as error:
        raise SettingError(f"an evaluation without {error}") from error
    if any(len(values) != played.count for step in steps for values in step.values()):
        raise SettingError("evaluations of other numbers of tasks")
    return steps


def _values(outcomes: Outcomes) -> list[float]:
    """Return a value per task; the exact mean of weighted tasks."""
    if all(count == 1 for count in outcomes.counts):
        return list(outcomes.sums)
    return [sum(outcomes.sums) / sum(outcomes.counts)]


def _game(env: Any) -> str:
    """Hash the settings of an environment."""
    return hashlib.sha256(json.dumps(env, sort_keys=True, default=str).encode()).hexdigest()[:16]


def layout(results: Results) -> dict[str, Any]:
    """Return the results in the layout of marl-eval, with the normalized score as a metric."""
    environments: dict[str, Any] = {}
    for name, played in results.played.items():
        counts = results.set.steps(name)
        environments[name] = {
            method: {
                f"seed_{seed}": {
                    (f"step_{number}" if number < len(steps) else _ABSOLUTE): {
                        "step_count": counts[min(number, len(steps) - 1)],
                        "normalized": [played.scale.normalized(float(np.mean(step["reward"])))],
                        **{key: list(values) for key, values in step.items()},
                    }
                    for number, step in enumerate([*steps, steps[-1]])
                }
                for seed, steps in sorted(runs[name].items())
            }
            for method, runs in results.runs.items()
            if name in runs
        }
    return {results.set.title: environments}


def write(results: Results, folder: Path) -> None:
    """Write `results.json` and `benchmark.json`."""
    table = layout(results)
    data = {
        "format": FORMAT,
        "set": results.set.as_json(),
        "played": {name: asdict(played) for name, played in results.played.items()},
        "seconds": dict(results.seconds),
        "results": table,
    }
    write_atomically(folder / LAYOUT, json.dumps(strict(table)) + "\n")
    write_atomically(folder / FILE, json.dumps(strict(data)) + "\n")


def load(path: Path) -> Results:
    """Read a `benchmark.json`, of anybody: nothing in it but numbers and checked names is used.

    Raises:
        SettingError: the file is damaged.
    """
    return _with_runs(*_header(path))


def _header(path: Path) -> tuple[Results, dict[str, Any]]:
    """Return what a file says of set and games, and all that it holds."""
    data = _json(path / FILE if path.is_dir() else path)
    suite = read(_object(data.get("set"), "set"), str(path))
    records = _object(data.get("played"), "played")
    try:
        played = {name: _record(records[name]) for name in suite.environments}
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise SettingError(
            f"what it says of its games is damaged: {type(error).__name__} {str(error)[:60]}"
        ) from error
    return Results(suite, played, {}), data


def _with_runs(header: Results, data: Mapping[str, Any]) -> Results:
    """Add the runs of a file, checked against its set."""
    title = header.set.title
    runs = _methods(header, _object(_object(data.get("results"), "results").get(title), title))
    spent = _object(data.get("seconds", {}), "seconds")
    seconds = {name: spent[name] for name in runs if _is_number(spent.get(name), 0.0, 1e9)}
    return replace(header, runs=runs, seconds=seconds)


def _record(record: Any) -> Played:
    """Return what a file says of an environment; fail on anything but numbers and names."""
    zero, baselines = record["scale"], record["baselines"]
    names = [zero["best_of"].replace(" ", "_"), *baselines]
    numbers = [
        zero["silent"],
        zero["best"],
        *(e[key] for e in baselines.values() for key in FIGURES),
    ]
    if not all(map(NAME.fullmatch, names)) or not all(_is_number(n, -1e9, 1e9) for n in numbers):
        raise ValueError("names or numbers")
    scale = Scale(float(zero["silent"]), float(zero["best"]), zero["best_of"])
    if not scale.best > scale.silent:
        raise ValueError("the best team earns no more than silence")
    figures = {name: {key: float(each[key]) for key in FIGURES} for name, each in baselines.items()}
    count = int(record["count"])
    if count < 1:
        raise ValueError("no tasks")
    return Played(str(record["tasks"]), str(record["game"]), scale, count, figures)


def join(own: Results, path: Path) -> Results:
    """Add the results of a stranger's file.

    Raises:
        SettingError: the file is damaged, or of another set, budget, game or tasks.
    """
    theirs, data = _header(path)
    if theirs.set.title != own.set.title:
        raise SettingError(f"it is of {theirs.set.title!r}, not of {own.set.title}: {_SAME}")
    if (budget := theirs.set.budget()) != own.set.budget():
        raise SettingError(f"its budget differs: {_difference(own.set.budget(), budget)}: {_SAME}")
    for name, played in own.played.items():
        other = theirs.played[name]
        for key, word in {"tasks": "tasks", "count": "tasks", "game": "settings"}.items():
            if getattr(other, key) != getattr(played, key):
                raise SettingError(f"its {word} of env={name} are others: {_SAME}")
        # Names of tasks do not tell their contents; what scripts say of each does.
        for script in {"silent", "telegraph", "oracle"} & played.baselines.keys():
            for key, value in played.baselines[script].items():
                if abs(other.baselines.get(script, {}).get(key, math.inf) - value) > 1e-6:
                    raise SettingError(
                        f"{key} of its {script} script differs in env={name}: {_SAME}"
                    )
    theirs = _with_runs(theirs, data)
    runs, seconds, names = dict(own.runs), dict(own.seconds), []
    for method, by_environment in theirs.runs.items():
        name, number = method, 2
        while name in runs:
            name, number = f"{method}.{number}", number + 1
        runs[name] = by_environment
        names.append(method if name == method else f"{method} as {name}")
        if method in theirs.seconds:
            seconds[name] = theirs.seconds[method]
    joined = [*own.joined, f"from {path}: {', '.join(names)}"]
    return replace(own, runs=runs, seconds=seconds, joined=joined)


def _methods(own: Results, data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Check every value of a stranger's results."""
    methods: dict[str, dict[str, Any]] = {}
    runs_read = 0
    for name in own.played:
        for method, seeds in _object(data.get(name, {}), name).items():
            if not NAME.fullmatch(method):
                raise SettingError(f"expected names of methods like {NAME.pattern}")
            for seed, steps in _object(seeds, method).items():
                runs_read += 1
                if not _SEED.fullmatch(seed) or runs_read > _MAX_RUNS:
                    raise SettingError(f"expected runs named seed_0, at most {_MAX_RUNS:,}")
                read_steps = _run(own, name, _object(steps, seed))
                by_environment = methods.setdefault(method, {})
                by_environment.setdefault(name, {})[int(seed.removeprefix("seed_"))] = read_steps
    if not 0 < len(methods) <= _MAX_METHODS:
        raise SettingError(f"expected runs of 1 to {_MAX_METHODS} methods; got {len(methods):,}")
    return methods


def _run(own: Results, name: str, steps: dict[str, Any]) -> Steps:
    counts = own.set.steps(name)
    names = [f"step_{number}" for number in range(len(counts))]
    if set(steps) != {*names, _ABSOLUTE}:
        raise SettingError(f"a run of {name} needs the steps {', '.join(names)}, {_ABSOLUTE}")
    read_steps = []
    for step, count in zip(names, counts, strict=True):
        metrics = _object(steps[step], step)
        if metrics.get("step_count") != count:
            raise SettingError(f"{step} of {name} must be after {count} updates")
        values = {key: metrics.get(key) for key in FIGURES}
        for key, (low, high) in FIGURES.items():
            column = values[key]
            whole = isinstance(column, list) and len(column) == own.played[name].count
            if not whole or not all(_is_number(value, low, high) for value in column or ()):
                raise SettingError(
                    f"{key} of {name} must be {own.played[name].count} numbers from {low:g} to"
                    f" {high:g}"
                )
        read_steps.append({key: list(map(float, values[key] or ())) for key in FIGURES})
    return read_steps


def _is_number(value: Any, low: float, high: float) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    # The comparison comes first: an integer may be too large for a float.
    return plain and low <= value <= high and math.isfinite(value)


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SettingError(f"{name[:60]!r} must be an object of JSON; got {type(value).__name__}")
    return value


def _json(path: Path) -> dict[str, Any]:
    try:
        return _object(parse_json(read_text(path, _MAX_BYTES)), path.name)
    except OSError as error:
        raise SettingError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    except ValueError as error:
        if isinstance(error, SettingError):
            raise
        raise SettingError(f"{str(path)!r} is no JSON: {str(error)[:100]}") from error


def _difference(own: Any, other: Any, at: str = "") -> str:
    """Name the first value in which two budgets differ."""
    if isinstance(own, dict) and isinstance(other, dict):
        for key in [*own, *(key for key in other if key not in own)]:
            if own.get(key) != other.get(key):
                return _difference(own.get(key), other.get(key), f"{at} {key}")
    return f"{at.strip()} is {str(other)[:60]!r}, not {str(own)[:60]!r}"
