"""A scripted team for BoxNet: a planner that says what the others have to know.

An arm that sees one cell says in the first step what lies there; silence means that it is empty.
All arms then compute the same greedy plans, so nothing more has to be told. Where a plan was said,
each arm does its task. `oracle` uses few words. `verbose` repeats itself in sentences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from laconic.envs.library.boxnet.grid import Cells, Grid, tasks_in, things_in, write_plan
from laconic.envs.worlds.base import TurnView, act_line

AGREE, EXECUTE = "I Agree", "EXECUTE"
"""Words that agree to a draft, and that end a dialogue."""
_SAID = re.compile(r"^(\w+_\d+): (.*)$", re.MULTILINE)
_OWN = re.compile(r"Your cell \S+: (.*)")


@lru_cache(maxsize=1024)
def _after(grid: Grid, cells: Cells, steps: int) -> Cells:
    """Return the grid after a number of greedy steps."""
    if not steps:
        return cells
    before = _after(grid, cells, steps - 1)
    return grid.play(before, grid.greedy(before), True)[0]


@dataclass(frozen=True, slots=True)
class Planner:
    """A script for arms and center; see the module."""

    grid: Grid
    """The grid without its boxes."""
    sees_all: bool
    """True if arms see all cells."""
    shared: bool
    """True if arms know all cells, by sight or because they tell each other."""
    wordy: float
    """Fraction of messages in many words, and of messages that no one needs, 0 to 1."""
    silent: float
    """Fraction of turns to talk that are skipped, 0 to 1."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return the act or the message of this turn."""
        facts, wordy = turn.facts, random.random() < self.wordy
        step = f"{turn.earlier}\n{turn.text}".rpartition("Step ")[2]
        plans = [tasks for _, said in _SAID.findall(step) if (tasks := tasks_in(said))]
        if facts["act"]:
            task = (plans[-1] if plans else self._plan(turn)).get(turn.agent, "")
            return act_line(task) if act_line(task) in turn.offered else ""
        if random.random() < self.silent:
            return ""
        if facts["agree"]:
            return AGREE if wordy else ""
        if facts["discuss"]:
            is_known = self.sees_all or turn.has_spoken or facts["step"] > 0
            return self._tell(turn, wordy) if wordy or not is_known else ""
        return self._propose(turn, plans, wordy) if facts["plan"] else ""

    def _propose(self, turn: TurnView, plans: list[dict[str, str]], wordy: bool) -> str:
        """Return the message of an agent that may say a plan."""
        if turn.agent.startswith("center"):
            plan = write_plan(self._plan(turn))
            return f"I have looked at all cells. My plan: {plan}." if wordy else plan
        if plans:
            # Of the center; a dialogue about it may end at once.
            return f"{EXECUTE} {write_plan(plans[-1])}" if wordy else ""
        # The last arm of the first dialogue is the first to know all cells.
        must_tell = not self.sees_all and not turn.facts["step"]
        things = self._tell(turn, wordy) if must_tell or wordy else ""
        if must_tell and _number(turn.agent) < len(self.grid.names) - 1:
            return things
        return f"{things} {EXECUTE} {write_plan(self._plan(turn))}".strip()

    def _tell(self, turn: TurnView, wordy: bool) -> str:
        """Say what lies in the agent's cell; silence means nothing."""
        name = self.grid.names[_number(turn.agent)]
        things = [
            thing
            for key, count in turn.facts.items()
            if key.endswith(f" {name}")
            for thing in [key.split()[0]] * int(count)
        ]
        if not wordy:
            return " ".join(things)
        return f"In my cell I see {', '.join(things) or 'nothing at all'} now."

    def _plan(self, turn: TurnView) -> dict[str, str]:
        """Return the tasks of all arms in this step, as far as the agent knows the grid."""
        is_center = turn.agent.startswith("center")
        if self.sees_all or is_center:
            cells: list[tuple[str, ...]] = [()] * len(self.grid.names)
            for key, count in turn.facts.items():
                thing, _, name = key.partition(" ")
                if name and count:
                    cells[self.grid.names.index(name)] += (thing,) * int(count)
            plan = self.grid.greedy(tuple(cells))
        elif self.shared:
            plan = self.grid.greedy(_after(self.grid, self._first(turn), int(turn.facts["step"])))
        else:
            plan = {}
        return {f"arm_{cell}": task for cell, task in plan.items()}

    def _first(self, turn: TurnView) -> Cells:
        """Return the grid before the first step, from what the agent saw and heard in it."""
        first = f"{turn.earlier}\n{turn.text}".partition("\nStep 2 of ")[0]
        cells: list[tuple[str, ...]] = [()] * len(self.grid.names)
        for agent, said in _SAID.findall(first):
            things = things_in(said.partition(EXECUTE)[0])
            if agent.startswith("arm") and things:
                cells[_number(agent)] = things
        own = _OWN.search(first)
        cells[_number(turn.agent)] = things_in(own[1]) if own else ()
        return tuple(cells)


def _number(agent: str) -> int:
    return int(agent.rpartition("_")[2])
