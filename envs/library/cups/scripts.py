"""Scripts for cups, driven by an agent's facts.

- `relay`, `oracle`: in turn, say where the ball is, or nothing if the own part does not move it.
- `broadcast`: at once, the first says where the ball is and the others tell their parts; the last
  one answers in the second round.
- `coded`: a broadcast in which any message stands for a part, the shortest ones first.
- `early`: a code of as few words as the relay: few parts are told at once, and the others in turn.
- `verbose`: relay in which all name a cup in every turn, in or out of turn, moved or not.
- `reader`: reads in silence and answers when all parts are read; in the last round it guesses.
- `guess`: answers at once.

The teacher of a warm start does both: each of its members tells its part at once or waits for its
turn, by chance, and a listener uses whatever it heard. So training can move to either protocol.
It talks too much: where nothing moved, and out of turn, where it follows the member before it.
In its turn it is silent more often than not where the ball stays, so listeners learn what silence
says. A part that moves nothing is never told at once, and the last member sometimes takes the
silence of all others for that: it errs, and so shows training that the answer need not wait.
Where parts have pages it is the reader, which mostly names the cup after each page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from laconic.envs.errors import UnknownNameError
from laconic.envs.library.cups import theory
from laconic.envs.worlds.base import Script, TurnView, act_line

NAMES = ("broadcast", "coded", "early", "guess", "oracle", "reader", "relay", "verbose")
"""Names of the scripts."""


def script(name: str, cups: Sequence[str], phrases: Sequence[str]) -> Script:
    """Return a script for these cups.

    Raises:
        UnknownNameError: no script has this name.
    """
    scripts: dict[str, Script] = {
        "broadcast": Broadcast(cups, phrases),
        "coded": Coded(cups, phrases, theory.best_code(0.0, 1.0, len(cups))),
        "early": Coded(cups, phrases, theory.best_code(1.0, 1e-6, len(cups))),
        "guess": Reader(cups, patient=False),
        "oracle": Relay(cups, phrases),
        "reader": Reader(cups),
        "relay": Relay(cups, phrases),
        "verbose": Relay(cups, phrases, silent=0.0, still=0.0),
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


def known(
    facts: Mapping[str, float], cups: Sequence[str], phrases: Sequence[str], hasty: bool = False
) -> tuple[int, int]:
    """Return the first member whose part is not told yet, and the cup of the ball before it.

    A member has its turn when all parts before its own are told. It then names the cup, and silence
    means that its part does not move the ball.

    Args:
        facts: what the agent read and heard.
        cups: names of the cups.
        phrases: all messages.
        hasty: whether the parts of members that said nothing at all are taken to move no cup.
    """
    member, cup, moves = 0, int(facts["begin"]) - 1, {}
    for round in range(int(facts["round"])):
        for place in range(int(facts["members"])):
            if (said := phrase(facts, place, round)) is not None and said >= len(cups):
                moves[place] = told(phrases[said], cups)
        if member not in moves:
            said = phrase(facts, member, round)
            member, cup = member + 1, cup if said is None else said
        while member in moves:
            member, cup = member + 1, moves[member][cup]
    if hasty:
        rounds = range(int(facts["round"]))
        while member < facts["place"] and all(
            phrase(facts, member, round) is None for round in rounds
        ):
            member += 1
            while member in moves:
                member, cup = member + 1, moves[member][cup]
    return member, cup


def told(message: str, cups: Sequence[str]) -> list[int]:
    """Return the part that a message tells; the last cup goes where no other goes."""
    goes = [cups.index(name) for name in message.split()]
    return [*goes, next(cup for cup in range(len(cups)) if cup not in goes)]


def part(move: Sequence[int], cups: Sequence[str]) -> str:
    """Return the message that tells a part."""
    return " ".join(cups[goes] for goes in move[:-1])


@dataclass(frozen=True, slots=True)
class Relay:
    """A member that speaks in its turn."""

    cups: Sequence[str]
    """Names of the cups."""
    phrases: Sequence[str]
    """All messages."""
    silent: float = 1.0
    """Fraction of silent turns out of turn."""
    still: float = 1.0
    """Fraction of silent turns in turn, where the ball does not move."""
    early: float = 0.0
    """Fraction of members in the middle that tell their part at once."""
    hasty: float = 0.0
    """Fraction of turns in which the last member waits for nobody who never spoke."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the cup, the part, the act or the silence of this turn."""
        facts = turn.facts
        place, last = int(facts["place"]), int(facts["members"]) - 1
        hasty = bool(self.hasty) and place == last and facts["round"] > 0
        member, cup = known(facts, self.cups, self.phrases, hasty and random.random() < self.hasty)
        move = own_move(facts, self.cups)
        if place == member == last:
            return act_line(self.cups[move[cup]])
        if place == member:
            moved = move[cup] != cup or random.random() >= self.still
            return self.cups[move[cup]] if moved else ""
        hurried = bool(self.early) and facts["deadline"] <= last
        if 0 < place < last and not facts["round"] and (hurried or random.random() < self.early):
            return part(move, self.cups) if move != sorted(move) or hurried else ""
        if random.random() < self.silent:
            return ""
        said = (
            phrase(facts, place - 1, int(facts["round"]) - 1) if place and facts["round"] else None
        )
        begin = int(facts["begin"]) - 1
        return self.cups[move[begin if said is None or said >= len(self.cups) else said]]


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A member that tells its part at once."""

    cups: Sequence[str]
    """Names of the cups."""
    phrases: Sequence[str]
    """All messages."""

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
                return self.cups[move[begin]] if move[begin] != begin else ""
            return part(move, self.cups) if move != sorted(move) else ""
        if not last:
            return ""
        cup = begin
        first = phrase(facts, 0, 0) if members > 1 else None
        cup = cup if first is None or first >= len(self.cups) else first
        for earlier in range(1, members - 1):
            said = phrase(facts, earlier, 0)
            if said is not None and said >= len(self.cups):
                cup = told(self.phrases[said], self.cups)[cup]
        return act_line(self.cups[move[cup]])


@dataclass(frozen=True, slots=True)
class Coded:
    """A member of a team with a code (`theory.Code`)."""

    cups: Sequence[str]
    """Names of the cups."""
    phrases: Sequence[str]
    """All messages."""
    code: theory.Code
    """Code of the members in the middle. Those to whom the deadline leaves no turn tell all."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the message of the code, the cup, the act or the silence of this turn."""
        facts = turn.facts
        place, last = int(facts["place"]), int(facts["members"]) - 1
        move, (member, cup) = tuple(own_move(facts, self.cups)), self._turn(facts)
        if not facts["round"] and 0 < place < last:
            told = self._code_of(place, facts).told
            return self.phrases[told[move]] if move in told else ""
        if place != member:
            return ""
        if place == last:
            return act_line(self.cups[move[cup]])
        silent = self._code_of(place, facts).likeliest[cup] if place else cup
        return self.cups[move[cup]] if move[cup] != silent else ""

    def _code_of(self, place: int, facts: Mapping[str, float]) -> theory.Code:
        in_time = place <= facts["deadline"] - 2
        return self.code if in_time else theory.codes(len(self.cups))[0]

    def _turn(self, facts: Mapping[str, float]) -> tuple[int, int]:
        """Return the member whose turn it is, and the cup of the ball before it."""
        cup, last, round = int(facts["begin"]) - 1, int(facts["members"]) - 1, 1
        if not facts["round"]:
            return 0, cup
        cup = self._named(facts, 0, 0, cup)
        for place in range(1, last):
            code, said = self._code_of(place, facts), phrase(facts, place, 0)
            if said is not None:
                moves = {index: move for move, index in code.told.items()}
                cup = moves.get(said, code.waiting[0])[cup]
            elif not code.needs_a_turn(cup):
                cup = code.waiting[0][cup]
            elif round == facts["round"]:
                return place, cup
            else:
                cup = self._named(facts, place, round, code.likeliest[cup])
                round += 1
        return last, cup

    def _named(self, facts: Mapping[str, float], place: int, round: int, silent: int) -> int:
        """Return the cup that a member named, or the one that its silence says."""
        said = phrase(facts, place, round)
        return silent if said is None or said >= len(self.cups) else said


@dataclass(frozen=True, slots=True)
class Reader:
    """A single agent that reads and remembers all."""

    cups: Sequence[str]
    """Names of the cups."""
    patient: bool = True
    """False to answer at once."""
    silent: float = 1.0
    """Fraction of silent turns before the answer; in others it says where the ball is by then."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the answer when all is read, or in the last round; before, a cup or nothing."""
        facts = turn.facts
        last = facts["place"] == facts["members"] - 1
        done = facts["read"] == facts["pages"] or facts["round"] + 1 >= facts["deadline"]
        cup = self.cups[own_move(facts, self.cups)[int(facts["begin"]) - 1]]
        if last and (done or not self.patient):
            return act_line(cup)
        return cup if last and random.random() >= self.silent else ""
