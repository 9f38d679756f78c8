"""Matrix games: agents choose at the same time, again and again, after talk that binds no one.

- `ipd`, the iterated prisoner's dilemma: payoffs of arXiv 2602.16301.
- `stag`, the stag hunt: a stag needs both hunters, a hare none.
- `threshold` (ATP, aiming-lab/ATP, MIT; written from the rules): each of eight agents has a capital
  of 1. If at least `threshold` of them choose `collective`, every capital grows by a fifth.
  Otherwise a collective one shrinks by a fifth, and an independent one stays.

After each choice all agents read what was chosen. Before each choice there are `chat` rounds of
talk, at a price.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar, Literal

import numpy as np

from laconic.envs.checks import Count, Whole, check_fields
from laconic.envs.declarations import Metric
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import PRICE, Score, Task
from laconic.envs.worlds.base import Script, TeacherStyle, TurnView, World, act_line

GAIN = 0.2
"""Fraction by which a capital grows or shrinks."""
PAYOFFS: Mapping[str, tuple[float, float, float, float]] = {
    "ipd": (1.0, -1.0, 2.0, 0.0),
    "stag": (1.0, 0.0, 0.75, 0.75),
}
"""Payoff of a round in the games of two, for own and other's act: both the first act, own alone,
other's alone, neither."""
ACTS: Mapping[str, tuple[str, str]] = {
    "ipd": ("C", "D"),
    "stag": ("stag", "hare"),
    "threshold": ("collective", "independent"),
}
"""The act that pays if others choose it too, and the other one, which is also the default."""
GOALS: Mapping[str, str] = {
    "ipd": "Each round you cooperate (C) or defect (D). You score 1 for C against C, 2 for D"
    " against C, -1 for C against D, and 0 for D against D.",
    "stag": "Each round you hunt a stag or a hare. A stag needs both of you and scores 1 for each,"
    " and 0 for one who hunts it alone. A hare scores 0.75 in any case.",
    "threshold": "Each of you has a capital of 1. Each round you choose collective or independent."
    " If at least {threshold} of you choose collective, every capital grows by 20 percent."
    " Otherwise each collective one loses 20 percent, and each independent one stays as it is.",
}
"""Explanation of each game, for the agents."""
STRATEGIES: Mapping[str, tuple[float, float, float, float, float]] = {
    "allc": (1, 1, 1, 1, 1),
    "alld": (0, 0, 0, 0, 0),
    "tft": (1, 1, 0, 1, 0),
    "wsls": (1, 1, 0, 0, 1),
    "coin": (0.5, 0.5, 0.5, 0.5, 0.5),
}
"""Memory-one strategies: probability of the first act at the beginning, and after a round in which
both chose it, the agent alone, the other alone, or neither."""


def threshold_factor(cooperates: bool, count: int, threshold: int) -> float:
    """Return the factor of a capital in a round.

    Args:
        cooperates: whether its owner chose collective.
        count: number of agents that chose collective.
        threshold: number of them that is needed.
    """
    if count >= threshold:
        return 1 + GAIN
    return 1 - GAIN if cooperates else 1.0


@dataclass(frozen=True, slots=True)
class State:
    """The choices so far."""

    agents: tuple[str, ...]
    """All agents, in order."""
    capital: tuple[float, ...]
    """Sum of payoffs of each agent, or its capital in `threshold`."""
    history: tuple[tuple[bool, ...], ...] = ()
    """True for each agent that chose the first act, round by round."""
    talk: int = 0
    """Rounds of talk since the last choice."""


@dataclass(frozen=True, slots=True)
class Matrix(World[State, str]):
    """A matrix game; see the module."""

    game: Literal["ipd", "stag", "threshold"] = "ipd"
    """The game."""
    length: Count = 10
    """Number of choices in an episode."""
    chat: Whole = 1
    """Rounds of talk before each choice."""
    threshold: Count = 4
    """Agents that have to choose collective, in `threshold`."""
    growth: Literal["multiplicative", "additive"] = "multiplicative"
    """Growth of a capital in `threshold`: of what it has become, or of what it was at first."""

    name: ClassVar[str] = "matrix"
    metrics = {
        "cooperation": Metric(
            "Share of choices in `matrix` that are the first act, such as C.", share=True
        ),
    }
    verdict: ClassVar[bool] = False
    defaults: ClassVar[Mapping[str, Any]] = {
        **World.defaults,
        # The best team says nothing, so no brief team gives the unit.
        "reward": {"price": PRICE, "normalizer": 50},
        "instructions": "brief",
    }
    script_names: ClassVar[Sequence[str]] = (
        *("oracle", "verbose", "imitate", "memory:"),
        *STRATEGIES,
    )
    facts: ClassVar[Mapping[str, float]] = dict.fromkeys(
        ("choose", "talk", "played", "own", "others", "most", "round"), 1.0
    )

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self, "env")

    @property
    def acts(self) -> tuple[str, str]:  # type: ignore[override]
        """The two acts of the game."""
        return ACTS[self.game]

    @property
    def phrases(self) -> tuple[str, ...]:  # type: ignore[override]
        """Announcements of an act; empty if agents cannot talk."""
        return tuple(f"I choose {act}." for act in self.acts) if self.chat else ()

    @property
    def team(self) -> Mapping[str, int]:
        """A player and its partner, or eight players."""
        return {"player": 8} if self.game == "threshold" else {"player": 1, "partner": 1}

    @property
    def rounds(self) -> int:
        """Maximum number of rounds in an episode."""
        return self.length * (1 + self.chat)

    @property
    def max_reward(self) -> float:  # type: ignore[override]
        """Gain of each agent if all choose the first act in every round."""
        if self.game != "threshold":
            return 1.0
        return GAIN * self.length if self.growth == "additive" else (1 + GAIN) ** self.length - 1

    @property
    def goal(self) -> str:  # type: ignore[override]
        """Description of the game, for every agent."""
        talk = "Before each choice you can talk." if self.chat else "You cannot talk."
        goal = GOALS[self.game].format(threshold=self.threshold)
        return f"{goal} There are {self.length} rounds. {talk}"

    def start(self, task: Task, agents: Sequence[str], generator: np.random.Generator) -> State:
        """Return the state before the first choice.

        Raises:
            SettingError: the game does not take this number of agents.
        """
        if self.game != "threshold" and len(agents) != 2:
            raise SettingError(
                f"env.game={self.game} is for two agents; got env.team with {len(agents)}"
            )
        if self.game == "threshold" and len(agents) < self.threshold:
            raise SettingError(
                f"env.threshold must be at most the number of agents, {len(agents)}; got"
                f" {self.threshold}"
            )
        return State(tuple(agents), (float(self.game == "threshold"),) * len(agents))

    def is_over(self, state: State) -> bool:
        """Return True after the last choice."""
        return len(state.history) == self.length

    def may_talk(self, state: State, agent: str) -> bool:
        """Return True in the rounds of talk."""
        return state.talk < self.chat

    def legal_acts(self, state: State, agent: str) -> Collection[str]:
        """Return both acts if a choice is due."""
        return () if self.may_talk(state, agent) else self.acts

    def observe(self, state: State, agent: str) -> str:
        """Return the last choices before the talk, and after it that a choice is due."""
        if state.talk:
            return "" if self.may_talk(state, agent) else "Choose now."
        if not state.history:
            return f"There are {self.length} rounds."
        last, place = state.history[-1], state.agents.index(agent)
        if len(last) == 2:
            own, other = (ACTS[self.game][not chosen] for chosen in (last[place], last[1 - place]))
            return f"You chose {own}, the other {other}."
        return (
            f"{sum(last)} of {len(last)} chose {self.acts[0]}."
            f" Your capital is {state.capital[place]:.3g}."
        )

    def apply(
        self,
        state: State,
        acts: Mapping[str, str],
        messages: Mapping[str, str],
        generator: np.random.Generator,
    ) -> tuple[State, Mapping[str, float]]:
        """Play a round of talk, which gains nothing, or a choice."""
        if state.talk < self.chat:
            return replace(state, talk=state.talk + 1), {}
        chosen = tuple(acts.get(agent) == self.acts[0] for agent in state.agents)
        capital = tuple(map(self._after, state.capital, chosen, (chosen,) * len(chosen)))
        scale = 1.0 if self.game == "threshold" else self.length
        gains = {
            agent: (after - before) / scale
            for agent, before, after in zip(state.agents, state.capital, capital, strict=True)
        }
        state = State(state.agents, capital, (*state.history, chosen))
        return state, gains

    def _after(self, capital: float, own: bool, chosen: tuple[bool, ...]) -> float:
        """Return a capital or sum of payoffs after a choice."""
        if self.game == "threshold":
            factor = threshold_factor(own, sum(chosen), self.threshold)
            return capital * factor if self.growth == "multiplicative" else capital + factor - 1
        other = sum(chosen) > own
        return capital + PAYOFFS[self.game][(not own) * 2 + (not other)]

    def score(self, state: State) -> Score:
        """Score the mean gain as a share of the most."""
        first = float(self.game == "threshold")
        scale = 1.0 if self.game == "threshold" else self.length
        mean = (sum(state.capital) / len(state.capital) - first) / scale
        choices = [chosen for round in state.history for chosen in round]
        share = sum(choices) / len(choices)
        answer = f"{sum(choices)} of {len(choices)} choices are {self.acts[0]}"
        measures = {"cooperation": share}
        return Score(mean / self.max_reward, None, answer, measures=measures)

    def facts_for(self, state: State, agent: str) -> Mapping[str, float]:
        """Return whose turn it is, and the last choice.

        `own` and `others` are the share of first acts, `most` is 1 if they reached the threshold.
        """
        talks = self.may_talk(state, agent)
        values = dict.fromkeys(self.facts, 0.0)
        values |= {"choose": float(not talks), "talk": float(talks)}
        values["round"] = len(state.history) / self.length
        if state.history:
            last = state.history[-1]
            own = last[state.agents.index(agent)]
            values |= {"played": 1.0, "own": float(own)}
            values["others"] = (sum(last) - own) / max(1, len(last) - 1)
            values["most"] = float(sum(last) >= min(self.threshold, len(last)))
        return values

    def script(self, name: str) -> Script:
        """Return a scripted player.

        `oracle` and `verbose` choose the first act, and `verbose` says so. `imitate` chooses what
        paid most in the last round of `threshold`, at first by chance. `memory:<seed>` draws a
        memory-one strategy, and `memory:1/1/0/1/0` names one (`STRATEGIES`).

        Raises:
            UnknownNameError: no script has this name.
            SettingError: `memory:` is followed by neither a whole number nor five probabilities.
        """
        if name in ("oracle", "verbose"):
            return Chooser(self.acts, lambda facts: 1.0, 1.0 if name == "verbose" else 0.0)
        if name == "imitate":
            return Chooser(self.acts, lambda facts: facts["most"] if facts["played"] else 0.5)
        kind, colon, words = name.partition(":")
        if kind + colon == "memory:":
            return Chooser(self.acts, memory_one(numbers(words)))
        if name not in STRATEGIES:
            raise UnknownNameError("agent.script", name, self.script_names)
        return Chooser(self.acts, memory_one(STRATEGIES[name]))

    def teacher(self, style: TeacherStyle) -> Script:
        """Return a player that chooses the first act in a share of its rounds."""
        return Chooser(self.acts, lambda facts: max(0.5, style.best), 1 - style.silent)


@dataclass(frozen=True, slots=True)
class Chooser:
    """A script that chooses by chance, and may announce the first act."""

    acts: tuple[str, str]
    """The two acts."""
    likely: Callable[[Mapping[str, float]], float]
    """Function from facts to the probability of the first act."""
    talks: float = 0.0
    """Probability of an announcement in a round of talk."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the act or the announcement of this turn."""
        if turn.facts["choose"]:
            return act_line(self.acts[random.random() >= self.likely(turn.facts)])
        if random.random() >= self.talks:
            return ""
        return f"I choose {self.acts[0]}, and I hope that you choose {self.acts[0]} as well."


def memory_one(strategy: Sequence[float]) -> Callable[[Mapping[str, float]], float]:
    """Return the probability of the first act as a function of facts; see `STRATEGIES`."""

    def likely(facts: Mapping[str, float]) -> float:
        if not facts["played"]:
            return strategy[0]
        return strategy[1 + 2 * (facts["own"] < 1) + (facts["others"] < 1)]

    return likely


def numbers(words: str) -> tuple[float, ...]:
    """Return the five probabilities that `memory:` names, or draws from a seed.

    Raises:
        SettingError: the words are neither a whole number nor five numbers from 0 to 1.
    """
    if words.isdecimal():
        return tuple(map(float, np.random.default_rng(int(words)).random(5)))
    try:
        strategy = tuple(map(float, words.split("/")))
    except ValueError:
        strategy = ()
    if len(strategy) != 5 or not all(0 <= number <= 1 for number in strategy):
        raise SettingError(
            "agent.script=memory:<strategy> needs a seed or five probabilities, as in"
            f" memory:1/1/0/1/0; got {words!r}"
        )
    return strategy
