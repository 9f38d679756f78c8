"""Scripts for hops, driven by an agent's facts.

- `oracle`, `chain`: say the next name of the chain in its round, unless the own facts lead on; the
  member that reaches the end answers.
- `coded`: the same, but who knows the end answers at once, and silence in the last round of talk
  says the first name that was neither asked nor said.
- `verbose`: the chain without waiting in silence: every name of the chain is said.
- `reader`: reads in silence, answers when its facts lead to the end, and in the last round gives
  the best guess.
- `guess`: who knows the first link answers at once with the best guess.
- `everyone`: all answer at once with a name that the question does not contain.

The teacher of a warm start follows the chain, mostly aloud where it could wait. Where facts have
pages it is the reader, which mostly names how far it came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from laconic.envs.errors import UnknownNameError
from laconic.envs.library.hops import theory
from laconic.envs.worlds.base import Script, TurnView, act_line

NAMES = ("chain", "coded", "everyone", "guess", "oracle", "reader", "verbose")
"""Names of the scripts."""


def script(name: str, names: Sequence[str]) -> Script:
    """Return a script for a chain of these names.

    Raises:
        UnknownNameError: no script has this name.
    """
    scripts: dict[str, Script] = {
        "chain": Member(names),
        "coded": Coded(names),
        "everyone": Guesser(names),
        "guess": Reader(names, patient=False),
        "oracle": Member(names),
        "reader": Reader(names),
        "verbose": Member(names, waits=0.0),
    }
    if name not in scripts:
        raise UnknownNameError("agent.script", name, NAMES)
    return scripts[name]


@dataclass(frozen=True, slots=True)
class Links:
    """What an agent knows of the chain, by indices of names."""

    facts: Mapping[str, float]
    """Facts of the agent (`Hops.facts`)."""
    names: Sequence[str]
    """Names of the world."""

    def after(self, name: int) -> int | None:
        """Return whom a name asks; None if the agent did not read it."""
        return int(self.facts[f"next_{self.names[name]}"]) - 1 if self._has(name) else None

    def _has(self, name: int) -> bool:
        return self.facts[f"next_{self.names[name]}"] > 0

    def at(self, step: int) -> int | None:
        """Return the name of a step as far as what was said and the own links lead; else None."""
        known, last = self.said(step)
        name: int | None = last
        for _ in range(step - known):
            name = None if name is None else self.after(name)
        return name

    def said(self, step: int) -> tuple[int, int]:
        """Return the last step up to a given one whose name was said, and the name."""
        # A name that was said again is no new step, nor is the one in the question.
        first = int(self.facts["first"]) - 1
        said = {
            int(self.facts[f"said_{name}"]): i for i, name in enumerate(self.names) if i != first
        }
        known = max((number for number in said if 0 < number <= step), default=0)
        return known, said[known] if known else first


@dataclass(frozen=True, slots=True)
class Member:
    """A member that follows the chain with the others."""

    names: Sequence[str]
    """Names of the world."""
    waits: float = 1.0
    """Fraction of silent turns while the own facts lead on."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the name, the act or the silence of this turn."""
        links = Links(turn.facts, self.names)
        step = int(turn.facts["round"]) + 1
        # Only the holder of the last link knows more than the others.
        held = links.at(step - 1)
        name = None if held is None else links.after(held)
        if name is None or step > turn.facts["steps"]:
            return ""
        if step == turn.facts["steps"]:
            return act_line(self.names[name])
        leads_on = links.after(name) is not None
        return "" if leads_on and random.random() < self.waits else self.names[name]


@dataclass(frozen=True, slots=True)
class Coded:
    """A member of a team whose silence says a name (`theory`)."""

    names: Sequence[str]
    """Names of the world."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the name, the act or the silence of this turn."""
        links = Links(turn.facts, self.names)
        step, steps = int(turn.facts["round"]) + 1, int(turn.facts["steps"])
        if step > steps:
            return ""
        heard, held = links.said(step - 1)[0], links.at(step - 1)
        if step == steps and heard < step - 1:
            held = self._unsaid(links, steps)
        name = None if held is None else links.after(held)
        if name is None:
            return ""
        end: int | None = name
        for _ in range(steps - step):
            end = None if end is None else links.after(end)
        if end is not None:
            return act_line(self.names[end])
        waits = links.after(name) is not None
        spared = step == steps - 1 and name == self._unsaid(links, steps)
        return "" if waits or spared else self.names[name]

    def _unsaid(self, links: Links, steps: int) -> int:
        """Return the name that silence says in the last round of talk."""
        known = {int(links.facts["first"]) - 1}
        known |= {
            index
            for index, name in enumerate(self.names)
            if 0 < links.facts[f"said_{name}"] < steps - 1
        }
        return next((index for index in range(len(self.names)) if index not in known), 0)


@dataclass(frozen=True, slots=True)
class Reader:
    """A single agent that reads and remembers all."""

    names: Sequence[str]
    """Names of the world."""
    patient: bool = True
    """False to answer as soon as it knows the link behind the first name, and only then."""
    silent: float = 1.0
    """Fraction of silent turns before the answer; in others it says the last name that it knows."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the answer in the last round, or when it is known; before, a name or nothing."""
        links, facts = Links(turn.facts, self.names), turn.facts
        name, steps = int(facts["first"]) - 1, int(facts["steps"])
        walked = 0
        while walked < steps and (following := links.after(name)) is not None:
            name, walked = following, walked + 1
        if walked == steps:
            return act_line(self.names[name])
        if facts["round"] + 1 >= facts["deadline"] if self.patient else walked:
            return act_line(self.names[self._guess(links, name, steps - walked)])
        return self.names[name] if walked and random.random() >= self.silent else ""

    def _guess(self, links: Links, end: int, distance: int) -> int:
        """Return the likeliest name behind an end."""
        reached = {links.after(name) for name in range(len(self.names))}
        heads = [name for name in range(len(self.names)) if name not in reached]
        segments = []
        for head in heads:
            segment = [head]
            while (following := links.after(segment[-1])) is not None:
                segment.append(following)
            segments.append(segment)
        own = next(segment for segment in segments if segment[-1] == end)
        others = [segment for segment in segments if segment is not own]
        if distance > sum(map(len, others)):
            return own[distance - sum(map(len, others)) - 1]
        best, chosen = -1.0, end
        for place, segment in enumerate(others):
            lengths = tuple(sorted(len(each) for i, each in enumerate(others) if i != place))
            chances = theory.before(lengths)
            for index, name in enumerate(segment, 1):
                if (chance := chances.get(distance - index, 0.0)) > best + 1e-12:
                    best, chosen = chance, name
        return chosen


@dataclass(frozen=True, slots=True)
class Guesser:
    """An agent that answers at once."""

    names: Sequence[str]
    """Names of the world."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the answer: the first name that the question does not contain."""
        return act_line(self.names[int(turn.facts["first"] == 1)])
