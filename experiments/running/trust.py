"""Settings that come out of a run folder are data: they build what they may build, and no more.

`instantiate` calls whatever a `_target_` names with whatever stands beside it, so the settings of
somebody else's folder could run any code. Taken are the classes that this package's own choices
name, with settings that these take; the rest must be allowed by whoever reads the folder.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.cli import CONF
from laconic.experiments.command_line.resuming import SECRETS
from laconic.experiments.command_line.targets import names_taken

GROUPS = ("agent", "env")
"""Config groups whose classes a folder may name."""
_TARGET = re.compile(r"_target_:\s*(laconic\.\S+)")


@functools.cache
def known_targets() -> frozenset[str]:
    """The classes of this package that its own choices of `GROUPS` name."""
    files = (path for group in GROUPS for path in (CONF / group).rglob("*.yaml"))
    return frozenset(name for path in files for name in _TARGET.findall(path.read_text("utf-8")))


def check_settings(settings: Any, where: str, allowed: Sequence[str] = (), say: str = "") -> None:
    """Refuse plain settings of a folder that could run code, or send secrets, unasked.

    Args:
        settings: a node of its configuration.
        where: the folder and the key of the node, for the message.
        allowed: beginnings of targets that the user trusts, as `my_package.`.
        say: how to allow one, with `{}` for the target.

    Raises:
        SettingError: a target is not known, or is given settings it does not take; there is a
            reference (`${...}`), or the address of a server.
    """
    for key, node in _nodes(settings, where):
        if isinstance(node, str) and "${" in node:
            raise SettingError(f"{key} holds the reference {node!r}; a run folder has values only")
        if not isinstance(node, dict):
            continue
        target = node.get("_target_")
        trusted = isinstance(target, str) and any(map(target.startswith, allowed))
        if trusted:
            continue
        if secrets := [name for name in SECRETS if name in node]:
            raise SettingError(
                f"{key} names a server ({', '.join(secrets)}), and a key of yours would be sent to"
                f" it; {say.format(target)}"
            )
        unknown = {name for name in node if str(name)[:1] == "_"} - {"_target_"}
        if target is None and not unknown:
            continue
        if not isinstance(target, str) or target not in known_targets():
            raise SettingError(
                f"{key} would build {target!r}, which may run any code: settings of a run folder"
                f" are taken for classes of this package alone; {say.format(target)}"
            )
        taken = names_taken(target)
        unknown |= set() if taken is None else set(node) - taken - {"_target_"}
        if unknown:
            raise SettingError(f"{key} gives {target} what it does not take: {sorted(unknown)}")


def _nodes(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """A value and all values in it, each with its dotted key."""
    yield key, value
    if isinstance(value, list):
        value = dict(enumerate(value))
    for name, one in value.items() if isinstance(value, dict) else ():
        yield from _nodes(one, f"{key}.{name}")
