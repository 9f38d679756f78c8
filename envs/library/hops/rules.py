"""Hops: who is k steps after Ana? Each agent knows some links of the chain, and time is short.

Every name asks another one ("Ana asks Ben."), in one cycle through all names. The facts are dealt
evenly. Agents say one name a round, or nothing, all at the same time, and any of them may answer by
an act. Exactly one agent holds something useful in each round, and which one depends on what was
said before. The round tells the step: the name said in round r is the r-th of the chain, so a
member that holds two links in a row waits in silence.

Where facts are cut into pages, an agent reads one in each round and remembers all. A team of one
with as many pages as there would be members is the single agent, under the same deadline.
`theory` has what both reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar

import numpy as np

from laconic.envs.checks import Bound, Count, check_fields, whole
from laconic.envs.declarations import Recipe
from laconic.envs.errors import SettingError
from laconic.envs.library.hops import scripts, theory
from laconic.envs.task import PRICE, Score, Task
from laconic.envs.worlds.base import Script, TeacherStyle, World

NAMES = (
    *("Ana", "Ben", "Cal", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jon", "Kim", "Lea"),
    *("Max", "Nia", "Oli", "Pia", "Quin", "Ray", "Sue", "Tom", "Uma", "Val", "Wes", "Zoe"),
)
"""Names of the largest world; a smaller one has the first of them."""


@dataclass(frozen=True, slots=True)
class State:
    """The chain, who knows which link, and what was said."""

    chain: tuple[int, ...]
    """Indices of all names, from the one in the question; the last one asks the first."""
    pages: Mapping[str, tuple[tuple[int, ...], ...]]
    """Agent -> names whose links are on each of its pages."""
    round: int = 0
    """Rounds played."""
    said: tuple[Mapping[str, int], ...] = ()
    """Name that each agent said in each round; silent agents are missing."""
    answers: Mapping[str, int] = field(default_factory=dict)
    """Answers of the round in which the first ones came."""

    def after(self, name: int) -> int:
        """Return the name that a name asks."""
        return self.chain[(self.chain.index(name) + 1) % len(self.chain)]

    def read(self, agent: str) -> list[int]:
        """Return the names whose links an agent has read by now."""
        return [name for page in self.pages[agent][: self.round + 1] for name in page]


@dataclass(frozen=True, slots=True)
class Hops(World[State, str]):
    """A chain of names; see the module."""

    names: Annotated[int, Bound(ge=4, le=24)] = 12
    """Number of names, 4 to 24."""
    steps: int = 3
    """Steps from the first name to the one asked for, below the number of names."""
    pages: Count = 1
    """Pages into which the facts of each agent are cut; it reads one a round."""
    deadline: Count | None = None
    """Rounds in which the team may answer; None: as many as steps."""

    name: ClassVar[str] = "hops"
    recipe = Recipe(
        Path(__file__).with_name("policy"),
        minutes=8,
        max_reply_tokens=9,
        training={
            "train.steps": 100,
            "train.tasks_per_step": 64,
            "train.group_size": 4,
            "optimizer.lr": 3e-4,
        },
        target=0.99,
    )
    common_reward: ClassVar[bool] = True
    only_phrases: ClassVar[bool] = True
    defaults: ClassVar[Mapping[str, Any]] = {
        "reward": {"price": PRICE, "normalizer": 2},
        "budget": {"message": 8},
        "instructions": "brief",
    }
    script_names: ClassVar[Sequence[str]] = scripts.NAMES

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self, "env")
        whole("env.steps", self.steps, 1, self.names - 1)

    @property
    def chance(self) -> float:  # type: ignore[override]
        """Part of the answers that luck gets right: any name but the first."""
        return 1 / (self.names - 1)

    @property
    def known(self) -> tuple[str, ...]:
        """Names of this world."""
        return NAMES[: self.names]

    @property
    def acts(self) -> tuple[str, ...]:  # type: ignore[override]
        """The answers."""
        return self.known

    @property
    def phrases(self) -> tuple[str, ...]:  # type: ignore[override]
        """The messages."""
        return self.known

    @property
    def facts(self) -> Mapping[str, float]:  # type: ignore[override]
        """Names of the numbers that an agent knows, with their usual maxima.

        A name is its index plus 1. `next_<name>` is whom it asks, and `said_<name>` the number of
        the round in which it was first said, 1 for the first.
        """
        names, rounds = float(self.names), float(self.rounds)
        return {
            **{"round": rounds, "deadline": rounds, "first": names, "steps": names},
            **{f"next_{name}": names for name in self.known},
            **{f"said_{name}": rounds for name in self.known},
        }

    @property
    def team(self) -> Mapping[str, int]:
        """Four members."""
        return {"member": 4}

    @property
    def rounds(self) -> int:
        """Rounds until the deadline."""
        return self.steps if self.deadline is None else self.deadline

    @property
    def goal(self) -> str:  # type: ignore[override]
        """Description of the game, for every agent."""
        return (
            f"Each of {self.names} names asks another one, in one circle. You know some of these"
            f" facts, and others know the rest. Find who is {self.steps} steps after a name."
            f" There are {self.rounds} rounds, in which each of you may say one name or nothing."
            " The first answer ends the game. A right answer earns 1."
        )

    def start(self, task: Task, agents: Sequence[str], generator: np.random.Generator) -> State:
        """Draw the circle and deal its links.

        Raises:
            SettingError: the names cannot be divided evenly among agents and pages.
        """
        shares = len(agents) * self.pages
        if self.names % shares:
            raise SettingError(
                f"hops deals env.names={self.names} facts evenly among {len(agents)} agents with"
                f" env.pages={self.pages} each; {self.names} cannot be divided by {shares}"
            )
        random = Random(task.question)
        chain = random.sample(range(self.names), self.names)
        dealt = theory.deal(random.sample(chain, self.names), shares)
        pages = {
            agent: tuple(map(tuple, dealt[place * self.pages : (place + 1) * self.pages]))
            for place, agent in enumerate(agents)
        }
        return State(tuple(chain), pages)

    def best_reward(self, agents: Sequence[str], price: float, round_price: float) -> float | None:
        """Return the reward of the best known team, or of the best single agent.

        None where a team has pages, or not as many rounds as steps: with more time, silence says
        more. None also where the single agent's best is not known.
        """
        if len(agents) > 1:
            if self.pages > 1 or self.rounds != self.steps:
                return None
            return theory.best(self.steps, self.names, len(agents), price, round_price)[1]
        played = min(self.rounds, self.pages)
        right = theory.alone(self.steps, self.names, self.names * played // self.pages)
        # With a price of time, a shorter reading may pay.
        return None if right is None or round_price else right

    def observe(self, state: State, agent: str) -> str:
        """Return the page of the round, and the question at first."""
        pages = state.pages[agent]
        page = pages[state.round] if state.round < len(pages) else ()
        facts = " ".join(f"{NAMES[name]} asks {NAMES[state.after(name)]}." for name in page)
        if state.round:
            return facts
        steps = f"{self.steps} step{'s' if self.steps > 1 else ''}"
        return f"{facts} Who is {steps} after {NAMES[state.chain[0]]}?"

    def apply(
        self,
        state: State,
        acts: Mapping[str, str],
        messages: Mapping[str, str],
        generator: np.random.Generator,
    ) -> tuple[State, Mapping[str, float]]:
        """Play a round; answers pay every agent if all of them are right."""
        said = {agent: NAMES.index(word) for agent, word in messages.items() if word}
        answers = {agent: NAMES.index(word) for agent, word in acts.items()}
        after = replace(state, round=state.round + 1, said=(*state.said, said), answers=answers)
        gain = float(self._is_right(after))
        return after, dict.fromkeys(state.pages, gain) if answers else {}

    def is_over(self, state: State) -> bool:
        """Return True after an answer."""
        return bool(state.answers)

    def score(self, state: State) -> Score:
        """Score 1 if there are answers and all of them are right."""
        right = self._is_right(state)
        told = " ".join(NAMES[name] for name in dict.fromkeys(state.answers.values()))
        return Score(float(right), right, told)

    def _is_right(self, state: State) -> bool:
        return {*state.answers.values()} == {state.chain[self.steps]}

    def facts_for(self, state: State, agent: str) -> Mapping[str, float]:
        """Return what the agent read and heard, as numbers."""
        values = dict.fromkeys(self.facts, 0.0)
        values["round"], values["first"] = float(state.round), state.chain[0] + 1.0
        values["steps"], values["deadline"] = float(self.steps), float(self.rounds)
        for name in state.read(agent):
            values[f"next_{NAMES[name]}"] = state.after(name) + 1.0
        for round, said in reversed(list(enumerate(state.said, 1))):
            for name in said.values():
                values[f"said_{NAMES[name]}"] = float(round)
        return values

    def script(self, name: str) -> Script:
        """Return a scripted agent; see `scripts`."""
        return scripts.script(name, self.known)

    def teacher(self, style: TeacherStyle) -> Script:
        """Return the agent that a warm start imitates; see `scripts`."""
        if self.pages > 1:
            return scripts.Reader(self.known, silent=style.silent)
        return scripts.Member(self.known, waits=style.silent)
