"""Names of environments: those of this package, registered ones, and those of installed packages.

A package offers environments by entry points of the group `laconic.environments`:

    [project.entry-points."laconic.environments"]
    dilemma = "my_games:Dilemma"

An entry point is imported when its name is first used.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import isclass
from typing import Any, Literal, get_args

from laconic.envs import library
from laconic.envs.checks import choice
from laconic.envs.declarations import Metric, Recipe
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library import STAND_IN
from laconic.envs.task import Benchmark, PromptedTask
from laconic.envs.worlds import World

__all__ = [
    "GROUP",
    "STAND_IN",
    "Factory",
    "find",
    "metrics",
    "names",
    "recipe",
    "recipes",
    "register",
]

GROUP = "laconic.environments"
"""Group of the entry points."""

Kind = Literal["all", "library", "benchmarks", "worlds", "own"]
Factory = Benchmark | type[World[Any, Any]] | Callable[..., Any]
"""A benchmark, the class of a world, or a function of settings that makes a `ParallelEnv`."""

_registered: dict[str, Factory] = {}


def names(kind: Kind = "all") -> tuple[str, ...]:
    """Return the names that `make` knows, in alphabetical order.

    Args:
        kind: `library` are this package's, `benchmarks` and `worlds` its two parts; `own` are
            registered names and those of installed packages.

    Raises:
        SettingError: two installed packages offer the same name.
    """
    choice("kind of environment", kind, get_args(Kind))
    listed = set(_builtin()) if kind != "own" else set()
    if kind in ("benchmarks", "worlds"):
        wanted = kind == "benchmarks"
        listed = {name for name in listed if isinstance(_environment(name), Benchmark) == wanted}
    if kind in ("all", "own"):
        listed |= {*_registered, *_offered()}
    return tuple(sorted(listed))


@cache
def _builtin() -> frozenset[str]:
    """Return the names of the library's folders, without importing them."""
    return frozenset(module.name for module in pkgutil.iter_modules(library.__path__))


def _environment(name: str) -> Factory:
    """Return the benchmark or the world in a folder of the library."""
    environment: Factory = import_module(f"{library.__name__}.{name}").ENVIRONMENT
    return environment


def register(name: str, factory: Factory) -> None:
    """Make an environment known by name to `make` and to `laconic.train(env=name)`.

    Registering a newer definition of the same class or function replaces it.

    Args:
        name: letters, digits and underscores, beginning with a letter.
        factory: a benchmark, the class of a world, or a function (or class) that makes a
            `ParallelEnv` of settings. A function gets `split`, `tasks` and `tokenize` only if it
            names them.

    Raises:
        SettingError: the name is not of this form, or it belongs to another environment.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise SettingError(
            "expected letters, digits and underscores, beginning with a letter, as the name of an"
            f" environment; got {name!r}"
        )
    if not isinstance(factory, Benchmark) and not callable(factory):
        raise SettingError(
            "expected a Benchmark, a subclass of World, or a function that makes a ParallelEnv for"
            f" the environment {name!r}; got {factory!r}"
        )
    if name in names() and _origin(factory) != _origin(_registered.get(name)):
        raise SettingError(
            f"the name {name!r} belongs to another environment; choose another name"
            " (laconic.envs.names() lists those in use)"
        )
    _registered[name] = factory
    metrics.cache_clear()


def find(name: str) -> Factory:
    """Return the benchmark, world or function of a name.

    Raises:
        UnknownNameError: no environment has this name.
        SettingError: its package cannot be imported, or its entry point is not an environment.
    """
    if name in _registered:
        return _registered[name]
    if name in _builtin():
        return _environment(name)
    choice("environment", name, names())
    return _load(_offered()[name])


def recipe(name: str) -> Recipe | None:
    """Return the recipe of the policy that is shipped with an environment; None without one."""
    declared = _declaration(name)
    return None if declared is None else declared.recipe


def recipes() -> dict[str, Recipe]:
    """Return the recipes of shipped policies by environment, in alphabetical order."""
    found = {name: factory.recipe for name, factory in _declared().items()}
    return {name: each for name, each in found.items() if each is not None}


@cache
def metrics() -> Mapping[str, Metric]:
    """Return the measures that environments declare, by name.

    Of two environments that declare one name, that of this package counts, or else the first.
    """
    declared = _declared()
    ordered = sorted(declared, key=lambda name: (name not in _builtin(), name))
    return {
        name: metric
        for environment in reversed(ordered)
        for name, metric in declared[environment].metrics.items()
    }


def _declared() -> dict[str, PromptedTask | type[PromptedTask]]:
    """Return all benchmarks and classes of worlds by name."""
    found = {name: _declaration(name) for name in names()}
    return {name: each for name, each in found.items() if each is not None}


def _declaration(name: str) -> PromptedTask | type[PromptedTask] | None:
    """Return a benchmark or the class of a world; None for another name or a function.

    Nor is a package that cannot be imported an error here: who reads a report of one environment
    does not need that of another one.
    """
    try:
        factory = find(name)
    except (ImportError, SettingError, UnknownNameError):
        return None
    if isinstance(factory, PromptedTask):
        return factory
    return factory if isclass(factory) and issubclass(factory, PromptedTask) else None


def _origin(factory: Factory | None) -> tuple[str, str]:
    """Return module and name of a factory's definition."""
    definition: Any = type(factory) if isinstance(factory, Benchmark) else factory
    if not hasattr(definition, "__qualname__"):
        return "", repr(definition)
    return definition.__module__, definition.__qualname__


def _offered() -> dict[str, EntryPoint]:
    """Return the entry points of installed packages by name, without importing them."""
    offered: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        first = offered.setdefault(point.name, point)
        if point.name in _builtin() or first.value != point.value:
            other = "Laconic itself" if point.name in _builtin() else _source(first)
            raise SettingError(
                f"{_source(point)} and {other} both offer an environment named {point.name!r}"
                f" (entry points of {GROUP}); rename one of them or uninstall its package"
            )
    return offered


def _load(point: EntryPoint) -> Factory:
    try:
        factory: Factory = point.load()
    except Exception as error:
        raise SettingError(
            f"environment {point.name!r} of {_source(point)} cannot be imported from"
            f" {point.value}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(factory, Benchmark) and not callable(factory):
        raise SettingError(
            f"entry point {point.name!r} of {_source(point)} must name a Benchmark, a subclass of"
            f" World, or a function that makes a ParallelEnv; {point.value} is {factory!r}"
        )
    return factory


def _source(point: EntryPoint) -> str:
    """Return the name of the package that an entry point comes from."""
    return point.dist.name if point.dist else point.value
