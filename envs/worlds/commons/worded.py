"""What agents of a commons are told of it, in the words of its wording."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from laconic.envs.worlds.base import World
from laconic.envs.worlds.commons.state import State
from laconic.envs.worlds.commons.wordings import TALK, WORDINGS, Wording

Act = int | str
"""A harvest, or whom the word is passed on to (empty for nobody)."""


class Worded(World[State, Act]):
    """The words of a commons; its rules are a subclass's."""

    wording: str
    """Name of the wording."""
    months: int
    """Months of an episode."""

    @property
    @abstractmethod
    def way(self) -> str:
        """How agents talk, a key of `TALK`."""

    @property
    def words(self) -> Wording:
        """How things are called."""
        return WORDINGS[self.wording]

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """The one role there is."""
        return (self.words.role,)

    @property
    def goal(self) -> str:  # type: ignore[override]
        """What the team does here."""
        return f"{self.words.story} There are {self.months} months. {TALK[self.way]}"

    @property
    def duties(self) -> Mapping[str, str]:  # type: ignore[override]
        """What the one role does."""
        aim = "as little work as you can" if self.words.inverse else f"many {self.words.unit}"
        return {self.words.role: f"You want {aim} over all months. {self.answer_form}"}

    @property
    def hints(self) -> Mapping[str, str]:  # type: ignore[override]
        """The same for small models."""
        return {
            self.words.role: f"Each month say how many {self.words.unit} you {self.words.verb}, as"
            f" in `> {self.words.verb} 7`. Too many and all is lost."
        }

    @property
    def answer_form(self) -> str:  # type: ignore[override]
        """How an act is stated."""
        return (
            f"When a month begins, your last line has to say how much, for example"
            f" `> {self.words.verb} 7`."
        )

    @property
    def counts(self) -> str:
        """What counts, for the rules."""
        return f"What counts for each is what it has after {self.months} months."
