"""Jury: uneven, noisy sight, one word each, and silence that tells how sure one is.

A color is hidden. Every agent has eyes, dim, fair or sharp with equal chance, which see it rightly
with the probabilities of `theory.EYES`, and reads how good its own are. Helpers say the color that
they saw or nothing, all in the same round; then a solver, which has eyes of its own, answers by an
act. Only the name of a color is heard. A word cannot say how sure its speaker is, but silence can:
where the dim are silent, the others' words weigh more. `theory` has the best rule at every price.

A team of one solver is the single agent: it looks once in each round and remembers all it saw.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from laconic.envs.checks import Bound, Count, check_fields
from laconic.envs.declarations import Metric, Recipe
from laconic.envs.errors import SettingError
from laconic.envs.library.jury import scripts
from laconic.envs.library.jury.theory import EYES, alone, best, posterior, sight
from laconic.envs.task import PRICE, Score, Task
from laconic.envs.worlds.base import Script, TeacherStyle, World

COLORS = ("red", "blue", "green", "yellow", "white")
"""Colors of the largest world; a smaller one has the first of them."""
WORDS = ("dim", "fair", "sharp")
"""Name of each kind of eyes."""
_MOST = 4096
"""Largest number of states that are listed."""


@dataclass(frozen=True, slots=True)
class State:
    """What is hidden, what was seen, and what was said."""

    color: int
    """Index of the hidden color."""
    eyes: Mapping[str, int]
    """Agent -> index of its eyes."""
    looks: Mapping[str, tuple[int, ...]]
    """Agent -> colors that it sees, one in each round of looking."""
    round: int = 0
    """Rounds played."""
    spoke: Mapping[str, str] = field(default_factory=dict)
    """Agent -> its message in the round of talk."""
    answer: int | None = None
    """Color of the answer."""


@dataclass(frozen=True, slots=True)
class Jury(World[State, str]):
    """A jury; see the module."""

    colors: Annotated[int, Bound(ge=2, le=5)] = 2
    """Number of colors, 2 to 5."""
    looks: Count = 1
    """Times that every agent looks, once a round, each time by chance again."""
    told: bool = True
    """True if agents read how good their eyes are."""
    paid: Literal["answer", "expected"] = "answer"
    """What pays: a right `answer`, or the answer's probability given what all agents saw (same
    mean, less noise)."""

    name: ClassVar[str] = "jury"
    metrics = {
        "spoke_dim": Metric(
            "Share of the helpers with dim eyes that spoke in a round of `jury`.", share=True
        ),
        "spoke_fair": Metric("The same of helpers with fair eyes.", share=True),
        "spoke_sharp": Metric("The same of helpers with sharp eyes.", share=True),
    }
    recipe = Recipe(
        Path(__file__).with_name("policy"),
        minutes=4,
        max_reply_tokens=9,
        # All states in an evaluation; a message says little, so many tasks in small groups.
        training={
            "evaluation.tasks": None,
            "train.tasks_per_step": 128,
            "train.group_size": 4,
            "optimizer.lr": 2e-4,
        },
        target=0.8,
        # Helpers speak after 100 updates; the solver reads its own eyes only after 300.
        first=400,
    )
    common_reward: ClassVar[bool] = True
    only_phrases: ClassVar[bool] = True
    defaults: ClassVar[Mapping[str, Any]] = {
        # The best rule says two words in the mean.
        "reward": {"price": PRICE, "normalizer": 2},
        "budget": {"message": 8},
        "instructions": "brief",
    }
    script_names: ClassVar[Sequence[str]] = scripts.NAMES

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self, "env")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the colors."""
        return COLORS[: self.colors]

    @property
    def acts(self) -> tuple[str, ...]:  # type: ignore[override]
        """The answers."""
        return self.names

    @property
    def phrases(self) -> tuple[str, ...]:  # type: ignore[override]
        """The messages."""
        return self.names

    @property
    def facts(self) -> Mapping[str, float]:  # type: ignore[override]
        """Names of the numbers that an agent knows, with their usual maxima."""
        return {
            **{"talk": 1.0, "answer": 1.0, "helpers": 3.0, "eyes": len(EYES) - 1.0, "silent": 3.0},
            **{f"seen_{name}": float(self.looks) for name in self.names},
            **{f"heard_{name}": 3.0 for name in self.names},
        }

    @property
    def chance(self) -> float:  # type: ignore[override]
        """Part of the answers that luck gets right."""
        return 1 / self.colors

    @property
    def graded(self) -> bool:  # type: ignore[override]
        """True if a likely answer earns a part."""
        return self.paid == "expected"

    @property
    def team(self) -> Mapping[str, int]:
        """A solver and three helpers."""
        return {"solver": 1, "helper": 3}

    @property
    def rounds(self) -> int:
        """Rounds of looking, in the last of which helpers talk, and one to answer."""
        return self.looks + 1

    @property
    def goal(self) -> str:  # type: ignore[override]
        """Description of the game, for every agent."""
        rates = ", ".join(f"{word} eyes {r:.0%}" for word, r in zip(WORDS, EYES, strict=True))
        return (
            f"One of these colors is hidden: {', '.join(self.names)}. You saw it, perhaps wrongly:"
            f" {rates} of the time rightly. Helpers may say one color, in one word, or nothing."
            " Then the solver answers. A right answer earns 1."
        )

    @property
    def duties(self) -> Mapping[str, str]:  # type: ignore[override]
        """Description of each role."""
        return {
            "solver": self.answer_form,
            "helper": "Say the color that you saw, or say nothing.",
        }

    def start(self, task: Task, agents: Sequence[str], generator: np.random.Generator) -> State:
        """Draw a color, and eyes and sights for each agent in turn.

        Raises:
            SettingError: there is no solver, or several.
        """
        solvers = [agent for agent in agents if agent.startswith("solver")]
        if len(solvers) != 1:
            raise SettingError(f"jury needs one solver; got env.team with {len(solvers)}")
        if "state" in task.details:
            listed: State = task.details["state"]
            return listed
        random = Random(task.question)
        color = random.randrange(self.colors)
        others = [each for each in range(self.colors) if each != color]
        eyes, looks = {}, {}
        for agent in agents:
            eyes[agent] = random.randrange(len(EYES))
            looks[agent] = tuple(
                color if random.random() < EYES[eyes[agent]] else random.choice(others)
                for _ in range(self.looks)
            )
        return State(color, eyes, looks)

    def all_tasks(self, agents: Sequence[str]) -> tuple[Task, ...]:
        """List every color with all eyes and sights; none if there are more than `_MOST`."""
        if self.colors * (len(EYES) * self.colors**self.looks) ** len(agents) > _MOST:
            return ()
        views = list(product(range(len(EYES)), product(range(self.colors), repeat=self.looks)))
        words = [
            " ".join([WORDS[eyes], *map(self.names.__getitem__, looks)]) for eyes, looks in views
        ]
        tasks: list[Task] = []
        for color in range(self.colors):
            chances = [
                math.prod(sight(self.colors, EYES[eyes])[color, list(looks)]) / len(EYES)
                for eyes, looks in views
            ]
            for seen in product(range(len(views)), repeat=len(agents)):
                own = {agent: views[view] for agent, view in zip(agents, seen, strict=True)}
                eyes = {agent: each for agent, (each, _) in own.items()}
                looks = {agent: each for agent, (_, each) in own.items()}
                question = ", ".join(
                    f"{agent} {words[view]}" for agent, view in zip(agents, seen, strict=True)
                )
                tasks.append(
                    Task(
                        f"all/{len(tasks)}",
                        f"{self.names[color]}: {question}",
                        (),
                        "",
                        details={"state": State(color, eyes, looks)},
                        weight=math.prod(chances[view] for view in seen) / self.colors,
                    )
                )
        return tuple(tasks)

    def best_reward(self, agents: Sequence[str], price: float, round_price: float) -> float | None:
        """Return the reward of the best rule that all helpers follow without chance.

        A team may earn more where some of many helpers stay silent. For the single agent it is that
        of its best answer. None where agents do not know their eyes, or helpers look more than
        once.
        """
        helpers, time = len(agents) - 1, self.rounds * round_price
        if not self.told or (helpers and self.looks > 1):
            return None
        if not helpers:
            return alone(self.looks, self.colors) - time
        plan = best(price, helpers, self.colors)
        return plan.accuracy - price * plan.words - time

    def observe(self, state: State, agent: str) -> str:
        """Return what the agent sees now; the solver is asked in the last round."""
        if state.round >= self.looks:
            return "Answer now." if agent.startswith("solver") else ""
        seen = f"You saw {self.names[state.looks[agent][state.round]]}."
        if self.told and state.round == 0:
            return f"Your eyes are {WORDS[state.eyes[agent]]}. {seen}"
        return seen

    def may_talk(self, state: State, agent: str) -> bool:
        """Return True for helpers in the last round of looking."""
        return state.round == self.looks - 1 and not agent.startswith("solver")

    def legal_acts(self, state: State, agent: str) -> Collection[str]:
        """Return the answers, for the solver in the last round."""
        return self.names if state.round == self.looks and agent.startswith("solver") else ()

    def apply(
        self,
        state: State,
        acts: Mapping[str, str],
        messages: Mapping[str, str],
        generator: np.random.Generator,
    ) -> tuple[State, Mapping[str, float]]:
        """Play a round; the answer pays every agent."""
        if state.round == self.looks - 1:
            state = replace(state, spoke=dict(messages))
        after = replace(state, round=state.round + 1)
        if state.round < self.looks:
            return after, {}
        said = next(iter(acts.values()), None)
        if said is None:
            return after, {}
        after = replace(after, answer=self.names.index(said))
        if self.paid == "expected":
            gain = float(posterior(state.looks, state.eyes, self.colors)[self.names.index(said)])
        else:
            gain = float(after.answer == state.color)
        return after, dict.fromkeys(state.eyes, gain)

    def score(self, state: State) -> Score:
        """Score a right answer 1; measures say who spoke, by eyes."""
        right = state.answer == state.color
        told = "" if state.answer is None else self.names[state.answer]
        spoke: dict[str, list[bool]] = {}
        for agent, eyes in state.eyes.items():
            if not agent.startswith("solver"):
                spoke.setdefault(f"spoke_{WORDS[eyes]}", []).append(bool(state.spoke.get(agent)))
        measures = {name: sum(each) / len(each) for name, each in spoke.items()}
        return Score(float(right), right, told, measures=measures)

    def facts_for(self, state: State, agent: str) -> Mapping[str, float]:
        """Return what the agent saw and heard, as numbers."""
        helpers = [each for each in state.eyes if not each.startswith("solver")]
        values = dict.fromkeys(self.facts, 0.0)
        values["talk"] = float(self.may_talk(state, agent))
        values["answer"] = float(bool(self.legal_acts(state, agent)))
        values["helpers"] = float(len(helpers))
        values["eyes"] = float(state.eyes[agent] if self.told else WORDS.index("fair"))
        for look in state.looks[agent][: state.round + 1]:
            values[f"seen_{self.names[look]}"] += 1
        for helper in helpers if state.round == self.looks else ():
            word = state.spoke.get(helper, "")
            values[f"heard_{word}" if word in self.names else "silent"] += 1
        return values

    def script(self, name: str) -> Script:
        """Return a scripted agent; see `scripts`."""
        return scripts.script(name, self.names)

    def teacher(self, style: TeacherStyle) -> Script:
        """Return the agent that a warm start imitates; see `scripts`."""
        return scripts.Teacher(style, self.names)
