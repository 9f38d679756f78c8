"""Scripts for a commons, driven by an agent's facts.

- `share`, `oracle`: the fair share in every month, without messages.
- `greedy`: the whole stock.
- `constant:<n>`: n units in every month.
- `endgame`: the fair share, and in the last month the whole stock, which pays most.
- `verbose`: the fair share, proposed in many words after every month.
- `newcomer`: the fair share. An agent that joins later takes 20 until it hears a number. The others
  tell it the fair share when an agent has taken more.

The teacher of a warm start proposes shares, follows the lowest proposal it heard, and takes more
than is fair if it heard none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.commons.stock import CAPACITY
from laconic.envs.worlds.base import Script, TeacherStyle, TurnView

NAMES = ("share", "greedy", "constant:", "endgame", "newcomer", "oracle", "verbose")
"""Names of the scripts."""
COMPLIANCE = 0.9
"""Probability that the teacher takes the share it heard proposed."""
_RECKLESS = 20
"""Harvest of a newcomer that heard no number, in units."""
_PROPOSAL = re.compile(r"(?<![\w-])(\d{1,6}) each")
_WORDY = (
    "I think we should take {n} each next month.",
    "Let us be careful and take only {n} each.",
    "If we want this to last, {n} each is enough.",
)


def proposal(units: int) -> str:
    """Propose a share in the fewest words."""
    return f"{units} each."


def lowest_proposal(text: str) -> int | None:
    """Return the lowest share that a text proposes; None without a proposal."""
    return min(map(int, _PROPOSAL.findall(text)), default=None)


def script(name: str, verb: str) -> Script:
    """Return a script for a commons whose harvests begin with a verb.

    Raises:
        UnknownNameError: no script has this name.
        SettingError: `constant:` is not followed by a whole number.
    """
    kind, colon, number = name.partition(":")
    if kind + colon == "constant:":
        if not number.isdecimal():
            raise SettingError(
                f"agent.script=constant:<n> needs a whole number of units; got {name!r}"
            )
        return _Harvester(verb, constant=int(number))
    scripts: dict[str, Script] = {
        "share": _Harvester(verb),
        "oracle": _Harvester(verb),
        "greedy": _Harvester(verb, constant=CAPACITY),
        "endgame": _Harvester(verb, endgame=True),
        "verbose": _Harvester(verb, wordy=True),
        "newcomer": _Newcomer(verb),
    }
    if name not in scripts:
        raise UnknownNameError("agent.script", name, NAMES)
    return scripts[name]


@dataclass(frozen=True, slots=True)
class _Harvester:
    """A script that harvests by a rule."""

    verb: str
    """First word of a harvest."""
    constant: int | None = None
    """Units of every harvest; None for the fair share."""
    endgame: bool = False
    """True to take the whole stock in the last month."""
    wordy: bool = False
    """True to propose the fair share in many words."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the act or the message of this turn."""
        facts = turn.facts
        if facts["harvest"]:
            units = int(facts["fair"]) if self.constant is None else self.constant
            last = self.endgame and facts["month"] + 1 == facts["months"]
            return f"> {self.verb} {int(facts['stock']) if last else units}"
        if self.wordy and facts["talk"]:
            return random.choice(_WORDY).format(n=_next_share(turn))
        return ""


@dataclass(frozen=True, slots=True)
class _Newcomer:
    """A fair script whose newcomer is reckless until it is told a share."""

    verb: str
    """First word of a harvest."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the act, or the proposal that the newcomer needs."""
        facts = turn.facts
        if facts["harvest"]:
            tame = 0 < facts["last_wanted"] <= facts["last_fair"]
            fair = not facts["joined"] or tame or lowest_proposal(turn.text) is not None
            return f"> {self.verb} {int(facts['fair']) if fair else _RECKLESS}"
        proposes = facts["talk"] and facts["last_overuse"] and not facts["joined"]
        return proposal(_next_share(turn)) if proposes else ""


@dataclass(frozen=True, slots=True)
class Teacher:
    """A teammate of mixed style; see the module."""

    style: TeacherStyle
    """Fractions of terse, silent and optimal turns."""
    verb: str
    """First word of a harvest."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the act or the message of this turn."""
        if turn.facts["harvest"]:
            return f"> {self.verb} {self._units(turn, random)}"
        if random.random() < self.style.silent:
            return ""
        units = _next_share(turn)
        if random.random() < self.style.terse:
            return proposal(units)
        return random.choice(_WORDY[: self.style.frames]).format(n=units)

    def _units(self, turn: TurnView, random: Random) -> int:
        fair, proposed = int(turn.facts["fair"]), lowest_proposal(turn.text)
        if proposed is not None and random.random() < COMPLIANCE:
            return proposed
        if random.random() < self.style.best:
            return fair
        return max(0, fair + random.randint(*((-5, -1) if turn.facts["inverse"] else (1, 6))))


def _next_share(turn: TurnView) -> int:
    """Return the fair share of the next month, which follows from the rest of the stock."""
    facts = turn.facts
    if facts["inverse"]:
        return -(-int(facts["stock"]) // int(facts["agents"]))
    return min(CAPACITY, 2 * int(facts["stock"])) // 2 // int(facts["agents"])
