"""Scripts for cups, driven by an agent's facts.

- `relay`, `oracle`: in turn, say where the ball is, or nothing if the own part does not move it.
- `broadcast`: at once, the first says where the ball is and the others tell their parts; the last
  one answers in the second round.
- `verbose`: relay in which every member names the cup, moved or not.
- `reader`: reads in silence and answers when all parts are read; in the last round it guesses.
- `guess`: answers at once.

The teacher of a warm start plays a relay, or a broadcast where the time is too short for one. Its
members speak where nothing moved too, and the others often repeat the last cup, which helps nobody
and is not mistaken for a move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from laconic.envs.errors import UnknownNameError
from laconic.envs.worlds.base import Script, TeacherStyle, TurnView, act_line

NAMES = ("broadcast", "guess", "oracle", "reader", "relay", "verbose")
"""Names of the scripts."""


def script(name: str, cups: Sequence[str], phrases: Sequence[str]) -> Script:
    """Return a script for these cups.

    Raises:
        UnknownNameError: no script has this name.
    """
    scripts: dict[str, Script] = {
        "broadcast": Broadcast(cups, phrases),
        "guess": Reader(cups, patient=False),
        "oracle": Relay(cups, phrases),
        "reader": Reader(cups),
        "relay": Relay(cups, phrases),
        "verbose": Relay(cups, phrases, repeats=True),
    }
    if name not in scripts:
        raise UnknownNameError("agent.script", name, NAMES)
    return scripts[name]


def own_move(facts: Mapping[str, float], cups: Sequence[str]) -> list[int]:
    """Return where the parts that an agent read bring each cup."""
    return [int(facts[f"goes_{name}"]) - 1 for name in cups]


def phrase(facts: Mapping[str, float], place: int, round: int) -> int | None:
    """Return the index of the phrase of an agent in a round; None for silence."""
    index = int(facts[f"said_{place}_{round}"]) - 1
    return None if index < 0 else index


def ball(facts: Mapping[str, float], cups: Sequence[str], round: int) -> int:
    """Return the cup that a relay named last before a round, the beginning at first."""
    cup = int(facts["begin"]) - 1
    for place in range(round):
        said = phrase(facts, place, place)
        cup = cup if said is None or said >= len(cups) else said
    return cup


@dataclass(frozen=True, slots=True)
class Relay:
    """A member that speaks in its turn."""

    cups: Sequence[str]
    """Names of the cups."""
    phrases: Sequence[str]
    """All messages."""
    repeats: bool = False
    """True to name a cup that did not move."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the cup, the act or the silence of this turn."""
        facts = turn.facts
        place, round = int(facts["place"]), int(facts["round"])
        if round != place:
            return ""
        cup = ball(facts, self.cups, place)
        after = own_move(facts, self.cups)[cup]
        if place == int(facts["members"]) - 1:
            return act_line(self.cups[after])
        return self.cups[after] if self.repeats or after != cup else ""


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A member that tells its part at once."""

    cups: Sequence[str]
    """Names of the cups."""
    phrases: Sequence[str]
    """All messages."""
    repeats: bool = False
    """True to tell parts that moved nothing."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the part, the act or the silence of this turn."""
        facts = turn.facts
        place, members = int(facts["place"]), int(facts["members"])
        move, begin = own_move(facts, self.cups), int(facts["begin"]) - 1
        last = place == members - 1
        if facts["round"] == 0 and not (last and members == 1):
            if last:
                return ""
            if place == 0:
                return self.cups[move[begin]] if self.repeats or move[begin] != begin else ""
            told = " ".join(self.cups[goes] for goes in move[:-1])
            return told if self.repeats or move != sorted(move) else ""
        if not last:
            return ""
        cup = begin
        first = phrase(facts, 0, 0) if members > 1 else None
        cup = cup if first is None or first >= len(self.cups) else first
        for earlier in range(1, members - 1):
            said = phrase(facts, earlier, 0)
            if said is not None and said >= len(self.cups):
                goes = [self.cups.index(name) for name in self.phrases[said].split()]
                goes.append(next(i for i in range(len(self.cups)) if i not in goes))
                cup = goes[cup]
        return act_line(self.cups[move[cup]])


@dataclass(frozen=True, slots=True)
class Reader:
    """A single agent that reads and remembers all."""

    cups: Sequence[str]
    """Names of the cups."""
    patient: bool = True
    """False to answer at once."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the answer when all is read, or in the last round."""
        facts = turn.facts
        last = facts["place"] == facts["members"] - 1
        done = facts["read"] == facts["pages"] or facts["round"] + 1 >= facts["deadline"]
        if not last or (self.patient and not done):
            return ""
        return act_line(self.cups[own_move(facts, self.cups)[int(facts["begin"]) - 1]])


@dataclass(frozen=True, slots=True)
class Teacher:
    """A member of mixed style; see the module."""

    style: TeacherStyle
    """Fraction of silent turns where a member has nothing to tell."""
    cups: Sequence[str]
    """Names of the cups."""
    phrases: Sequence[str]
    """All messages."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the cup, the act or the silence of this turn."""
        facts = turn.facts
        protocol = Relay if facts["deadline"] >= facts["members"] else Broadcast
        said = protocol(self.cups, self.phrases, repeats=True)(turn, random)
        if said or random.random() < self.style.silent:
            return said
        return self.cups[ball(facts, self.cups, int(facts["round"]))]
