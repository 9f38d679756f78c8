"""The pages of the documentation and their commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hydra._internal.utils import get_args_parser

_MODULES = "laconic.experiments."
_PLACEHOLDER = re.compile(r"<[\w /]+>")


@dataclass(frozen=True)
class Command:
    """A line of a page that a shell runs, and its continuations."""

    words: tuple[str, ...]
    """As the shell splits them; `<placeholders>` are the word `placeholder`."""
    text: str
    """As it is written."""

    @property
    def program(self) -> str | None:
        """The name of one of our programs; None for others."""
        if self.words[0] == "laconic":
            return self.words[1].replace("-", "_")
        found = next((one for one in self.words if one.startswith(_MODULES)), None)
        return found and found.removeprefix(_MODULES)

    @property
    def arguments(self) -> list[str]:
        """What our program is given."""
        if self.words[0] == "laconic":
            return list(self.words[2:])
        return list(self.words[self.words.index(f"{_MODULES}{self.program}") + 1 :])

    def parsed(self) -> Any:
        """What Hydra's parser makes of the arguments."""
        return get_args_parser().parse_args(self.arguments)


@pytest.fixture(scope="session")
def commands(code_blocks: Callable[[Path], list[Any]]) -> Callable[[Path], list[Command]]:
    """Reads the commands of a page."""

    def read(page: Path) -> list[Command]:
        blocks = [one.code for one in code_blocks(page) if one.kind == "sh" and not one.file]
        return [command for code in blocks for command in _commands(code)]

    return read


def _commands(code: str) -> Iterator[Command]:
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(_PLACEHOLDER.sub("placeholder", line), comments=True)
        if words:
            yield Command(tuple(words), " ".join(line.split()))
