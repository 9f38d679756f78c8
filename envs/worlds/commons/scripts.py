"""Scripts for a commons, by the facts that an agent is told.

- `share`: the fair share in every month, nothing said; `oracle` is the same.
- `greedy`: all there is.
- `constant:<n>`: n units in every month.
- `endgame`: the fair share, and in the last month all there is, which pays most.
- `verbose`: the fair share, proposed in many words after every month.
- `newcomer`: the fair share; who joins later takes 20 until somebody has told it a number, and the
  others tell it one in as many words as are needed when somebody has taken more than fair.

The teacher of a warm start proposes shares in its manner, heeds the lowest proposal it heard, and
takes more than is fair where it heard none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from laconic.envs.checks import is_whole
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.worlds.base import Manners, Script, Seen
from laconic.envs.worlds.commons.stock import CAPACITY

NAMES = ("share", "greedy", "constant:", "endgame", "newcomer", "oracle", "verbose")
"""The scripts there are."""
HEEDS = 0.9
"""How often the teacher takes what it heard proposed."""
_RECKLESS = 20
"""What a newcomer takes that nobody has told anything."""
_PROPOSED = re.compile(r"(?<![\w-])(\d{1,6}) each")
_WORDY = (
    "I think we should take {n} each next month.",
    "Let us be careful and take only {n} each.",
    "If we want this to last, {n} each is enough.",
)


def proposal(units: int) -> str:
    """The fewest words that propose a share."""
    return f"{units} each."


def proposed(text: str) -> int | None:
    """The lowest share that a text proposes; None where it proposes none."""
    found = [int(one) for one in _PROPOSED.findall(text)]
    return min(found, default=None)


def script(name: str, verb: str) -> Script:
    """The script of a name, for a commons whose acts begin with a verb.

    Raises:
        UnknownNameError: there is no such script.
        SettingError: `constant:` has no whole number after it.
    """
    kind, colon, number = name.partition(":")
    if kind + colon == "constant:":
        if not number.isdecimal() or not is_whole(int(number)):
            raise SettingError(
                f"agent.script=constant:<n> needs a whole number of units; got {name!r}"
            )
        return _Harvests(verb, constant=int(number))
    kinds: dict[str, Script] = {
        "share": _Harvests(verb),
        "oracle": _Harvests(verb),
        "greedy": _Harvests(verb, constant=CAPACITY),
        "endgame": _Harvests(verb, endgame=True),
        "verbose": _Harvests(verb, wordy=True),
        "newcomer": _Newcomer(verb),
    }
    if name not in kinds:
        raise UnknownNameError("agent.script", name, NAMES)
    return kinds[name]


@dataclass(frozen=True, slots=True)
class _Harvests:
    """Harvests by a rule of the facts alone."""

    verb: str
    constant: int | None = None
    endgame: bool = False
    wordy: bool = False

    def __call__(self, seen: Seen, random: Random) -> str:
        """The act, or what is said."""
        facts = seen.facts
        if facts["harvest"]:
            units = int(facts["fair"]) if self.constant is None else self.constant
            last = self.endgame and facts["month"] + 1 == facts["months"]
            return f"> {self.verb} {int(facts['stock']) if last else units}"
        if self.wordy and facts["talk"]:
            return random.choice(_WORDY).format(n=_next_share(seen))
        return ""


class _Newcomer:
    """Fair, but for who joins later and has not been told."""

    def __init__(self, verb: str) -> None:
        self._verb = verb

    def __call__(self, seen: Seen, random: Random) -> str:
        """The act, or the proposal that is needed."""
        facts = seen.facts
        if facts["harvest"]:
            tame = 0 < facts["last_wanted"] <= facts["last_fair"]
            fair = not facts["joined"] or tame or proposed(seen.text) is not None
            return f"> {self._verb} {int(facts['fair']) if fair else _RECKLESS}"
        asks = facts["talk"] and facts["last_overuse"] and not facts["joined"]
        return proposal(_next_share(seen)) if asks else ""


@dataclass(frozen=True, slots=True)
class Teacher:
    """A team-mate of mixed manners; see the module."""

    manners: Manners
    verb: str

    def __call__(self, seen: Seen, random: Random) -> str:
        """The act, or what is said, if anything."""
        facts = seen.facts
        if facts["harvest"]:
            return f"> {self.verb} {self._units(seen, random)}"
        if random.random() < self.manners.silent:
            return ""
        units = _next_share(seen)
        if random.random() < self.manners.terse:
            return proposal(units)
        return random.choice(_WORDY[: self.manners.frames]).format(n=units)

    def _units(self, seen: Seen, random: Random) -> int:
        fair, heard = int(seen.facts["fair"]), proposed(seen.text)
        if heard is not None and random.random() < HEEDS:
            return heard
        if random.random() < self.manners.best:
            return fair
        return max(0, fair + random.randint(*((-5, -1) if seen.facts["inverse"] else (1, 6))))


def _next_share(seen: Seen) -> int:
    """The fair share of the next month, as follows from what is left."""
    facts = seen.facts
    if facts["inverse"]:
        return -(-int(facts["stock"]) // int(facts["agents"]))
    return min(CAPACITY, 2 * int(facts["stock"])) // 2 // int(facts["agents"])
