"""Classes of a user's own, put in place of ours by a `_target_` on the command line.

`env._target_=my_package.Password` changes the class and leaves the settings of `env=gsm8k` around
it. Those are the old class's: what the new one does not take is left out, unless an override names
it; then it is the user's, and building the class refuses it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from pkgutil import resolve_name
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf, open_dict
from pettingzoo import AECEnv

from laconic.envs.checks import check_agents
from laconic.envs.errors import SettingError

REQUIRED = ("agent", "env", "learner", "optimizer")
"""Groups of the config that must name a class; what others lack is left out of a run."""

KEPT = ("env.max_rounds",)
"""Keys that are for whoever plays an environment, whatever its class takes."""

_TARGET = "._target_"
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def settle(cfg: DictConfig, overrides: Sequence[str]) -> list[str]:
    """Make `cfg`, in place, fit the classes that the command line names.

    Returns:
        What there is to tell the user, one line for each class that does not take every setting.

    Raises:
        SettingError: a group was deleted (`~env`), and no class took its place.
    """
    _refuse_gaps(cfg, overrides)
    typed = typed_keys(overrides)
    named = sorted(one.removesuffix(_TARGET) for one in typed if one.endswith(_TARGET))
    return [note for key in named if (note := _leave_out(cfg, key, typed))]


def typed_keys(overrides: Iterable[str]) -> set[str]:
    """Dotted keys that overrides set, with all that lead to one (`a.b` for `a.b.c=1`)."""
    found: set[str] = set()
    for one in OverridesParser.create().parse_overrides(list(overrides)):
        if not one.is_delete():
            key = one.key_or_group.replace("/", ".")
            for path in (key, *dotted(one.value(), key)):
                parts = path.split(".")
                found |= {".".join(parts[: end + 1]) for end in range(len(parts))}
    return found


def typed_values(overrides: Iterable[str]) -> dict[str, Any]:
    """Dotted key -> value of the overrides that set a single one."""
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    return {one.key_or_group: one.value() for one in parsed if not one.is_delete()}


def default_of(target: str, name: str) -> Any:
    """The default that a class or function has for a setting; None when it has none."""
    try:
        parameter = inspect.signature(resolve_name(target)).parameters[name]
    except Exception:
        return None
    return None if parameter.default is parameter.empty else parameter.default


def names_taken(target: str) -> frozenset[str] | None:
    """Settings that a class or function takes by name.

    Returns:
        None when it takes any name, or when that cannot be told; building it says what is wrong.
    """
    names, all_of_them = _named(target)
    return frozenset(names) if all_of_them else None


def named_parameters(target: str) -> tuple[str, ...]:
    """The names that a class or function gives to what it takes, in order; empty if unknown."""
    return _named(target)[0]


def check_environments(made: Sequence[Any], target: str) -> None:
    """Refuse environments that `target` made and a rollout could not play.

    Raises:
        SettingError: it is no parallel environment, its agents are not named by strings, or it is
            the same environment several times.
    """
    for one in made[:1]:
        wanted = ("possible_agents", "reset", "step")
        lacking = [name for name in wanted if not hasattr(one, name)]
        if isinstance(one, AECEnv) or lacking:
            advice = (
                "put it through pettingzoo.utils.conversions.turn_based_aec_to_parallel"
                if isinstance(one, AECEnv)
                else f"it has no {', '.join(lacking)}"
            )
            raise SettingError(
                "env._target_ must name what makes a pettingzoo.ParallelEnv;"
                f" {target} made {_article(one)}: {advice} (docs/bring_your_own.md)"
            )
        check_agents(one.possible_agents)
    if len(set(map(id, made))) < len(made):
        raise SettingError(
            f"env._target_ must make a new environment at every call, because several are played"
            f" at a time; {target} made the same one again"
        )


def check_learner(learner: Any, target: str) -> None:
    """Refuse what `target` made and a training loop could not use as a learner.

    Raises:
        SettingError: it has no `update`, or a `price` that is no schedule.
    """
    if not callable(getattr(learner, "update", None)):
        raise SettingError(
            "learner._target_ must name what makes a learner of (policies, optimizer), with"
            f" update(groups) -> metrics; {target} made {_article(learner)} without `update`"
            " (docs/bring_your_own.md)"
        )
    price = getattr(learner, "price", None)
    scheduled = all(callable(getattr(price, name, None)) for name in ("at", "observe"))
    if hasattr(learner, "price") and not scheduled:
        raise SettingError(
            f"the price of a learner must be a schedule with `at` and `observe`"
            f" (laconic.learners.prices.schedule.Price); that of {target} is {_article(price)}."
            " Give it another name if it is something else"
        )


def _refuse_gaps(cfg: DictConfig, overrides: Sequence[str]) -> None:
    for key in REQUIRED:
        given = cfg.get(key)
        deleted = any(one.partition("=")[0] == f"~{key}" for one in overrides)
        if deleted and not (isinstance(given, DictConfig) and "_target_" in given):
            raise SettingError(
                f"~{key} leaves no class; add +{key}._target_=my_package.MyClass, or choose an"
                f" option with {key}=<name> in place of ~{key}"
            )


def _leave_out(cfg: DictConfig, key: str, typed: set[str]) -> str | None:
    """Delete the settings of one node that its class does not take and nobody typed."""
    node = OmegaConf.select(cfg, key)
    taken = names_taken(str(node.get("_target_"))) if isinstance(node, DictConfig) else None
    if taken is None:
        return None
    stays = {*typed, *KEPT}
    others = [one for one in map(str, node) if f"{key}.{one}" not in stays and one[:1] != "_"]
    left, kept = ([one for one in others if (one in taken) == wanted] for wanted in (False, True))
    if not left:
        return None
    # What stays may refer to what goes.
    OmegaConf.resolve(node)
    with open_dict(node):
        for name in left:
            del node[name]
    also = f"; kept as in the yaml files: {_listed(key, kept)}" if kept else ""
    return f"note: {node._target_} does not take {_listed(key, left)}, left out{also}"


def _named(target: str) -> tuple[tuple[str, ...], bool]:
    """Names that a target takes, and whether there can be no others.

    What a constructor passes on by `**` is named by those of its bases.
    """
    names: dict[str, None] = {}
    try:
        for maker in _makers(resolve_name(target)):
            parameters = inspect.signature(maker).parameters.values()
            names |= {one.name: None for one in parameters if one.kind in _BY_NAME}
            if all(one.kind != one.VAR_KEYWORD for one in parameters):
                return tuple(names), True
    except Exception:
        # Whatever is wrong with the target, building it says so with the config key.
        return tuple(names), False
    return tuple(names), False


def _makers(found: Any) -> list[Callable[..., Any]]:
    """A function, or the classes whose constructors a call may reach, in their order."""
    bases = inspect.getmro(found) if inspect.isclass(found) else ()
    return [base for base in bases[:-1] if "__init__" in vars(base)] or [found]


def dotted(value: Any, prefix: str = "") -> Iterator[str]:
    """Dotted keys of all that is in a mapping, mappings too; none of another value."""
    if isinstance(value, dict):
        for name, one in value.items():
            key = f"{prefix}.{name}" if prefix else str(name)
            yield key
            yield from dotted(one, key)


def _listed(key: str, names: Iterable[str]) -> str:
    return ", ".join(f"{key}.{name}" for name in names)


def _article(found: Any) -> str:
    name = type(found).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
