"""Describe a mistake of the user in one line: Hydra's message and the closest name that exists.

This module runs only after a failure, so a correct command line costs nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from pkgutil import resolve_name

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import (
    HydraException,
    InstantiationException,
    MissingConfigException,
    OverrideParseException,
)
from omegaconf import OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from laconic.envs.errors import install
from laconic.experiments.command_line.gone import ELSEWHERE, GONE, present_name
from laconic.experiments.command_line.schema import known_settings
from laconic.experiments.command_line.tree import compose, declared, dotted, plain, record_of

OWN = ("laconic.envs.errors", "laconic.learners.errors")
"""Modules whose errors are already messages for the user."""
PLUGINS = {
    "hydra/launcher/joblib": "joblib",
    "hydra/launcher/submitit_local": "submitit",
    "hydra/launcher/submitit_slurm": "submitit",
    "hydra/sweeper/optuna": "optuna",
}
"""Option that a plugin of Hydra brings -> the extra of this package that installs it."""

_HINT = " (LACONIC_TRACEBACK=1 shows where)"
_FULL_KEY = re.compile(r"full_key: (\S+)")
_NO_KEY = re.compile(r"Could not (?:override '([^']+)'\.\nTo|delete from config\. '([^']+)' does)")
_SEVERAL = re.compile(
    r"(Ambiguous value for argument|Sweep parameters) '(.*)'(?:\s+1\. | requires --multirun)", re.S
)
_CALLED = re.compile(r"Error in call to target '([^']+)'")
_KEYWORD = re.compile(r"unexpected keyword argument '([^']+)'")
_LOADED = re.compile(r"Error (?:loading|locating target) '([^']+)'")
_NO_MEMBER = re.compile(r"Are you sure that '([^']+)' is .* '([^']+)'\?")
_OF_HYDRA = re.compile(r"\n\s*(?:full_key:|Config search path:|See https://).*", re.DOTALL)
"""End of a message that only a developer of Hydra needs."""


def describe(
    error: BaseException, known_keys: Callable[[], Iterable[str]] = frozenset
) -> str | None:
    """Return one line for a mistake of the user; None for a fault of the program.

    Args:
        error: the exception.
        known_keys: returns the existing dotted keys, for an override of an unknown key.
    """
    chain = list(_causes(error))
    key = next((match[1] for cause in chain if (match := _FULL_KEY.search(str(cause)))), "")
    where = f" (config key {key!r})" if key else ""
    for cause in chain:
        if type(cause).__module__ in OWN:
            return f"{cause}{where}"
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        return unknown_option(error.missing_cfg_file, error.options)
    if isinstance(error, OverrideParseException) and error.override:
        advice = quoting(error.override) or _one_line(error)
        return f"cannot read the override {error.override!r}: {advice}"
    if match := _NO_KEY.search(str(error)):
        return unknown_key(match[1] or match[2], known_keys(), can_be_added=match[1] is not None)
    if match := _SEVERAL.search(str(error)):
        name, _, values = match[2].partition("=")
        as_list = f", or write {name}=[{values}] for a list" if match[1][0] == "A" else ""
        return f"expected one value; got {match[2]!r}: add -m to sweep over the values{as_list}"
    for cause in chain:
        if isinstance(cause, MissingMandatoryValue) and key:
            return f"{key} has no value; pass {key}=<value>"
        if isinstance(cause, OmegaConfBaseException) and not isinstance(error, HydraException):
            return f"{_one_line(cause)}{where}{_HINT}"
        if isinstance(cause, OSError) and not isinstance(cause, HydraException):
            return f"{_without_number(cause)}{where}{_HINT}"
    if isinstance(error, InstantiationException):
        return _describe_instantiation(error, key) or f"{_one_line(error)}{where}{_HINT}"
    # Hydra raises a plain ValueError for flags that exclude each other.
    flags = isinstance(error, ValueError) and str(error).startswith("Only one of --")
    return _one_line(error) if flags or isinstance(error, HydraException) else None


def describe_folder(error: BaseException) -> str | None:
    """Return one line for a run folder that Hydra could not make; None for another error."""
    refusal = next((cause for cause in _causes(error) if isinstance(cause, OSError)), None)
    if refusal is None or isinstance(refusal, HydraException):
        return None
    return (
        f"the run folder cannot be used: {_without_number(refusal)}; pass another one with"
        " hydra.run.dir=<folder> (hydra.sweep.dir for a sweep)"
    )


def compose_keys(config_name: str, config_path: str, arguments: Sequence[str]) -> set[str]:
    """Return the dotted keys of a program's configuration with the chosen options.

    Args:
        config_name: name of the primary config.
        config_path: folder of the configs.
        arguments: command line, whose flags may name another config or folder.
    """
    try:
        cfg = compose(config_name, config_path, arguments)
    except HydraException:
        return set()
    shown = dotted(OmegaConf.to_container(cfg, resolve=False))
    return {*shown, *declared(plain(cfg), record_of(config_name))}


def unknown_key(key: str, valid: Iterable[str], can_be_added: bool = False) -> str:
    """Return the message for an unknown key, with the closest key or the keys beside it."""
    if key in GONE:
        return f"unknown config key {key!r}: {GONE[key]}"
    parent = key.rpartition(".")[0]
    keys = sorted(name for name in valid if name.startswith("hydra.") == key.startswith("hydra."))
    for start, advice in ELSEWHERE.items():
        if f"{key}.".startswith(f"{start}.") and start not in keys:
            return f"unknown config key {key!r}: {advice}"
    if match := closest(key, keys):
        hint = f" Did you mean {match!r}?"
    else:
        parts = [name.rpartition(".") for name in keys]
        neighbors = [last for before, _, last in parts if before == parent and last[0] != "_"]
        place = f" in {parent}" if parent else ""
        hint = f" Known{place}: {', '.join(neighbors)}." if neighbors else ""
    added = f" (a new key is added with '+{key}=...')" if can_be_added else ""
    return f"unknown config key {key!r}.{hint}{added}"


def unknown_option(path: str, valid: Iterable[str]) -> str:
    """Return the message for an option `<group>/<name>` that does not exist."""
    group, _, name = path.rpartition("/")
    names = sorted(valid)
    if path in GONE:
        return f"unknown option {name!r} of group {group!r}: {GONE[path]}"
    plugins = [path.rpartition("/")[2] for path in PLUGINS if path.startswith(f"{group}/")]
    close = get_close_matches(name, [*names, *plugins], n=1)
    hint = f" Did you mean {close[0]!r}?" if close and close[0] != name else ""
    if close and close[0] not in names:
        hint += f" It needs {install(PLUGINS[f'{group}/{close[0]}'])}."
    return f"unknown option {name!r} of group {group!r}.{hint} Known: {', '.join(names)}"


def closest(name: str, valid: Iterable[str]) -> str | None:
    """Return the valid key that is closest to `name`; None if no key is close.

    The last parts of both have to be close, because many keys share their other parts. Keys of the
    same group whose last part is equal come first: `env.price` means `env.reward.price`.
    """
    ends = {key: key.rpartition(".")[2] for key in sorted(valid)}
    last, root = name.rpartition(".")[2], name.partition(".")[0]
    inner = [key for key in ends if ends[key] == last and key.startswith(f"{root}.")]
    if inner and root != name:
        return min(inner, key=lambda key: key.count("."))
    # A wrong letter of a short name weighs more.
    cutoff = 0.65 if len(last) < 5 else 0.72
    close = get_close_matches(last, set(ends.values()), n=max(len(ends), 1), cutoff=cutoff)
    if best := get_close_matches(name, [key for key in ends if ends[key] in close], 1, 0.66):
        return best[0]
    return next((key for key in ends if close and ends[key] == close[0]), None)


def existing_key(name: str, valid: Collection[str]) -> str:
    """Return the closest key for a name typed in another style; the name itself if none is close.

    `--steps` means `train.steps`. A name of a group or of a key stays.
    """
    if any(key == name or key.startswith(f"{name}.") for key in valid):
        return name
    return closest(name, [key for key in valid if not key.startswith("hydra.")]) or name


def quoting(override: str) -> str:
    """Return how to quote an override whose value Hydra's grammar refuses; empty if unknown."""
    match = re.fullmatch(r"([+~]*[\w./@-]+)=(.+)", override, re.DOTALL)
    if match is None or match[2][0] in "\"'[{":
        return ""
    text = match[2].replace('"', '\\"')
    quoted = f'{match[1]}="{text}"'
    try:
        value = OverridesParser.create().parse_override(quoted).value()
    except HydraException:
        return ""
    return f"quote it: {shlex.quote(quoted)}" if value == match[2] else ""


def _describe_instantiation(error: InstantiationException, key: str) -> str | None:
    """Describe an unknown argument of a class, or a `_target_` that does not exist."""
    text, chain = str(error), list(_causes(error))
    called, keyword = _CALLED.search(text), _KEYWORD.search(text)
    if called and keyword:
        prefix = f"{key}." if key else ""
        parameters = [f"{prefix}{name}" for name in known_settings(called[1])]
        return unknown_key(f"{prefix}{keyword[1]}", parameters)
    missing = next((cause for cause in chain if isinstance(cause, ImportError)), None)
    if missing is None:
        return None
    hint, member = "", _NO_MEMBER.search(str(missing))
    loaded = _LOADED.search(str(missing))
    if loaded and (moved := present_name(loaded[1])) != loaded[1]:
        hint = f" It is {moved!r} now."
    elif member and (close := get_close_matches(member[1], dir(resolve_name(member[2])), n=1)):
        hint = f" Did you mean {f'{member[2]}.{close[0]}'!r}?"
    return f"{' '.join(str(missing).split())}{hint}" + (f" (config key {key!r})" if key else "")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the chain of its causes."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _one_line(error: BaseException) -> str:
    """Return a message without the parts that only a developer of Hydra needs."""
    return " ".join(_OF_HYDRA.sub("", str(error)).split())


def _without_number(error: OSError) -> str:
    """Return `No such file or directory: 'name'` without the number in front."""
    return re.sub(r"^\[Errno \d+\] ", "", str(error))
