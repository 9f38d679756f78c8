"""The words of a commons: a lake, a meadow, a river, or a house full of trash."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from laconic.envs.library.commons.stock import Month, State
from laconic.envs.worlds.base import World

Act = int | str
"""A harvest in units, or the next speaker (empty to end the talk)."""

TALK = {
    "none": "You cannot talk to each other.",
    "rounds": "After each month all hear what everybody got, and you can talk about it.",
    "published": "After each month all hear what everybody got, and you can talk about it, one at a"
    " time: `> next NAME` as the last line passes the word on, `> end` ends the talk.",
}
"""Explanation of each way to talk, for the agents."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one commons."""

    role: str
    """Role of every agent."""
    verb: str
    """First word of a harvest."""
    unit: str
    """Name of the units, in the plural."""
    story: str
    """Description of the stock, its growth and its collapse."""
    inverse: bool = False
    """True if the stock is a burden that agents carry away."""


WORDINGS = {
    "fishery": Wording(
        "fisher",
        "catch",
        "tons",
        "You live by one lake, which holds 100 tons of fish at the most. Every month each of you"
        " catches as many tons as it likes, all at the same time. What is left doubles, up to 100"
        " tons; if fewer than 5 tons are left the fish die out.",
    ),
    "pasture": Wording(
        "shepherd",
        "graze",
        "hectares",
        "You share one meadow, of which 100 hectares at the most bear grass. Every month each of"
        " you has as many hectares grazed off as it likes, all at the same time. The grass that is"
        " left spreads to twice its area, up to 100 hectares; if fewer than 5 are left it withers.",
    ),
    "pollution": Wording(
        "factory",
        "make",
        "pallets",
        "You stand by one river, whose water is 100 percent clean at the best. Every month each of"
        " you makes as many pallets as it likes, all at the same time, and each pallet spoils one"
        " percent of the water. The clean part that is left doubles, up to 100 percent; if it is"
        " below 5 percent the river is lost.",
    ),
    "trash": Wording(
        "roommate",
        "carry",
        "bags",
        "You share one house, which has room for 100 bags of trash. Every month each of you"
        " carries out as many bags as it likes, all at the same time; a bag costs the one who"
        " carries it, and a month in the house is worth 20 bags to each. Then 50 bags more come"
        " about; if there is no room for all of them you have to move out.",
        inverse=True,
    ),
}


def report(month: Month, agent: str, *, public: bool) -> str:
    """Write an agent's report of a harvest: its own share and, if public, everyone's."""
    wish, caught = month.requested.get(agent), month.caught.get(agent)
    own = "" if wish is None else f"You got {caught} of {wish}."
    if not public:
        return own
    shares = " ".join(map(str, month.caught.values()))
    everyone = f"All got {shares}, left {month.after}."
    return everyone if wish == caught else f"{own} {everyone}".strip()


class WordedCommons(World[State, Act]):
    """The explanations of a commons; a subclass adds the rules."""

    wording: str
    """Key of `WORDINGS`."""
    months: int
    """Months of an episode."""

    @property
    @abstractmethod
    def talk_mode(self) -> str:
        """Way in which agents talk, a key of `TALK`."""

    @property
    def words(self) -> Wording:
        """Words of this commons."""
        return WORDINGS[self.wording]

    @property
    def team(self) -> Mapping[str, int]:
        """Five agents of the one role."""
        return {self.words.role: 5}

    @property
    def goal(self) -> str:  # type: ignore[override]
        """Description of the game, for every agent."""
        return f"{self.words.story} There are {self.months} months. {TALK[self.talk_mode]}"

    @property
    def duties(self) -> Mapping[str, str]:  # type: ignore[override]
        """Description of the one role."""
        aim = "as little work as you can" if self.words.inverse else f"many {self.words.unit}"
        return {self.words.role: f"You want {aim} over all months. {self.answer_form}"}

    @property
    def hints(self) -> Mapping[str, str]:  # type: ignore[override]
        """Description of the one role for small models."""
        return {
            self.words.role: f"Each month say how many {self.words.unit} you {self.words.verb}, as"
            f" in `> {self.words.verb} 7`. Too many and all is lost."
        }

    @property
    def answer_form(self) -> str:  # type: ignore[override]
        """Explanation of how an act is written."""
        return (
            f"When a month begins, your last line has to say how much, for example"
            f" `> {self.words.verb} 7`."
        )

    @property
    def aim(self) -> str:
        """Sentence of the rules about the goal."""
        return f"What counts for each is what it has after {self.months} months."
