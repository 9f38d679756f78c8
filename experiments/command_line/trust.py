"""Decide which settings of a run folder are safe to use, and which the user has to type.

A run folder may come from a stranger. Safe settings name no code, no server and no file except
models, which are loaded as data. They are choices of this package, classes that these choices name,
and values that their fields declare to be safe (`schema.Setting.is_safe`). The user has to type all
others, and every setting that no field declares.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from laconic.envs import names
from laconic.envs.checks import check
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.programs import config_folders
from laconic.experiments.command_line.schema import Named, Setting
from laconic.experiments.command_line.tree import (
    CONF,
    MAKE,
    compose,
    plain,
    record_of,
    setting_at,
    settings_of_node,
)

GROUPS = ("agent", "env")
"""Config groups whose classes a folder may name."""

CALLING = {
    "agent": ("api",),
    "engine": ("vllm",),
    "logger": ("mlflow", "trackio", "wandb"),
}
"""Config group -> choices of this package that call a server and have to be typed."""

MAX_OVERRIDE = 10_000
"""Maximum number of characters of an accepted override; parsing a long one takes minutes."""

_OWN = "laconic."
"""Beginning of the names of this project's packages."""
_ENTRY = re.compile(r"entries\.[\w+-]+\.(?=(?:agent|env)\.)")
"""Prefix of the agent and the environment of an entry, which are judged as those of the program."""
_TEAM = "laconic.learners.agents.hf.HFTeam"
"""Class by which the settings of an agent without a class are judged."""
_KEY = re.compile(r"[\w+-]+(\.[\w+-]+)*")
_MEMBER = re.compile(r"members\.\w+")
"""Place of a member in a team; its name is the user's."""
_PLACE = re.compile(r"agent@(?:agent\.)?(\w+(?:\.\w+)*)")
_TARGET = re.compile(r"_target_:\s*(laconic\.\S+)")


@functools.cache
def known_targets() -> frozenset[str]:
    """Return the classes of this package that its own choices of `GROUPS` name."""
    files = (
        path
        for folder in _own_folders()
        for group in GROUPS
        for path in (folder / group).rglob("*.yaml")
    )
    return frozenset(name for path in files for name in _TARGET.findall(path.read_text("utf-8")))


@functools.cache
def agent_places() -> frozenset[str]:
    """Return where this package's options of `agent` put a further agent, or say that one fits.

    Their files say so, and not this module, because such options belong to extras as well.
    """
    files = (path for folder in _own_folders() for path in (folder / "agent").glob("*.yaml"))
    return frozenset(name for path in files for name in _PLACE.findall(path.read_text("utf-8")))


def is_taken(key: str, value: Any, cfg: Mapping[str, Any], record: str | None = None) -> bool:
    """Return whether a setting may come from a run folder.

    Args:
        key: full dotted key (`env.reward.price`).
        value: a plain value; all values inside a mapping are checked.
        cfg: plain configuration, composed of options that the user typed or that may be taken.
        record: record of the program (`Program.record`).
    """
    key = _ENTRY.sub("", key)
    if not _KEY.fullmatch(key) or any(part.startswith("_") for part in key.split(".")):
        return False
    if key == "env.name":
        return _is_own_name(value)
    if isinstance(value, dict) and value:
        return all(is_taken(f"{key}.{name}", each, cfg, record) for name, each in value.items())
    setting = setting_at(cfg, key, record)
    return setting is not None and setting.is_safe(value)


def is_override_taken(text: str, cfg: Mapping[str, Any], record: str | None = None) -> bool:
    """Return whether a recorded override may be used again without being typed.

    It has to parse as an override, so flags are refused. A chosen option has to be one of this
    package, and every key that it sets has to be safe.

    Args:
        text: the override.
        cfg: see `is_taken`.
        record: see `is_taken`.
    """
    override = _parsed(text)
    if override is None:
        return False
    value = None if override.is_delete() else override.value()
    if _is_group(override):
        return _is_choice_taken(override, value)
    return override.package is None and is_taken(override.key_or_group, value, cfg, record)


def to_type(overrides: Sequence[str], program: str, typed: Sequence[str] = ()) -> list[str]:
    """Return the overrides of a run folder that the user has to type.

    Args:
        overrides: overrides that the folder records.
        program: name of the config of the program that wrote it.
        typed: overrides that the user typed, among them options of other packages.
    """
    parsed = {text: _parsed(text) for text in overrides}
    chosen = [
        text
        for text, override in parsed.items()
        if override is not None and _is_group(override) and is_override_taken(text, {})
    ]
    try:
        further = [text for text in typed if text not in chosen]
        cfg = plain(compose(program, str(CONF), [*chosen, *further], values=True))
    except HydraException:
        # Running the program reports what is wrong with them.
        cfg = {}
    record = record_of(program)
    return [text for text in overrides if not is_override_taken(text, cfg, record)]


def check_settings(
    settings: Any, group: str, folder: str, allowed: Sequence[str] = (), say: str = ""
) -> None:
    """Refuse unsafe settings of a run folder.

    Args:
        settings: node of the folder's configuration for `group`, without typed settings.
        group: `agent` or `env`.
        folder: name of the folder, for the message.
        allowed: beginnings of classes that the user trusts, with all their settings.
        say: advice on how to allow a class, with `{}` for its name.

    Raises:
        SettingError: a class is unknown, or does not take a setting; a setting is not safe; or a
            value contains a reference (`${...}`), or is out of its bounds.
        UnknownNameError: a word is none of those that the type lists.
    """
    if group == "env" and isinstance(settings, dict):
        settings = {"_target_": MAKE, **settings}
    team = Setting(Named.of(_TEAM))
    try:
        _check(settings, team, group, f"{folder}: ", allowed, say, None)
    except RecursionError as error:
        raise SettingError(f"{folder}: {group} is nested too deeply to be settings") from error


def _own_folders() -> tuple[Path, ...]:
    """Return the config folders of this project; options of other packages have to be typed."""
    return CONF, *config_folders(_OWN)


def _check(
    value: Any,
    setting: Setting | None,
    key: str,
    where: str,
    allowed: Sequence[str],
    say: str,
    target: str | None,
) -> None:
    """Check a value and all nodes in it; `target` is the class that takes it as a setting."""
    if isinstance(value, str) and "${" in value:
        raise SettingError(
            f"{where}{key} holds the reference {value!r}; a run folder has values only"
        )
    if isinstance(value, dict) and value:
        own = any(str(name)[:1] == "_" for name in value)
        if own:
            target = _checked_target(value, f"{where}{key}", allowed, say)
        settings = settings_of_node(value) if own and target in known_targets() else {}
        for name, item in value.items():
            # The name of an environment has been checked with its class.
            if str(name)[:1] != "_" and (target, name) != (MAKE, "name"):
                inner = settings.get(name) if own else setting and setting.inner(str(name))
                _check(item, inner, f"{key}.{name}", where, allowed, say, target)
    elif isinstance(value, list) and value:
        for item in value:
            _check(item, setting and setting.inner(), key, where, allowed, say, target)
    # `startswith` of an empty tuple is False.
    elif target is None or not target.startswith(tuple(allowed)):
        setting = setting or Setting()
        if not setting.is_safe(value):
            raise SettingError(
                f"{where}{key}={value!r} is not taken from a run folder, because it may name code,"
                f" a file or a server; {say.format(target)}"
            )
        if value is not None:
            check(f"{where}{key}", value, setting.kind)


def _checked_target(node: dict[str, Any], where: str, allowed: Sequence[str], say: str) -> str:
    """Return the class that a node names; refuse an unknown class and settings it does not take."""
    target = node.get("_target_")
    if isinstance(target, str) and target.startswith(tuple(allowed)):
        return target
    if not isinstance(target, str) or target not in known_targets():
        raise SettingError(
            f"{where} would build {target!r}, which may run any code: a run folder may only name"
            f" classes of this package; {say.format(target)}"
        )
    if target == MAKE and not _is_own_name(node.get("name")):
        raise SettingError(
            f"{where}.name={node['name']!r} is not taken from a run folder, because it is no"
            f" environment of this package; {say.format(target)}"
        )
    if unknown := set(node) - {*settings_of_node(node)} - {"_target_"}:
        raise SettingError(f"{where}: {target} does not take {sorted(map(str, unknown))}")
    return target


def _is_own_name(name: Any) -> bool:
    """Return whether a setting `env.name` names an environment of this package, or none."""
    return not name or name in names("library")


def _parsed(text: str) -> Override | None:
    """Read an override of plain values; None if it is none."""
    if len(text) > MAX_OVERRIDE or "${" in text:
        return None
    try:
        override = OverridesParser.create().parse_override(text)
        if not override.is_delete():
            override.value()
    except (HydraException, ValueError, RecursionError):
        return None
    return override


def _is_group(override: Override) -> bool:
    group = override.key_or_group
    is_name = re.fullmatch(r"\w+(/\w+)*", group)
    return bool(is_name) and any((folder / group).is_dir() for folder in _own_folders())


def _is_choice_taken(override: Override, value: Any) -> bool:
    """Return whether all chosen options of a group are of this package and call no server."""
    group, package = override.key_or_group, override.package
    if package is not None:
        place = package.removeprefix("agent.")
        known = bool(_MEMBER.fullmatch(place)) or place in agent_places()
        if group != "agent" or place == package or not known:
            return False
    files = (path for folder in _own_folders() for path in (folder / group).glob("*.yaml"))
    own = {path.stem for path in files} - {*CALLING.get(group, ())}
    options = value if isinstance(value, list) else [value]
    return all(name is None or (isinstance(name, str) and name in own) for name in options)
