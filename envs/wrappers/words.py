"""Bags of words of a fixed size, and who said what: text as numbers, with nothing learnt.

A bag has one place for each word of a vocabulary, or, without one, as many places as one likes with
every word in the one that a digest gives it; words may then share a place.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from laconic.envs.dialogue.channel import LOST
from laconic.envs.errors import SettingError
from laconic.envs.task import Task

_WORD = re.compile(r"\w+")
_LINE = re.compile(r"(?P<speaker>\w+_\d+): (?P<words>.*)")


class Bag:
    """Which words a text has, as an array of 0 and 1."""

    def __init__(self, words: int | Sequence[str]) -> None:
        """Fix the places of a vocabulary, or so many; raises SettingError where there is none."""
        if isinstance(words, int):
            self._places: dict[str, int] | None = None
            self.size = words
        else:
            self._places = {word: place for place, word in enumerate(dict.fromkeys(words))}
            self.size = len(self._places)
        if isinstance(words, bool) or self.size < 1:
            raise SettingError(
                f"words must be a number of at least 1 or a vocabulary with words in it;"
                f" got {words!r}"
            )

    def array(self, words: Iterable[str]) -> NDArray[np.float32]:
        """Float32 of shape (size,): 1 for each of these words that has a place."""
        found = np.zeros(self.size, np.float32)
        found[[place for word in words if (place := self._place(word)) is not None]] = 1.0
        return found

    def _place(self, word: str) -> int | None:
        # The digest of a process-wide hash would differ from run to run.
        return crc32(word.encode()) % self.size if self._places is None else self._places.get(word)


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """The different words and numbers of a text, in small letters."""
    return frozenset(_WORD.findall(text.lower()))


def vocabulary(tasks: Iterable[Task]) -> tuple[str, ...]:
    """All words of some tasks' questions and statements, in alphabetical order."""
    texts = (text for task in tasks for text in (task.question, *task.statements))
    return tuple(sorted(frozenset().union(*map(words_of, texts))))


def overlap(words: Collection[str], others: Collection[str]) -> float:
    """The share of some words that are among others; 0 without any."""
    return sum(word in others for word in words) / len(words) if words else 0.0


def spoken(text: str, speakers: Collection[str]) -> dict[str, str]:
    """The message of each speaker in a text that an agent heard (`envs.dialogue.transcript.heard`).

    Lines that are nobody's are left out.
    """
    said: dict[str, str] = {}
    speaker = ""
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found and found["speaker"] in speakers:
            speaker = found["speaker"]
            said[speaker] = found["words"]
        elif speaker and line.startswith("  "):
            said[speaker] += "\n" + line[2:]
        else:
            speaker = ""
    return said


def unheard(text: str, speakers: Collection[str]) -> tuple[str, ...]:
    """The speakers of whom a text says that they could not be heard (`envs.dialogue.channel`)."""
    lines = set(text.splitlines())
    return tuple(speaker for speaker in speakers if LOST.format(agent=speaker) in lines)
