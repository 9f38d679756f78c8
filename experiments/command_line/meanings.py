"""Say what settings mean: `laconic train --help <key>`, and the tables of the documentation.

The comment of a yaml comes first, because users read it there. Without one it is the sentence of
the field or parameter, else that of the setting that holds the key.
"""

from __future__ import annotations

import math
import re
import shutil
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from inspect import Parameter
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from laconic.envs.checks import alternatives, in_words
from laconic.experiments.command_line.mistakes import compose_keys, unknown_key
from laconic.experiments.command_line.schema import Named, Setting, known_settings
from laconic.experiments.command_line.tree import (
    dotted,
    plain,
    read_choices,
    record_of,
    setting_at,
    settings_of_node,
)

Row = tuple[str, str, str]
"""Key, value and comment of a setting."""
_NO_SETTINGS = ("_target_", "_partial_", "defaults", "hydra")
"""Keys of a yaml that choose a class or a package."""
_KEY = re.compile(r"[A-Za-z_]\w*(?:[./][\w+-]+)*")
_TRUST = {
    True: "a run folder of others may set it",
    False: "a run folder of others may not set it: it has to be typed",
    None: "a run folder of others may set it to some values, and the others have to be typed",
}
_IN_YAML = {"None": "null", "True": "true", "False": "false"}


class Composed:
    """A composed configuration, and what its yaml files and classes say of its settings."""

    def __init__(self, program: str, path: str, arguments: Sequence[str] = ()) -> None:
        """Compose the configuration.

        Args:
            program: name of the primary config.
            path: folder of the configs.
            arguments: command line.

        Raises:
            HydraException: an override cannot be read, or there is no such option.
        """
        loader, name, chosen = read_choices(program, path, arguments, values=True)
        self.cfg = loader.load_configuration(name, chosen, RunMode.RUN)
        self._options = loader.get_group_options
        self.values = plain(self.cfg)
        self.record = record_of(program)
        folders = [Path(source.path) for source in self.cfg.hydra.runtime.config_sources]
        self._comments: dict[str, str] = {}
        for part in loader.files:
            files = (folder / f"{part.config_path}.yaml" for folder in folders)
            if file := next(filter(Path.is_file, files), None):
                found = read_rows(file.read_text("utf-8"), part.package or "")
                self._comments |= {key: comment for key, _, comment in found if comment}

    def setting(self, key: str) -> Setting | None:
        """Return the declaration of a key; None without one."""
        return setting_at(self.values, key, self.record)

    def meaning(self, key: str) -> str:
        """Return what a key means; empty if nothing says it."""
        setting, parent = self.setting(key), key.rpartition(".")[0]
        if text := self._comments.get(key) or (setting.sentence if setting else ""):
            return text if key in self._comments else for_users(text)
        # The keys of a mapping mean what it says of them; settings of a class have their own.
        return self.meaning(parent) if parent and not self._declared(parent) else ""

    def value(self, key: str) -> str | None:
        """Return the value of a key as a yaml has it; None if it has none."""
        setting = self.setting(key)
        if setting and not self.is_shown(key):
            value = setting.default
        else:
            try:
                value = OmegaConf.select(self.cfg, key)
            except OmegaConfBaseException:
                # What Hydra alone knows, such as the number of a job, has no value yet.
                return None
        none = value is Any or value is Parameter.empty or isinstance(value, DictConfig)
        return None if none else in_yaml(value)

    def is_shown(self, key: str) -> bool:
        """Return whether `--cfg job` shows a key."""
        return key in dotted(self.values)

    def describe(self, key: str) -> str | None:
        """Return the help on a key; None if there is no such key."""
        options = self._options(key.replace(".", "/"))
        setting = self.setting(key)
        if not (setting or options or self.is_shown(key)):
            return None
        value, inner = self.value(key), self.parts(key)
        node = OmegaConf.select(self.cfg, key, throw_on_resolution_failure=False)
        target = node.get("_target_") if isinstance(node, DictConfig) else None
        facts = {
            "options": f"{key.replace('.', '/')}={', '.join(options)}" if options else "",
            "class": str(target or (setting.owner if setting else "")),
        }
        if setting:
            hidden = not self.is_shown(key)
            facts |= {
                "takes": in_words(setting.kind),
                "default": f"{value or 'null'}; --cfg job does not show the key" if hidden else "",
                "trust": "" if inner or setting.kind is Any else _TRUST[setting.is_open()],
            }
        lines = [key if value is None else f"{key}={value}", *_wrapped(self.meaning(key), "    ")]
        for name in ("takes", "options", "default", "trust", "class"):
            lines += _wrapped(facts.get(name, ""), f"    {name:9}", 13 * " ")
        for each in inner:
            value = self.value(each)
            lines += ["", f"  {each}" + ("" if value is None else f"={value}")]
            lines += _wrapped(self.meaning(each), "      ")
        return "\n".join(lines)

    def parts(self, key: str) -> list[str]:
        """Return the keys of the settings in a node."""
        node = OmegaConf.select(self.cfg, key, throw_on_resolution_failure=False)
        named = map(str, node if isinstance(node, DictConfig) else ())
        names = dict.fromkeys([*self._declared(key), *named])
        return [f"{key}.{name}" for name in names if name not in _NO_SETTINGS]

    def _declared(self, key: str) -> Mapping[str, Setting]:
        """Return the settings that the class of a node is known to take."""
        node = OmegaConf.select(self.cfg, key, throw_on_resolution_failure=False)
        if isinstance(node, DictConfig) and "_target_" in node:
            return settings_of_node(node)
        kinds = alternatives(setting.kind) if (setting := self.setting(key)) else ()
        paths = [kind.path for kind, _ in kinds if isinstance(kind, Named)]
        return {name: each for path in paths for name, each in known_settings(path).items()}


def asked_keys(arguments: Sequence[str]) -> list[str]:
    """Return the words beside `--help` that name keys."""
    words = takewhile(lambda word: word[:1] != "-", arguments)
    return [word.replace("/", ".") for word in words if _KEY.fullmatch(word)]


def describe_keys(program: str, path: str, arguments: Sequence[str], keys: Sequence[str]) -> str:
    """Return the help on keys.

    Args:
        program: name of the primary config.
        path: folder of the configs.
        arguments: command line, whose choices and values count.
        keys: dotted keys, of settings or of nodes.

    Raises:
        HydraException: there is no such key, with the closest that exists; or the configuration
            cannot be composed.
    """
    composed = Composed(program, path, arguments)
    texts = {key: composed.describe(key) for key in keys}
    for key, text in texts.items():
        if text is None:
            raise HydraException(unknown_key(key, compose_keys(program, path, arguments)))
    return "\n\n".join(map(str, texts.values()))


def for_users(sentence: str) -> str:
    """Return the sentence of a field or a parameter, with values as a yaml has them."""
    text = re.sub(r"\b(None|True|False)\b", lambda word: _IN_YAML[word[0]], sentence)
    return text[:1].upper() + text[1:]


def in_yaml(value: Any) -> str:
    """Return a value as a yaml has it, on one line."""
    plainly = OmegaConf.to_container(OmegaConf.create({"value": value}))
    text: str = yaml.safe_dump(plainly, default_flow_style=True, width=math.inf, allow_unicode=True)
    return text.strip()[len("{value: ") : -1]


def read_rows(text: str, package: str, inherited: Collection[str] = ()) -> Iterator[Row]:
    """Yield key, value and comment of each setting in the text of a yaml.

    Args:
        text: the text.
        package: the key that holds its keys; empty for none.
        inherited: keys of the yaml files that it builds on. A mapping in braces is a value, unless
            its keys are among them.
    """
    yield from _rows(yaml.compose(text, yaml.SafeLoader), text, package, inherited)


def _rows(
    node: yaml.Node | None, text: str, prefix: str, inherited: Collection[str]
) -> Iterator[Row]:
    lines = text.splitlines()
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.value in _NO_SETTINGS:
            continue
        name = f"{prefix}.{key.value}" if prefix else key.value
        comment = _comment(lines, key.start_mark.line)
        group = any(key.startswith(f"{name}.") for key in inherited)
        if isinstance(value, yaml.MappingNode) and (group or not value.flow_style):
            if comment and not value.flow_style:
                yield name, "", comment
            yield from _rows(value, text, name, inherited)
        else:
            source = text[value.start_mark.index : value.end_mark.index]
            yield name, " ".join(source.split()), comment


def _comment(lines: list[str], line: int) -> str:
    """Return the comment right above a line; empty for that of the whole file at its top."""
    first = line
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    if first == 0:
        return ""
    return " ".join(text.strip().removeprefix("#").strip() for text in lines[first:line])


def _wrapped(text: str, first: str, further: str | None = None) -> list[str]:
    width = min(shutil.get_terminal_size().columns, 100)
    rest = first if further is None else further
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
