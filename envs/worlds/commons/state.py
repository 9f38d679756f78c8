"""What is so far of an episode of a commons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Month:
    """What a month's harvest was."""

    before: int
    """Units before it."""
    wanted: Mapping[str, int] = field(hash=False)
    """What each agent asked for, those who were there."""
    caught: Mapping[str, int] = field(hash=False)
    """What each of them got."""
    fair: int
    """The share that would have kept the stock: more is over-use (of trash, less)."""

    @property
    def after(self) -> int:
        """Units after it."""
        return self.before - sum(self.caught.values())


@dataclass(frozen=True, slots=True)
class State:
    """A moment between two rounds."""

    agents: tuple[str, ...]
    """All agents in their order."""
    stock: int
    """Units now: before a harvest, or what it left while there is talk about it."""
    months: tuple[Month, ...] = ()
    """The harvests so far."""
    talk: int | None = None
    """Rounds that were talked since the last harvest; None where the next harvest is due."""
    speaker: str = ""
    """Who has the word, where one speaks at a time."""
    words: int = 0
    """Words said so far, as blanks part them."""
    collapsed: bool = False
    """Whether the stock is lost."""

    @property
    def month(self) -> int:
        """The month, from 0; talk about a harvest belongs to its month."""
        return len(self.months) - (self.talk is not None)
