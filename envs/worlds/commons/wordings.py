"""What the same commons is called: a lake, a meadow, a river, or a house full of trash."""

from __future__ import annotations

from dataclasses import dataclass

from laconic.envs.worlds.commons.state import Month

TALK = {
    "none": "You cannot talk to each other.",
    "rounds": "After each month all hear what everybody got, and you can talk about it.",
    "published": "After each month all hear what everybody got, and you can talk about it, one at a"
    " time: `> next NAME` as the last line passes the word on, `> end` ends the talk.",
}
"""What agents are told of the ways to talk."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one commons."""

    role: str
    """What an agent is."""
    verb: str
    """How an act begins."""
    unit: str
    """What is counted, in the plural."""
    story: str
    """What there is, how it grows back, and what ends it."""
    inverse: bool = False
    """Whether the stock is a burden that somebody has to carry away."""


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
    """What an agent is told after a harvest: what it got and, where that is public, all others."""
    wanted, caught = month.wanted.get(agent), month.caught.get(agent)
    own = "" if wanted is None else f"You got {caught} of {wanted}."
    if not public:
        return own
    got = " ".join(str(one) for one in month.caught.values())
    told = f"All got {got}, left {month.after}."
    return told if wanted == caught else f"{own} {told}".strip()
