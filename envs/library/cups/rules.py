"""Cups: where is the ball? Every agent saw a part of the shuffling, and the last one answers.

All know under which cup the ball begins. Each agent reads its own part, as moves of cups in words;
the parts follow each other in the order of the agents. A message is one name of a cup, which says
where the ball is, or the names of all cups but one, which tell a part: where the first cup goes,
where the second one goes, and so on. All speak at the same time and hear each other. The last agent
answers by an act.

Where the parts are pages of one agent, it reads one in each round and remembers all. `theory` has
the protocols and where each is best.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar

import numpy as np

from laconic.envs.checks import Bound, Count, check_fields
from laconic.envs.declarations import Recipe
from laconic.envs.errors import SettingError
from laconic.envs.library.cups import scripts, theory
from laconic.envs.task import PRICE, Score, Task
from laconic.envs.worlds.base import Script, TeacherStyle, World

COLORS = ("red", "blue", "green", "white")
"""Names of the cups of the largest world; a smaller one has the first of them."""
Move = tuple[int, ...]
"""(cups,) The cup to which each one goes."""


@dataclass(frozen=True, slots=True)
class State:
    """The beginning, the parts, and the answer."""

    begin: int
    """Cup under which the ball begins."""
    parts: Mapping[str, tuple[Move, ...]]
    """Agent -> its part, or its pages, in order."""
    round: int = 0
    """Rounds played."""
    said: tuple[Mapping[str, str], ...] = ()
    """Message of each agent in each round; silent agents are missing."""
    answer: int | None = None
    """Cup of the answer."""

    @property
    def end(self) -> int:
        """Cup under which the ball ends."""
        cup = self.begin
        for part in self.parts.values():
            for move in part:
                cup = move[cup]
        return cup


# Asked for by every agent in every round.
@cache
def _phrases(names: tuple[str, ...]) -> tuple[str, ...]:
    return (*names, *map(" ".join, permutations(names, len(names) - 1)))


@cache
def _facts(names: tuple[str, ...]) -> Mapping[str, float]:
    most, phrases = float(len(names)), float(len(_phrases(names)))
    places = range(_PLACES)
    return {
        **{"round": 4.0, "deadline": 4.0, "begin": most, "place": 4.0, "members": 4.0},
        **{"pages": 4.0, "read": 4.0},
        **{f"goes_{name}": most for name in names},
        **{f"said_{place}_{round}": phrases for place in places for round in places},
    }


@dataclass(frozen=True, slots=True)
class Cups(World[State, str]):
    """Cups and a ball; see the module."""

    cups: Annotated[int, Bound(ge=3, le=4)] = 3
    """Number of cups, 3 to 4."""
    pages: Count = 1
    """Pages of each agent's part; it reads one a round."""
    deadline: Count | None = None
    """Rounds in which the last agent may answer; None: 4."""

    name: ClassVar[str] = "cups"
    recipe = Recipe(
        Path(__file__).with_name("policy"),
        minutes=12,
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
        "reward": {"price": PRICE, "normalizer": 1.333},
        "budget": {"message": 12},
        "instructions": "brief",
    }
    script_names: ClassVar[Sequence[str]] = scripts.NAMES

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self, "env")

    @property
    def chance(self) -> float:  # type: ignore[override]
        """Part of the answers that luck gets right."""
        return 1 / self.cups

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the cups."""
        return COLORS[: self.cups]

    @property
    def acts(self) -> tuple[str, ...]:  # type: ignore[override]
        """The answers."""
        return self.names

    @property
    def phrases(self) -> tuple[str, ...]:  # type: ignore[override]
        """A name, or the cups to which all but the last one go."""
        return _phrases(self.names)

    @property
    def facts(self) -> Mapping[str, float]:  # type: ignore[override]
        """Names of the numbers that an agent knows, with their usual maxima.

        A cup is its index plus 1. `goes_<cup>` is where the parts that the agent read bring it, and
        `said_<place>_<round>` the index of the phrase, plus 1, of the agent of this place.
        """
        return dict(_facts(self.names))

    @property
    def team(self) -> Mapping[str, int]:
        """Three members."""
        return {"member": 3}

    @property
    def rounds(self) -> int:
        """Rounds until the deadline."""
        return 4 if self.deadline is None else self.deadline

    @property
    def goal(self) -> str:  # type: ignore[override]
        """Description of the game, for every agent."""
        return (
            f"A ball is under one of these cups: {', '.join(self.names)}. The cups were moved in"
            " parts, one part for each of you, in your order. You saw your own part. In each round"
            " you may name the cup where the ball is after your part, or tell your part: the cups"
            f" to which {', '.join(self.names[:-1])} go, in this order. The last of you answers."
            f" There are {self.rounds} rounds. A right answer earns 1."
        )

    def start(self, task: Task, agents: Sequence[str], generator: np.random.Generator) -> State:
        """Draw the first cup and every part.

        Raises:
            SettingError: there are more agents than numeric agents can hear.
        """
        if len(agents) > _PLACES:
            raise SettingError(
                f"cups has at most {_PLACES} agents; got env.team with {len(agents)}"
            )
        random = Random(task.question)
        cups = range(self.cups)
        parts = {
            agent: tuple(tuple(random.sample(cups, self.cups)) for _ in range(self.pages))
            for agent in agents
        }
        return State(random.randrange(self.cups), parts)

    def best_reward(self, agents: Sequence[str], price: float, round_price: float) -> float | None:
        """Return the best reward of a team of up to three with three cups, or of a single agent.

        None for teams with pages, and for larger ones, of which the best is not known.
        """
        alone = len(agents) == 1
        if not alone and (self.pages > 1 or len(agents) > 3 or self.cups > 3):
            return None
        parts = self.pages if alone else len(agents)
        return theory.best(parts, price, round_price, self.cups, alone, self.rounds).reward

    def observe(self, state: State, agent: str) -> str:
        """Return the page of the round; at first also where the ball begins."""
        part = state.parts[agent]
        moves = ""
        if state.round < len(part):
            # Cups that stay are listed too, so that each part has one form.
            pairs = (
                f"{self.names[cup]} to {self.names[goes]}"
                for cup, goes in enumerate(part[state.round])
            )
            moves = f"{', '.join(pairs)}."
        if state.round:
            return moves
        agents = list(state.parts)
        place = agents.index(agent)
        follows = f" You follow {agents[place - 1]}." if place else ""
        return f"Your part: {moves} The ball begins under {self.names[state.begin]}.{follows}"

    def legal_acts(self, state: State, agent: str) -> Collection[str]:
        """Return the answers, for the last agent."""
        return self.names if agent == list(state.parts)[-1] else ()

    def apply(
        self,
        state: State,
        acts: Mapping[str, str],
        messages: Mapping[str, str],
        generator: np.random.Generator,
    ) -> tuple[State, Mapping[str, float]]:
        """Play a round; the answer pays every agent."""
        said = {agent: message for agent, message in messages.items() if message}
        answer = next((self.names.index(act) for act in acts.values()), None)
        after = replace(state, round=state.round + 1, said=(*state.said, said), answer=answer)
        if answer is None:
            return after, {}
        return after, dict.fromkeys(state.parts, float(answer == state.end))

    def is_over(self, state: State) -> bool:
        """Return True after an answer."""
        return state.answer is not None

    def score(self, state: State) -> Score:
        """Score a right answer 1."""
        right = state.answer == state.end
        return Score(float(right), right, "" if state.answer is None else self.names[state.answer])

    def facts_for(self, state: State, agent: str) -> Mapping[str, float]:
        """Return what the agent read and heard, as numbers."""
        values = dict.fromkeys(self.facts, 0.0)
        agents, part = list(state.parts), state.parts[agent]
        read = part[: state.round + 1]
        values |= {
            **{"round": float(state.round), "deadline": float(self.rounds)},
            **{"begin": state.begin + 1.0, "place": float(agents.index(agent))},
            **{"members": float(len(agents)), "pages": float(len(part)), "read": float(len(read))},
        }
        for cup, name in enumerate(self.names):
            place = cup
            for move in read:
                place = move[place]
            values[f"goes_{name}"] = place + 1.0
        for round, said in enumerate(state.said[:_PLACES]):
            for speaker, message in said.items():
                key = f"said_{agents.index(speaker)}_{round}"
                values[key] = self.phrases.index(message) + 1.0
        return values

    def script(self, name: str) -> Script:
        """Return a scripted agent; see `scripts`."""
        return scripts.script(name, self.names, self.phrases)

    def teacher(self, style: TeacherStyle) -> Script:
        """Return the agent that a warm start imitates; see `scripts`."""
        if self.pages > 1:
            return scripts.Reader(self.names, silent=style.silent)
        return scripts.Relay(
            self.names, self.phrases, silent=style.silent, still=0.6, early=0.5, hasty=0.3
        )


_PLACES = 8
"""Largest team, and rounds that numeric agents remember."""
