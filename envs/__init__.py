"""Text environments for teams of language agents that are charged for every word.

Every benchmark is a `pettingzoo.ParallelEnv`, and so is every world, which is played by acts:

    env = envs.make("gsm8k", information="split")
    observations, infos = env.reset(seed=0)
"""

from __future__ import annotations

if __name__ == "envs":
    raise ImportError("this folder is imported as laconic.envs: write `from laconic import envs`")

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, Literal

from laconic.envs import benchmarks, worlds
from laconic.envs.checks import check_names, choice, number, whole
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.channel import Channel
from laconic.envs.dialogue.reward import Reward
from laconic.envs.dialogue.team import TeamEnv
from laconic.envs.errors import SettingError, SplitError
from laconic.envs.families.common.splits import held_out
from laconic.envs.task import Benchmark, Explained, Score, Split, Task
from laconic.envs.worlds import WorldEnv

__all__ = [
    "Benchmark",
    "Budget",
    "Channel",
    "DialogueEnv",
    "Reward",
    "Score",
    "Task",
    "WorldEnv",
    "benchmark",
    "make",
    "names",
]

GENERATED = "generated"
_GENERATED_TASKS = 4096
_Frozen = tuple[tuple[str, Any], ...]  # Settings by name, which a cache can hold.


def names(of: Literal["all", "benchmarks", "worlds"] = "all") -> tuple[str, ...]:
    """The environments that `make` knows, in alphabetical order; all, or those of one kind."""
    choice("kind of environment", of, ("all", "benchmarks", "worlds"))
    graded = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
    played = worlds.names()
    return tuple(sorted({"all": [*graded, *played], "benchmarks": graded, "worlds": played}[of]))


def benchmark(name: str) -> Benchmark:
    """The benchmark behind an environment: `load`, `generate` and `score`.

    Raises:
        UnknownNameError: there is no benchmark of that name.
    """
    choice("environment", name, names("benchmarks"))
    found: Benchmark = import_module(f"laconic.envs.benchmarks.{name}").BENCHMARK
    return found


def make(
    name: str,
    *,
    source: str = GENERATED,
    split: Split = "train",
    tasks: int | None = None,
    holdout: float | None = None,
    holdout_seed: int = 0,
    reader: Mapping[str, Any] | None = None,
    generator: Mapping[str, Any] | None = None,
    max_rounds: int = 1000,
    **settings: Any,
) -> TeamEnv:
    """Make the environment of a benchmark (a `DialogueEnv`) or a world (a `WorldEnv`).

    Args:
        name: one of `names()`.
        source: `generated`, a file or folder with the original data, or `hub:<id>`; worlds have
            generated tasks alone.
        split: `train` or `evaluation`; the two never share a generated task.
        tasks: how many tasks to take. None takes the whole source, or 4,096 generated ones.
        holdout: share of a source that is drawn for `evaluation`, the rest being `train`; the
            source is then read whole, or what it has of the two splits. None: its own splits.
        holdout_seed: what the share is drawn by.
        reader: settings of `load`, of how the rows of a source are read.
        generator: settings of `generate`, `seed` among them (default 0).
        max_rounds: rounds after which whoever plays an episode that does not end may take that for
            an error; it becomes `metadata["max_rounds"]`. Dialogues end after `rounds`.
        **settings: settings of `DialogueEnv`, or of `WorldEnv` and of the world; `budget`, `reward`
            and `channel` may be mappings.

    Raises:
        UnknownNameError: there is no such environment or setting.
        SourceError: the source cannot be read.
        SettingError: a setting is out of its range.
    """
    choice("environment", name, names())
    whole("env.tasks", tasks, 1, optional=True)
    number("env.holdout", holdout, above=0, below=1, optional=True)
    whole("env.holdout_seed", holdout_seed)
    whole("env.max_rounds", max_rounds, 1)
    choice("env.split", split, ("train", "evaluation"))
    kind = worlds.world(name) if name in worlds.names() else None
    settings = _checked(settings, [WorldEnv, kind] if kind else [DialogueEnv])
    made: TeamEnv
    count, drawn = tasks or _GENERATED_TASKS, _frozen(generator or {})
    if kind:
        if source != GENERATED:
            raise SettingError(f"{name} is played and has no data to read; got env.source={source}")
        own = {key: settings.pop(key) for key in signature(kind).parameters if key in settings}
        world = kind(**own)
        made = WorldEnv(world, _generated(world, split, count, drawn), **settings)
    else:
        found = benchmark(name)
        if source == GENERATED:
            chosen = _generated(found, split, count, drawn)
        else:
            how = _frozen(reader or {})
            chosen = _read(name, source, split, holdout, holdout_seed, how)[:tasks]
        made = DialogueEnv(found, chosen, **settings)
    made.metadata = {**made.metadata, "max_rounds": max_rounds}
    return made


def _checked(settings: Mapping[str, Any], makers: Sequence[Callable[..., Any]]) -> dict[str, Any]:
    """The settings that these makers and `make` take, mappings of records as those records."""
    known = {one for maker in (make, *makers) for one in signature(maker).parameters}
    check_names("setting of an environment", settings, known - {"settings", "benchmark", "world"})
    found = dict(settings)
    for key, record in (("budget", Budget), ("reward", Reward), ("channel", Channel)):
        if isinstance(settings.get(key), Mapping):
            check_names(f"setting of env.{key}", settings[key], signature(record).parameters)
            found[key] = record(**settings[key])
    return found


@lru_cache(maxsize=32)
def _generated(played: Explained, split: Split, count: int, settings: _Frozen) -> tuple[Task, ...]:
    """Generated tasks, kept so that many copies of one environment cost one generation."""
    chosen = dict(settings)
    return played.generate(chosen.pop("seed", 0), count, split=split, **chosen)


def _read(
    name: str, source: str, split: Split, holdout: float | None, holdout_seed: int, how: _Frozen
) -> tuple[Task, ...]:
    """Tasks of a split of a source, its own or one that is drawn."""
    if holdout is None:
        return _loaded(name, source, split, how, _stamp(source))
    return held_out(_all_of(name, source, how), split, holdout, holdout_seed)


@lru_cache(maxsize=8)
def _loaded(name: str, source: str, split: Split, how: _Frozen, stamp: object) -> tuple[Task, ...]:
    """Tasks of a file, kept until the file changes."""
    return benchmark(name).load(source, split, **dict(how))


def _all_of(name: str, source: str, how: _Frozen) -> tuple[Task, ...]:
    """Tasks of a file, or of the split that a folder or a hub data set has."""
    try:
        return _loaded(name, source, "evaluation", how, _stamp(source))
    except SplitError:
        return _loaded(name, source, "train", how, _stamp(source))


def _stamp(source: str) -> object:
    path = Path(source)
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.exists() else []
    return tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)


def _frozen(settings: Mapping[str, Any]) -> _Frozen:
    return tuple(
        (key, tuple(value) if isinstance(value, list) else value)
        for key, value in sorted(settings.items())
    )
