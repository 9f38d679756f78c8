"""BoxNet: arms on a grid move boxes to targets, and plan together before each step.

Source: arXiv 2309.15943 (yongchao98/multi-agent-framework, MIT), environment BoxNet1. Written from
the rules and checked against 320 recorded steps of that code.

Rules. Each cell of a grid has one arm. Of each of five colors there are one to three boxes and as
many targets, in random cells. In a step each arm may make one move: a box of its cell to one of the
four neighbor cells, or onto a target of its color in its cell, where both vanish. An episode ends
when the grid is empty, or after 30 steps. A box on its target gains every agent 1 / boxes.

Planning. `HOW` has the ways to plan a step. A center, where there is one, sees all cells. A
dialogue ends after four turns of each arm. An arm agrees to a draft by `I Agree` or by silence.
A plan is speech. A plan with a task that cannot be carried out is sent back to its speaker, at most
6 times. What counts is each arm's own act.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any, ClassVar, Literal

import numpy as np

from laconic.envs.benchmarks.generation import Candidate, draw_different, span
from laconic.envs.checks import Count, check_fields, check_names, choice
from laconic.envs.declarations import Metric
from laconic.envs.dialogue.roster import agent_names
from laconic.envs.errors import SettingError
from laconic.envs.library.boxnet.grid import (
    COLORS,
    KINDS,
    Cells,
    Grid,
    boxes_in,
    tasks_in,
    write_plan,
)
from laconic.envs.library.boxnet.script import AGREE, EXECUTE, Planner
from laconic.envs.task import PRICE, Score, Split, Task
from laconic.envs.worlds.base import Script, TeacherStyle, World

Planning = Literal["none", "discuss", "plan_first", "cmas", "dmas", "hmas1", "hmas2"]
CENTRAL = ("cmas", "hmas1", "hmas2")
"""Ways of planning that have a center."""
TURNS = 4
"""Turns of each arm in a dialogue, at most."""
RESENDS = 6
"""Times that a plan is sent back, at most."""
_MOST = 5
"""Maximum number of boxes of a color."""

_DIALOGUE = "speak in turns, until one says EXECUTE and a plan."
HOW: Mapping[str, str] = {
    "none": "You cannot talk to each other.",
    "discuss": "Before each step you can talk, all at the same time.",
    # CaPo.
    "plan_first": "Before the first step, and whenever a box has reached its target, you can talk,"
    " all at the same time.",
    "cmas": "Before each step the center says a plan.",
    "dmas": f"Before each step the arms {_DIALOGUE}",
    "hmas1": f"Before each step the center drafts a plan. Arms with a task then {_DIALOGUE}",
    "hmas2": "Before each step the center drafts a plan. Arms with a task then agree or object. The"
    " center revises the plan once if any objects.",
}
"""Explanation of each way of planning, for the agents."""
CUES: Mapping[str, str] = {"agree": f"Say {AGREE} or object.", "act": "Act now."}
"""Words at the beginning of a phase, for the agents in turn."""


@dataclass(frozen=True, slots=True)
class State:
    """The state between two rounds."""

    agents: tuple[str, ...]
    """All agents, in order; the center first."""
    cells: Cells
    """Boxes and targets."""
    boxes: int
    """Number of boxes at the start."""
    step: int = 0
    """Steps played."""
    phase: str = "act"
    """`discuss`, `draft`, `plan`, `turns` or `agree` (talk), or `act`."""
    speakers: tuple[str, ...] = ()
    """Agents that speak now, and in a dialogue those that follow."""
    opening: bool = True
    """True before the first round of a step, in which agents read what they see."""
    landed: bool = True
    """True before the first step, and after a step in which a box landed."""
    turns: int = 0
    """Rounds of talk in this phase."""
    quiet: int = 0
    """Turns in a row in which no one spoke."""
    resent: int = 0
    """Times that the present plan was sent back."""
    comment: str = ""
    """What is wrong with a plan that was sent back."""
    messages: int = 0
    """Messages so far."""
    objections: int = 0
    """Objections to drafts so far."""
    refused: int = 0
    """Tasks so far that could not be carried out, in plans and acts."""


@cache
def _acts(grid: Grid) -> tuple[str, ...]:
    ends = (None, *range(len(grid.names)))
    return tuple(grid.task(f"box_{color}", end) for color in COLORS for end in ends)


@cache
def _facts(grid: Grid) -> dict[str, float]:
    things = [f"{kind}_{color}" for color in COLORS for kind in KINDS]
    counts = {f"{thing} {name}": 3.0 for name in grid.names for thing in things}
    return {"step": 30.0, **dict.fromkeys(("discuss", "plan", "agree", "act"), 1.0), **counts}


@dataclass(frozen=True, slots=True)
class BoxNet(World[State, str]):
    """Moving boxes on a grid; see the module."""

    rows: Count = 2
    """Rows of the grid."""
    columns: Count = 2
    """Cells of a row."""
    steps: Count = 30
    """Steps of an episode, at most."""
    view: Literal["own", "full"] = "own"
    """Cells that an arm sees: its own one or all; the center sees all."""
    planning: Planning = "discuss"
    """How a step is planned; see the module."""
    discussion: Count = 1
    """Rounds of talk where all arms speak at the same time."""
    order: Literal["together", "listed"] = "together"
    """All moves start from the same grid, or arms move one after another as in the source."""

    name: ClassVar[str] = "boxnet"
    metrics = {
        "steps_taken": Metric("Steps in which the arms of `boxnet` moved boxes."),
        "messages": Metric("Messages of an episode of `boxnet`."),
        "objections": Metric("Objections to drafts of a plan in an episode of `boxnet`."),
        "refused": Metric(
            "Tasks of an episode of `boxnet`, in plans and acts, that could not be carried out."
        ),
    }
    defaults: ClassVar[Mapping[str, Any]] = {
        "budget": {"message": 256},
        "reward": {"price": PRICE, "normalizer": 155},
        "instructions": "brief",
    }
    common_reward: ClassVar[bool] = True
    graded: ClassVar[bool] = True
    script_names: ClassVar[Sequence[str]] = ("oracle", "verbose")

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self, "env")

    @property
    def grid(self) -> Grid:
        """The grid without its boxes."""
        return _grid(self.rows, self.columns)

    @property
    def team(self) -> Mapping[str, int]:
        """An arm for each cell, and a center where it plans."""
        arms = {"arm": self.rows * self.columns}
        return {"center": 1, **arms} if self.planning in CENTRAL else arms

    @property
    def rounds(self) -> int:
        """Maximum number of rounds: all turns to talk, all plans sent back, and acts."""
        plan, dialogue = 1 + RESENDS, TURNS * self.rows * self.columns + RESENDS
        talk = {
            "none": 0,
            "cmas": plan,
            "dmas": dialogue,
            "hmas1": plan + dialogue,
            "hmas2": 2 * plan + 1,
        }
        return self.steps * (1 + talk.get(self.planning, self.discussion))

    @property
    def acts(self) -> tuple[str, ...]:  # type: ignore[override]
        """Every box to every cell or target."""
        return _acts(self.grid)

    @property
    def phrases(self) -> tuple[str, ...]:  # type: ignore[override]
        """Targets that numeric agents can tell; empty if agents cannot talk."""
        return () if self.planning == "none" else tuple(f"target_{color}" for color in COLORS)

    @property
    def facts(self) -> Mapping[str, float]:  # type: ignore[override]
        """Step, phase, and the number of each thing in each cell; 0 for cells out of sight."""
        return _facts(self.grid)

    @property
    def goal(self) -> str:  # type: ignore[override]
        """Description of the game, for every agent."""
        sight = "all cells" if self.view == "full" else "its own cell"
        return (
            f"A grid has {self.rows} rows of {self.columns} cells. Each cell has an arm: arm_0 in"
            f" the first cell of the first row, arm_{self.columns - 1} in its last one, and so on."
            " Cell 0.5 1.5 is the second of the first row. In a step each arm may move one box of"
            " its cell to a neighbor cell, or onto a target of its color in its cell. An arm sees"
            f" {sight}. All boxes have to reach targets within {self.steps} steps."
            f" {HOW[self.planning]}"
        )

    @property
    def duties(self) -> Mapping[str, str]:  # type: ignore[override]
        """Description of each role."""
        form = "`arm_0 move box_red target, arm_1 move box_blue 0.5 0.5`"
        duties = {"center": f"You see all cells. Say what each arm should do, for example {form}."}
        duties["arm"] = f"You move the boxes of your cell. {self.answer_form}"
        return {role: duties[role] for role in self.team}

    @property
    def answer_form(self) -> str:  # type: ignore[override]
        """Explanation of how an act is written."""
        return (
            "To act, end your message with a line such as `> move box_red 0.5 1.5` or"
            " `> move box_red target`."
        )

    def generate(
        self, seed: int, count: int, *, split: Split = "train", **settings: Any
    ) -> tuple[Task, ...]:
        """Draw grids.

        Args:
            seed: any whole number.
            count: number of grids.
            split: `train` or `evaluation`.
            **settings: `boxes` of each color, a number or a pair to draw from.
        """
        check_names("setting of env.generator", settings, ("seed", "boxes"))
        least, most = span("boxes", settings.get("boxes", (1, 3)), (1, _MOST))

        def draw(random: Random, key: str) -> Candidate[Task]:
            cells: list[list[str]] = [[] for _ in self.grid.names]
            for color in COLORS:
                for _ in range(random.randint(least, most)):
                    for kind in KINDS:
                        random.choice(cells).append(f"{kind}_{color}")
            # All agents may read the question, so it does not name the boxes.
            question = f"Grid {random.randrange(10**9)}: every box has to reach a target."
            details = {"cells": _frozen(cells)}
            task = Task(key, question, (), "an empty grid", details=details)
            return Candidate("; ".join(map(" ".join, cells)), lambda: task)

        return draw_different(draw, seed, count, split, "grids")

    def start(self, task: Task, agents: Sequence[str], generator: np.random.Generator) -> State:
        """Return the state before the first step.

        Raises:
            SettingError: the team is not one arm for each cell, after the center if there is one.
        """
        if list(agents) != agent_names(self.team):
            raise SettingError(
                f"boxnet with env.rows={self.rows} env.columns={self.columns}"
                f" env.planning={self.planning} needs the team {dict(self.team)}; got"
                f" {', '.join(agents)}, so leave env.team out"
            )
        cells = _frozen(task.details["cells"])
        return self._open(State(tuple(agents), cells, boxes_in(cells)))

    def _arms(self, state: State) -> tuple[str, ...]:
        return state.agents[-len(self.grid.names) :]

    def _open(self, state: State) -> State:
        """Return the state at the beginning of a step."""
        center, arms = state.agents[:1], self._arms(state)
        phase = "act"
        speakers: tuple[str, ...] = ()
        if self.planning == "discuss" or (self.planning == "plan_first" and state.landed):
            phase, speakers = "discuss", arms
        elif self.planning in CENTRAL:
            phase, speakers = "plan" if self.planning == "cmas" else "draft", center
        elif self.planning == "dmas":
            phase, speakers = "turns", arms
        return replace(self._enter(state, phase, speakers), opening=True)

    def _enter(self, state: State, phase: str, speakers: Sequence[str] = ()) -> State:
        return replace(
            state, phase=phase, speakers=tuple(speakers), turns=0, quiet=0, resent=0, opening=False
        )

    def _speaking(self, state: State) -> tuple[str, ...]:
        """Return the agents that may talk now."""
        if state.phase != "turns":
            return state.speakers
        return (state.speakers[state.turns % len(state.speakers)],)

    def may_talk(self, state: State, agent: str) -> bool:
        """Return True for the agents whose turn it is to talk."""
        return agent in self._speaking(state)

    def _doable(self, state: State, agent: str) -> tuple[str, ...]:
        arms = self._arms(state)
        return self.grid.doable(state.cells, arms.index(agent)) if agent in arms else ()

    def legal_acts(self, state: State, agent: str) -> Collection[str]:
        """Return the moves of an arm; `listed` arms may move a box that reaches them first."""
        if state.phase != "act" or self.order == "together":
            return self._doable(state, agent) if state.phase == "act" else ()
        arms = self._arms(state)
        return self.grid.tasks_from(arms.index(agent)) if agent in arms else ()

    def longest_acts(self) -> Collection[str]:
        """Return one move of a box of each color."""
        return tuple(self.grid.task(f"box_{color}", len(self.grid.names) - 1) for color in COLORS)

    def observe(self, state: State, agent: str) -> str:
        """Return what an agent sees at the beginning of a step, and later what is due."""
        arms = self._arms(state)
        if state.opening:
            things = {
                name: " ".join(cell)
                for name, cell in zip(self.grid.names, state.cells, strict=True)
            }
            lines = [f"Step {state.step + 1} of {self.steps}."]
            if agent in arms:
                own = self.grid.names[arms.index(agent)]
                lines.append(f"Your cell {own}: {things.pop(own) or 'empty'}")
            if self._sees_all(state, agent):
                lines += [f"{name}: {text}" for name, text in things.items() if text]
            return "\n".join(lines)
        if state.phase == "act":
            return CUES["act"] if agent in arms else ""
        due = agent in self._speaking(state)
        return (state.comment or CUES.get(state.phase, "")) if due else ""

    def apply(
        self,
        state: State,
        acts: Mapping[str, str],
        messages: Mapping[str, str],
        generator: np.random.Generator,
    ) -> tuple[State, Mapping[str, float]]:
        """Play a round of talk, or a step, which gains 1 / boxes for each box that lands."""
        if state.phase != "act":
            said = [messages[agent] for agent in self._speaking(state) if messages.get(agent)]
            count = state.messages + len(said)
            turns = state.turns + 1
            state = replace(state, messages=count, turns=turns, opening=False, comment="")
            return self._talk(state, said), {}
        tasks = {cell: acts[arm] for cell, arm in enumerate(self._arms(state)) if arm in acts}
        cells, refused = self.grid.play(state.cells, tasks, self.order == "together")
        landed = boxes_in(state.cells) - boxes_in(cells)
        step, count = state.step + 1, state.refused + len(refused)
        state = replace(state, cells=cells, step=step, landed=landed > 0, refused=count)
        return self._open(state), dict.fromkeys(state.agents, landed / max(1, state.boxes))

    def _talk(self, state: State, said: Sequence[str]) -> State:
        """Return the state after a round of talk, with the messages of its speakers."""
        if state.phase == "discuss":
            return state if state.turns < self.discussion else self._enter(state, "act")
        if state.phase == "agree":
            count = sum(text.strip(" .!").lower() != AGREE.lower() for text in said)
            state = replace(state, objections=state.objections + count)
            return self._enter(state, *(("plan", state.agents[:1]) if count else ("act",)))
        plan = said[0] if said else ""
        if state.phase == "turns" and EXECUTE not in plan:
            quiet, arms = 0 if said else state.quiet + 1, len(state.speakers)
            if quiet == arms or state.turns == TURNS * arms:
                return self._enter(state, "act")
            return replace(state, quiet=quiet)
        tasks = tasks_in(plan)
        bad = {arm: task for arm, task in tasks.items() if task not in self._doable(state, arm)}
        state = replace(state, refused=state.refused + len(bad))
        if bad and state.resent < RESENDS:
            comment = f"Not possible: {write_plan(bad)}. Plan again."
            # The same arm speaks again in a dialogue.
            return replace(state, resent=state.resent + 1, turns=state.turns - 1, comment=comment)
        drafted = [arm for arm in self._arms(state) if arm in tasks]
        if state.phase == "draft" and drafted:
            return self._enter(state, "turns" if self.planning == "hmas1" else "agree", drafted)
        return self._enter(state, "act")

    def is_over(self, state: State) -> bool:
        """Return True if no box is left, or after the last step."""
        return state.step == self.steps or (state.step > 0 and not boxes_in(state.cells))

    def score(self, state: State) -> Score:
        """Score the share of boxes on targets; solved if no box is left."""
        left = boxes_in(state.cells)
        landed = state.boxes - left
        measures = {
            "steps_taken": float(state.step),
            "messages": float(state.messages),
            "objections": float(state.objections),
            "refused": float(state.refused),
        }
        answer = f"{landed} of {state.boxes} boxes in {state.step} steps"
        return Score(landed / max(1, state.boxes), not left, answer, measures=measures)

    def facts_for(self, state: State, agent: str) -> Mapping[str, float]:
        """Return step, phase, and the number of each thing in each cell that the agent sees."""
        arms, talks = self._arms(state), self.may_talk(state, agent)
        facts = dict.fromkeys(self.facts, 0.0)
        facts["step"], facts["act"] = state.step, float(state.phase == "act" and agent in arms)
        if talks:
            facts[state.phase if state.phase in facts else "plan"] = 1.0
        for name, arm, things in zip(self.grid.names, arms, state.cells, strict=True):
            for thing in things if arm == agent or self._sees_all(state, agent) else ():
                facts[f"{thing} {name}"] += 1.0
        return facts

    def _sees_all(self, state: State, agent: str) -> bool:
        return self.view == "full" or agent not in self._arms(state)

    def script(self, name: str) -> Script:
        """Return a planner in few words or in many."""
        wordy = {"oracle": 0.0, "verbose": 1.0}
        return self._planner(wordy[choice("agent.script", name, self.script_names)], 0.0)

    def teacher(self, style: TeacherStyle) -> Script:
        """Return a planner of mixed style."""
        return self._planner(1 - style.terse, style.silent)

    def _planner(self, wordy: float, silent: float) -> Planner:
        shared = self.view == "full" or self.planning not in CENTRAL
        return Planner(self.grid, self.view == "full", shared, wordy, silent)


@cache
def _grid(rows: int, columns: int) -> Grid:
    return Grid(rows, columns)


def _frozen(cells: Iterable[Iterable[str]]) -> Cells:
    return tuple(map(tuple, cells))
