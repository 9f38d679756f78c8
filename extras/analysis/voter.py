"""Scripted voters: agents of a set accuracy, shared votes, and a channel that flips messages.

An agent that has read no vote casts its own, which is right with probability `accuracy`. Otherwise
it passes on the majority of the votes that it read; the first one decides ties. A message arrives
flipped with probability (1 - `fidelity`) / 2; the answer of an answering agent is never flipped.
With probability `shared` all children of an agent say what the first of them says. In a vote of all
agents (`env.answer=majority`) these are all agents.

The parent of an agent is the first agent before it that hears it. `tree` lays a team out so.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.checks import Share, check_fields, whole
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import Tokenize, split_words
from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.learners.interfaces import Reply, Request

_VOTE = re.compile(r"^(\w+): (.+)$", re.MULTILINE)


def tree(fan_in: int, depth: int) -> dict[str, Any]:
    """Return the settings of a dialogue that is a tree of votes.

    Level after level speaks, the leaves first and the solver at the root last. Every agent hears
    its children alone, and all agents read the whole task.

    Args:
        fan_in: children of each agent above the leaves.
        depth: levels below the root.
    """
    whole("fan_in", fan_in, 1)
    whole("depth", depth, 1)
    roles = ["solver", *(f"level{level}" for level in range(1, depth + 1))]
    team = {role: fan_in**level for level, role in enumerate(roles)}
    count = sum(team.values())
    # The children of agent i are the agents b i + 1 to b i + b.
    matrix = [[int(j > 0 and (j - 1) // fan_in == i) for j in range(count)] for i in range(count)]
    return {
        "team": team,
        "topology": matrix,
        "schedule": roles[::-1],
        "rounds": depth + 1,
        "information": "full",
    }


@dataclass
class VoterTeam:
    """Team of voters."""

    accuracy: Share = 0.7
    """Probability that an agent's own vote is right."""
    shared: Share = 0.0
    """Probability ρ that all children of an agent say the same."""
    fidelity: Share = 1.0
    """Fidelity γ of a message, from 0 (a coin) to 1 (never flipped)."""
    tokenize: Tokenize = split_words
    """Function that cuts text into tokens; environments count budgets with it."""

    def __post_init__(self) -> None:
        """Check the probabilities."""
        check_fields(self, "agent")

    @staticmethod
    def defaults(imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other config groups that suit scripts, by dotted key."""
        return {"env.instructions": "full"}

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> Mapping[str, VoterPolicy]:
        """Return one policy for all agents.

        Raises:
            SettingError: the environment has no questions, or all of them have the same answer.
        """
        tasks = environment.tasks if isinstance(environment, DialogueEnv) else {}
        if len({task.answer for task in tasks.values()}) < 2:
            raise SettingError(
                "agent=voter votes on questions with different answers; got"
                f" {type(environment).__name__} with {len(tasks)} tasks of one answer. Choose"
                " env=signal, or raise env.tasks"
            )
        return dict.fromkeys(environment.possible_agents, VoterPolicy(self, environment))


class VoterPolicy:
    """Policy of all voters of a team."""

    def __init__(self, team: VoterTeam, environment: DialogueEnv) -> None:
        """Read the tasks and the topology of an environment."""
        self._team = team
        self._tasks: Mapping[str, Task] = environment.tasks
        self._answering = environment.answering
        agents, hearing = environment.possible_agents, environment.hearing
        self._parents = [
            {
                agent: next((p for p in agents[:place] if agent in hears[p]), "")
                for place, agent in enumerate(agents)
            }
            for hears in hearing
        ]
        first = next(iter(self._tasks.values()))
        self._first = first
        self._other = next(task for task in self._tasks.values() if task.answer != first.answer)

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer all requests of a round, which come episode by episode."""
        generator = random.Random(seed)
        replies: list[Reply] = []
        voters: set[str] = set()
        # Vote of the first child of each parent, where its siblings share it.
        common: dict[str, str | None] = {}
        for request in requests:
            agent = request.agent
            if agent in voters:
                voters, common = set(), {}
            voters.add(agent)
            parents = self._parents[request.info["round"] % len(self._parents)]
            parent = "" if agent in self._answering else parents[agent]
            is_first = parent not in common
            message = common.get(parent) or self._message(request, generator)
            if is_first:
                common[parent] = message if generator.random() < self._team.shared else None
            replies.append(Reply(message))
        return replies

    def _message(self, request: Request, generator: random.Random) -> str:
        """Return a vote as it arrives."""
        task = self._tasks[request.info["task"]]
        right, wrong = task.answer_text, self._wrong(task)
        texts = "\n".join((*request.texts, request.text))
        votes: list[str] = [
            vote
            for agent, vote in _VOTE.findall(texts)
            if agent in self._parents[0] and vote in (right, wrong)
        ]
        if votes:
            # Of equally common votes `max` returns the first.
            vote = max(votes, key=votes.count)
        else:
            vote = right if generator.random() < self._team.accuracy else wrong
        if request.agent in self._answering:
            return vote
        flips = generator.random() < (1 - self._team.fidelity) / 2
        return {right: wrong, wrong: right}[vote] if flips else vote

    def _wrong(self, task: Task) -> str:
        """Return the wrong answer to a task, the same for all voters."""
        other = self._first if self._first.answer != task.answer else self._other
        return other.answer_text
