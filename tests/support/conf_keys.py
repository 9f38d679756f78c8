"""Which config keys there are: all that a yaml of the package sets, where its package puts them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from places import CONF, configs

from laconic.experiments.command_line.tree import compose, declared, plain, record_of

# What a warm start changes are keys of other files.
NAMES = {path: name for name, path in configs().items() if not name.startswith("warm_start/")}
FILES = sorted(NAMES)


def keys_of_file(path: Path) -> set[str]:
    """Return the dotted keys of a yaml's leaves."""
    text = path.read_text("utf-8")
    first, *words = text.partition("\n")[0].split()[1:]
    group = NAMES[path].split("/")[:-1]
    package = ".".join(part for part in group if part != "base")
    if first == "@package":
        package = "" if words[0] == "_global_" else words[0]
    settings: Any = OmegaConf.to_container(OmegaConf.create(text), resolve=False)
    settings.pop("defaults", None)
    return _leaves(settings, package) if settings else set()


@cache
def all_keys() -> frozenset[str]:
    """Return the dotted keys of the leaves of all yamls, and those that no yaml shows."""
    hidden = declared(plain(compose("train", str(CONF), [])), record_of("train"))
    return frozenset(hidden).union(*map(keys_of_file, FILES))


def _leaves(node: Any, prefix: str) -> set[str]:
    """Return the dotted keys of all leaves of a mapping; an empty mapping is a leaf."""
    if not isinstance(node, dict) or not node:
        return {prefix}
    return {
        key
        for name, inner in node.items()
        for key in _leaves(inner, f"{prefix}.{name}" if prefix else str(name))
    }
