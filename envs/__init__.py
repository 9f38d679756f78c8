"""Text environments for teams of language agents that pay for every token.

Every environment is a `pettingzoo.ParallelEnv`: a dialogue, in which an answer is graded, or a
world, which is played by acts.

    env = envs.make("gsm8k")
    observations, infos = env.reset(seed=0)
"""

from __future__ import annotations

if __name__ == "envs":
    raise ImportError("this folder is imported as laconic.envs: write `from laconic import envs`")

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from inspect import Parameter, isclass, signature
from os import PathLike
from pathlib import Path
from random import Random
from typing import Annotated, Any, cast

from laconic.envs.benchmarks.generation import Candidate, draw_different
from laconic.envs.benchmarks.sources import held_out
from laconic.envs.checks import TRUSTED, Bound, Count, Trust, check_names, checked
from laconic.envs.declarations import Metric, Recipe
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.channel import Channel
from laconic.envs.dialogue.faults import Fault
from laconic.envs.dialogue.messages import FreeText
from laconic.envs.dialogue.reward import Reward
from laconic.envs.dialogue.roster import agent_names
from laconic.envs.dialogue.team import TeamEnv
from laconic.envs.errors import SettingError, SplitError, UnknownNameError
from laconic.envs.registry import Factory, find, names, register
from laconic.envs.task import Benchmark, PromptedTask, Score, Split, Task
from laconic.envs.worlds import World, WorldEnv
from laconic.records import explain

__all__ = [
    "Benchmark",
    "Budget",
    "Candidate",
    "Channel",
    "DialogueEnv",
    "Fault",
    "FreeText",
    "Metric",
    "Recipe",
    "Reward",
    "Score",
    "Task",
    "World",
    "WorldEnv",
    "benchmark",
    "draw_different",
    "make",
    "makers",
    "names",
    "register",
]

explain((Budget, Candidate, Channel, Fault, Metric, Recipe, Reward, Score, Task))

GENERATED = "generated"
_GENERATED_TASKS = 4096
_KEPT_IF_FREE = ("team", "rounds", "answer", "generator")
"""Declared settings that say who plays which tasks, and not what talk costs or who knows what."""
_OPTIONAL = ("split", "tasks", "tokenize")
"""Settings that a function that makes environments need not take."""
_Frozen = tuple[tuple[str, Any], ...]
"""Settings as pairs of name and value, which a cache can hold."""


def benchmark(name: str | Benchmark) -> Benchmark:
    """Return the benchmark behind an environment, with `load`, `generate` and `score`.

    A benchmark object is returned as it is.

    Raises:
        UnknownNameError: no benchmark has this name.
    """
    factory = find(name) if isinstance(name, str) else name
    if not isinstance(factory, Benchmark):
        raise UnknownNameError("benchmark", name, names("benchmarks"))
    return factory


def declared_defaults(factory: Factory) -> dict[str, Any]:
    """Return the settings that a benchmark or a world has where none are named."""
    if isinstance(factory, Benchmark):
        seats = {"team": dict.fromkeys(factory.roles, 1), "answer": factory.roles[0]}
        return {**({} if "team" in factory.defaults else seats), **factory.defaults}
    return dict(factory.defaults) if isclass(factory) and issubclass(factory, World) else {}


def makers(factory: Factory) -> list[Callable[..., Any]]:
    """Return the classes or functions that take the further settings of `make`."""
    if isinstance(factory, Benchmark):
        return [DialogueEnv]
    return [WorldEnv, factory] if isclass(factory) and issubclass(factory, World) else [factory]


@checked("env")
def make(
    name: str | Benchmark | type[World[Any, Any]],
    *,
    source: Annotated[str | PathLike[str], Trust((GENERATED,))] = GENERATED,
    split: Split = "train",
    tasks: Count | None = None,
    holdout: Annotated[float, Bound(gt=0, lt=1)] | None = None,
    holdout_seed: int = 0,
    reader: Mapping[str, Any] | None = None,
    generator: Annotated[Mapping[str, Any] | None, TRUSTED] = None,
    max_rounds: Count = 1000,
    free: bool = False,
    **settings: Any,
) -> TeamEnv:
    """Make an environment by name, the one that `laconic train env=<name>` plays.

    Settings that are left out have the defaults that the benchmark or the world declares
    (`defaults`). A mapping for `budget`, `reward` or `generator` replaces single keys of them. A
    record (`Budget`, `Reward`), None and every other setting replaces the whole.

    Args:
        name: one of `names()`, or a benchmark or the class of a world of your own.
        source: `generated`, a file or folder with the original data, or `hub:<id>`. Worlds have
            only generated tasks.
        split: `train` or `evaluation`; they share no generated task.
        tasks: number of tasks. None takes the whole source, or 4,096 generated tasks; for the
            evaluation of a world that can list its states, all of these (`World.all_tasks`).
        holdout: fraction of a source that is drawn for `evaluation`; the rest is `train`. None
            takes the source's own splits, and is the only value for generated tasks.
        holdout_seed: seed of that draw.
        reader: settings of the benchmark's `load`; none for generated tasks.
        generator: settings of the benchmark's `generate`, `seed` among them (default 0).
        max_rounds: rounds after which a rollout reports an endless episode as an error; stored in
            `metadata["max_rounds"]`.
        free: whether talk is free and everyone informed: no price and no caps, all facts and full
            instructions for all, and everyone hears everyone. Team, rounds, answer, tasks and the
            unit of a price stay; a setting that is named beside it counts.
        **settings: settings of `DialogueEnv`, or of `WorldEnv` and of the world; `budget`,
            `reward`, `channel` and `fault` may be mappings. A registered function gets its own
            settings.

    Returns:
        A `DialogueEnv`, a `WorldEnv`, or (not of the annotated type) what a registered function
        makes.

    Raises:
        UnknownNameError: there is no such environment or setting.
        SourceError: the source cannot be read.
        SettingError: a setting is out of its range, or belongs to sources and tasks are generated.
    """
    factory = find(name) if isinstance(name, str) else name
    reading, generating = _mapping("env.reader", reader), _mapping("env.generator", generator)
    declared = declared_defaults(factory)
    if free:
        unpriced = {**declared.get("reward", {}), "price": 0.0}
        declared = {key: declared[key] for key in _KEPT_IF_FREE if key in declared}
        declared["reward"] = unpriced
    own_tasks = _mapping("env.generator", declared.pop("generator", None))
    generating = tuple(sorted({**dict(own_tasks), **dict(generating)}.items()))
    count = tasks or _GENERATED_TASKS
    environment: Any
    if isinstance(factory, Benchmark):
        settings = _checked(settings, declared, makers(factory))
        _check_source("", source, holdout, reading)
        if source == GENERATED:
            chosen = _generate(factory, split, count, generating)
        else:
            chosen = _read(factory, str(source), split, holdout, holdout_seed, reading)[:tasks]
        environment = DialogueEnv(factory, chosen, **settings)
    elif isclass(factory) and issubclass(factory, World):
        settings = _checked(settings, declared, makers(factory))
        _check_source(factory.name, source, holdout, reading)
        own = {key: settings.pop(key) for key in signature(factory).parameters if key in settings}
        world = factory(**own)
        listed: tuple[Task, ...] = ()
        if split == "evaluation" and tasks is None:
            team = settings.get("team")
            listed = _listed(world, tuple(agent_names(world.team if team is None else team)))
        chosen = listed or _generate(world, split, count, generating)
        environment = WorldEnv(world, chosen, **settings)
    else:
        typed = {"tasks": tasks, "source": source, "holdout": holdout, "reader": reader}
        typed |= {"holdout_seed": holdout_seed, "generator": generator, "free": free}
        defaults = signature(make).parameters
        settings |= {key: value for key, value in typed.items() if value != defaults[key].default}
        environment = _call(str(name), factory, {"split": split, **settings})
    metadata = getattr(environment, "metadata", None) or {}
    environment.metadata = {**metadata, "max_rounds": max_rounds}
    return cast(TeamEnv, environment)


def _call(name: str, factory: Factory, settings: dict[str, Any]) -> Any:
    """Call a registered function with settings, without those of `_OPTIONAL` it does not take."""
    if not callable(factory):
        raise UnknownNameError("environment", name, names())
    parameters = signature(factory).parameters
    if all(parameter.kind != Parameter.VAR_KEYWORD for parameter in parameters.values()):
        for key in _OPTIONAL:
            if key not in parameters:
                settings.pop(key, None)
        check_names(f"setting of environment {name}", settings, parameters)
    return factory(**settings)


def _check_source(world: str, source: object, holdout: float | None, reading: _Frozen) -> None:
    """Check the source, and refuse settings that it would ignore.

    Args:
        world: name of the world; empty for a benchmark.
        source: the setting `env.source`.
        holdout: the setting `env.holdout`.
        reading: the setting `env.reader`.
    """
    if not isinstance(source, str | PathLike):
        raise SettingError(
            f"env.source must be {GENERATED!r}, a file, a folder, or hub:<id>; got {source!r}"
        )
    if source != GENERATED:
        if world:
            raise SettingError(
                f"{world} is played and has no data to read; got env.source={source}"
            )
        return
    if holdout is not None:
        raise SettingError(
            f"env.holdout={holdout} divides the rows of a source, and env.source={GENERATED} has no"
            " rows and two disjoint splits already; leave env.holdout out, or set env.source"
        )
    if unused := [f"env.reader.{key}={value}" for key, value in reading if value is not None]:
        raise SettingError(
            f"{', '.join(unused)} says how the rows of a source are read, and"
            f" env.source={GENERATED} has no rows; leave it out, or set env.source"
        )


def _mapping(key: str, value: object) -> _Frozen:
    """Return a setting that is a mapping by names as sorted pairs, with lists as tuples."""
    if value is None:
        return ()
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise SettingError(f"{key} must be null or a mapping of settings by name; got {value!r}")
    return tuple(
        (name, tuple(setting) if isinstance(setting, list) else setting)
        for name, setting in sorted(value.items())
    )


def _checked(
    settings: Mapping[str, Any],
    declared: Mapping[str, Any],
    makers: Sequence[Callable[..., Any]],
) -> dict[str, Any]:
    """Return settings over declared ones, with mappings as records; refuse those no maker takes."""
    accepted = {name for maker in (make, *makers) for name in signature(maker).parameters}
    accepted -= {"settings", "benchmark", "world"}
    records = {"budget": Budget, "reward": Reward, "channel": Channel, "fault": Fault}
    for name in settings.keys() - accepted:
        owners = [key for key, each in records.items() if name in signature(each).parameters]
        if owners and owners[0] in accepted:
            typed = {name: settings[name]}
            raise UnknownNameError(
                "setting of an environment", name, accepted, f"{owners[0]}={typed}"
            )
    check_names("setting of an environment", settings, accepted)
    checked = {**declared, **settings}
    for key, record in records.items():
        value = checked.get(key)
        if isinstance(value, Mapping):
            check_names(f"setting of env.{key}", value, signature(record).parameters)
            checked[key] = record(**{**declared.get(key, {}), **value})
        elif value is not None and not isinstance(value, record):
            first = next(iter(signature(record).parameters))
            raise SettingError(
                f"env.{key} must be null or settings by name, as in {{{first!r}: ...}}; got"
                f" {value!r}"
            )
    return checked


def _generate(
    task_source: PromptedTask, split: Split, count: int, settings: _Frozen
) -> tuple[Task, ...]:
    """Generate tasks; equal calls share the result, because programs make many environments.

    A value that cannot be a key of the cache, such as a mapping, goes to the generator directly,
    which reports it.
    """
    try:
        hash(settings)
    except TypeError:
        return _generated.__wrapped__(task_source, split, count, settings)
    return _generated(task_source, split, count, settings)


@lru_cache(maxsize=8)
def _listed(world: World[Any, Any], agents: tuple[str, ...]) -> tuple[Task, ...]:
    """List the tasks of a world in a fixed random order, so that the first ones are like all.

    Equal calls share the result.
    """
    tasks = world.all_tasks(agents)
    return tuple(Random(0).sample(tasks, len(tasks)))


@lru_cache(maxsize=32)
def _generated(
    task_source: PromptedTask, split: Split, count: int, settings: _Frozen
) -> tuple[Task, ...]:
    keywords = dict(settings)
    return task_source.generate(keywords.pop("seed", 0), count, split=split, **keywords)


def _read(
    benchmark: Benchmark,
    source: str,
    split: Split,
    holdout: float | None,
    holdout_seed: int,
    settings: _Frozen,
) -> tuple[Task, ...]:
    """Read a split of a source, its own or a drawn one."""
    if holdout is None:
        return _load(benchmark, source, split, settings)
    try:
        tasks = _load(benchmark, source, "evaluation", settings)
    except SplitError:
        # A folder or a hub data set with only the other split.
        tasks = _load(benchmark, source, "train", settings)
    return held_out(tasks, split, holdout, holdout_seed)


def _load(benchmark: Benchmark, source: str, split: Split, settings: _Frozen) -> tuple[Task, ...]:
    """Load tasks; equal calls share the result until a file of the source changes."""
    try:
        hash(settings)
    except TypeError:
        return benchmark.load(source, split, **dict(settings))
    stamp = _stamp(Path(source).expanduser())
    return _loaded(benchmark, source, split, settings, stamp)


@lru_cache(maxsize=8)
def _loaded(
    benchmark: Benchmark, source: str, split: Split, settings: _Frozen, stamp: object
) -> tuple[Task, ...]:
    return benchmark.load(source, split, **dict(settings))


def _stamp(source: Path) -> frozenset[tuple[str, int, int]]:
    """Return path, modification time and size of the files of a source, at any depth."""
    if source.is_dir():
        return frozenset(_files_in(source))
    if not source.exists():
        return frozenset()
    status = source.stat()
    return frozenset({(str(source), status.st_mtime_ns, status.st_size)})


def _files_in(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Yield path, modification time and size of the files below a folder.

    A linked folder is entered once. The function is fast, because a source may have ten thousand
    files and is stamped for every environment.
    """
    folders, entered = [str(folder)], {os.path.realpath(folder)}
    for path in folders:
        for entry in os.scandir(path):
            if entry.is_dir():
                real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                if real not in entered:
                    entered.add(real)
                    folders.append(entry.path)
            elif entry.is_file():
                status = entry.stat()
                yield entry.path, status.st_mtime_ns, status.st_size
