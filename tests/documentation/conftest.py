"""The pages of the documentation and their commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from markdown_it import MarkdownIt
from omegaconf import OmegaConf
from places import configs

from laconic.experiments.command_line import programs
from laconic.experiments.command_line.meanings import asked_keys, describe_keys
from laconic.experiments.command_line.own_environments import offer_environments
from laconic.experiments.command_line.tree import CONF, allow_unlisted
from laconic.experiments.session.checks import check_train

_MODULES = "laconic.experiments."
_PLACEHOLDER = re.compile(r"<[\w /.]+>")
_OURS = re.compile(rf"laconic ({'|'.join(programs.names())}) \S")
"""A command with settings; a program's name alone is no more than its name."""


@dataclass(frozen=True)
class Command:
    """A line of a page that a shell runs, and its continuations."""

    words: tuple[str, ...]
    """Words as the shell splits them; `<placeholders>` are the word `placeholder`."""
    text: str
    """Command as it is written, with single spaces."""

    @property
    def program(self) -> str | None:
        """Return the name of one of our programs; None for others."""
        if self._called:
            return self.words[self._called].replace("-", "_")
        module = next((word for word in self.words if word.startswith(_MODULES)), None)
        return module and module.removeprefix(_MODULES)

    @property
    def arguments(self) -> list[str]:
        """Return the arguments of our program."""
        if self._called:
            return list(self.words[self._called + 1 :])
        return list(self.words[self.words.index(f"{_MODULES}{self.program}") + 1 :])

    @property
    def _called(self) -> int:
        """Return the place of the program's name in `laconic <program>`; 0 without one."""
        named = self.words[0] == "laconic" or "-m laconic " in self.text
        return self.words.index("laconic") + 1 if named else 0

    def parsed(self) -> Any:
        """Parse the arguments as Hydra does."""
        return get_args_parser().parse_args(self.arguments)


@pytest.fixture(scope="session")
def commands(code_blocks: Callable[[Path], list[Any]]) -> Callable[[Path], list[Command]]:
    """Return a function that reads the commands of a page."""

    @cache
    def read(page: Path) -> list[Command]:
        blocks = [block for block in code_blocks(page) if not block.file]
        shell = [block.code for block in blocks if block.kind == "sh"]
        # Long commands stand in blocks of text, and short ones within a sentence.
        texts = [block.code for block in blocks if block.kind == "text"]
        lines = [line for text in texts for line in text.splitlines() if _OURS.match(line)]
        lines += filter(_OURS.match, _spans(page))
        return [command for code in (*shell, *lines) for command in _commands(code)]

    return read


def _spans(page: Path) -> Iterator[str]:
    """Yield the code that stands within the sentences of a page."""
    for token in MarkdownIt().parse(page.read_text("utf-8")):
        for child in token.children or ():
            if child.type == "code_inline":
                yield " ".join(child.content.split())


def _commands(code: str) -> Iterator[Command]:
    for line in code.replace("\\\n", " ").splitlines():
        # A name that stands for any environment is filled in, and so is a setting for any.
        filled = re.sub(r"\benv=<[\w /]+>", "env=gsm8k", line).replace("<setting>", "seed=0")
        words = shlex.split(_PLACEHOLDER.sub("placeholder", filled), comments=True)
        if words:
            yield Command(tuple(words), " ".join(line.split()))


@pytest.fixture(scope="session")
def command() -> Callable[[Iterable[str]], Command]:
    """Return a function that makes a command of some words."""
    return lambda words: Command(tuple(words), " ".join(words))


@pytest.fixture(scope="session")
def check_program() -> Callable[[Command, Path], None]:
    """Return a function that composes a command of ours; its own configs are below a folder."""
    return _check


def _check(command: Command, folder: Path) -> None:
    """Compose every value that a command names."""
    program = programs.find(command.program.replace("_", "-"))
    assert program and find_spec(program.module), command.text
    if program.config is None:
        return
    parsed = command.parsed()
    if parsed.config_dir == "placeholder":
        # Choices of a user's own, which no page shows.
        return
    if parsed.help:
        keys = [key for key in asked_keys(parsed.overrides) if key != "placeholder"]
        describe_keys(program.config, str(CONF), parsed.overrides, keys)
        return
    searched = parsed.config_dir and f"hydra.searchpath=[file://{folder / parsed.config_dir}]"
    with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        for overrides in _variants(allow_unlisted(parsed.overrides, program.config)):
            offer_environments(overrides, CONF)
            cfg = compose(
                program.config, [*program.settings, *overrides, *([searched] if searched else [])]
            )
            missing = OmegaConf.missing_keys(cfg)
            assert not missing, f"{command.text}: needs {missing}"
            if program.config == "train":
                check_train(cfg)


def _variants(written: list[str]) -> Iterator[list[str]]:
    """Yield the overrides of a sweep's jobs: each choice of a group beside the first of all others.

    Plain values compose alike, so the first stands for all. Choices of launchers and sweepers are
    left out, because their packages are not needed here.
    """
    overrides = [
        override
        for override in OverridesParser.create().parse_overrides(written)
        if not override.key_or_group.startswith(("hydra/", "hydra."))
    ]
    choices = [list(_values(each))[: None if _is_group(each) else 1] for each in overrides]
    yield [values[0] for values in choices]
    for place, values in enumerate(choices):
        for value in values[1:]:
            yield [value if at == place else other[0] for at, other in enumerate(choices)]


def _is_group(override: Override) -> bool:
    return any(configs(f"{override.key_or_group.partition('@')[0]}/**/*.yaml"))


def _values(override: Override) -> Iterator[str]:
    if not override.is_sweep_override():
        yield override.input_line
    elif isinstance(override.value(), IntervalSweep):
        yield f"{override.get_key_element()}={override.value().start}"
    else:
        for value in override.sweep_string_iterator():
            yield f"{override.get_key_element()}={value}"
