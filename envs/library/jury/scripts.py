"""Scripts for a jury, driven by an agent's facts.

- `threshold:<price>`: the best rule where a word costs this reward, with the best listener.
- `oracle`, `threshold`: the same at price 0.
- `verbose`: all helpers speak, with the best listener.
- `majority`: all helpers speak, and the solver counts what it saw as one more vote.
- `expert`: the sharp speak, with the best listener.
- `mute`: no helper speaks, and the solver answers what it saw.

The teacher of a warm start is silent more often the worse its eyes are. Its solver gives the best
answer to such helpers, or at times that of the majority.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.jury import theory
from laconic.envs.library.jury.theory import EYES, Rule
from laconic.envs.worlds.base import Script, TeacherStyle, TurnView, act_line

NAMES = ("threshold:", "threshold", "expert", "majority", "mute", "oracle", "verbose")
"""Names of the scripts."""
SHYNESS = (2.0, 1.0, 0.2)
"""Silent turns of the teacher with dim, fair and sharp eyes, as multiples of `style.silent`."""


def script(name: str, colors: Sequence[str]) -> Script:
    """Return a script for a jury of these colors.

    Raises:
        UnknownNameError: no script has this name.
        SettingError: `threshold:` is not followed by a price of at least 0.
    """
    kind, colon, number = name.partition(":")
    if kind + colon == "threshold:":
        try:
            price = float(number)
        except ValueError:
            price = -1.0
        if not price >= 0:
            raise SettingError(
                "agent.script=threshold:<price> needs the reward that a word costs, at least 0; got"
                f" {name!r}"
            )
        return _Member(colors, price)
    count = len(colors)
    scripts: dict[str, Script] = {
        "threshold": _Member(colors, 0.0),
        "oracle": _Member(colors, 0.0),
        "verbose": _Member(colors, rule=everyone(count)),
        "majority": _Member(colors, rule=everyone(count), counts_votes=True),
        "expert": _Member(colors, rule=((0.0, 0.0, 1.0),) * count),
        "mute": _Member(colors, rule=((0.0, 0.0, 0.0),) * count),
    }
    if name not in scripts:
        raise UnknownNameError("agent.script", name, NAMES)
    return scripts[name]


def everyone(colors: int) -> Rule:
    """Return the rule under which all helpers speak."""
    return ((1.0,) * len(EYES),) * colors


@dataclass(frozen=True, slots=True)
class _Member:
    """A helper that follows a rule, or a solver that knows it."""

    colors: Sequence[str]
    """Names of the colors."""
    price: float = 0.0
    """Reward that a word costs, for the best rule."""
    rule: Rule | None = None
    """Rule of the helpers. None: the best one at the price."""
    counts_votes: bool = False
    """True to answer what most saw, and of equal colors the solver's own."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the word, the act or the silence of this turn."""
        facts = turn.facts
        seen = [i for i, name in enumerate(self.colors) for _ in range(int(facts[f"seen_{name}"]))]
        rule = self.rule or theory.best(self.price, int(facts["helpers"]), len(self.colors)).rule
        if facts["talk"]:
            speaks = rule[seen[-1]][int(facts["eyes"])]
            return self.colors[seen[-1]] if random.random() < speaks else ""
        if not facts["answer"]:
            return ""
        if self.counts_votes:
            return act_line(majority(facts, self.colors))
        counts = [int(facts["silent"]), *(int(facts[f"heard_{name}"]) for name in self.colors)]
        best = theory.answer(rule, counts, seen, EYES[int(facts["eyes"])])
        return act_line(self.colors[best])


def majority(facts: Mapping[str, float], colors: Sequence[str]) -> str:
    """Return the color with most votes; of equal ones that which the solver saw itself."""
    votes = {name: facts[f"heard_{name}"] + facts[f"seen_{name}"] for name in colors}
    return max(colors, key=lambda name: (votes[name], facts[f"seen_{name}"]))


@dataclass(frozen=True, slots=True)
class Teacher:
    """A teammate of mixed style; see the module."""

    style: TeacherStyle
    """Fractions of silent turns, of a helper with fair eyes, and of best answers."""
    colors: Sequence[str]
    """Names of the colors."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the word, the act or the silence of this turn."""
        if turn.facts["answer"] and random.random() >= self.style.best:
            return act_line(majority(turn.facts, self.colors))
        speaks = tuple(1 - min(self.style.silent * each, 1.0) for each in SHYNESS)
        return _Member(self.colors, rule=(speaks,) * len(self.colors))(turn, random)
