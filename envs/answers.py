"""Who answers, and which of an answering agent's messages is graded.

Graded is the last message that commits to an answer, or else the last one the agent spoke: a
commitment is withdrawn by another one only, and a team whose episode ends early is not without an
answer for want of the right words.
"""

from __future__ import annotations

from collections.abc import Sequence

from envs.errors import UnknownNameError
from envs.task import Benchmark
from envs.team import role_of

MAJORITY = "majority"
"""The answer setting under which all agents answer and the commonest answer counts."""


def answering_agents(answer: str, agents: Sequence[str]) -> tuple[str, ...]:
    """The agents whose messages are graded.

    Args:
        answer: a role of the team, or `majority` for all agents.
        agents: the agents in their fixed order.

    Raises:
        UnknownNameError: the team has no such role.
    """
    if answer == MAJORITY:
        return tuple(agents)
    chosen = tuple(agent for agent in agents if role_of(agent) == answer)
    if not chosen:
        raise UnknownNameError("role in env.answer", answer, {*map(role_of, agents), MAJORITY})
    return chosen


class Answers:
    """What the answering agents of one episode have said so far."""

    def __init__(self, benchmark: Benchmark, agents: Sequence[str]) -> None:
        """Nothing is said yet.

        Args:
            benchmark: knows a commitment when it sees one.
            agents: who answers, in their fixed order.
        """
        self._benchmark = benchmark
        self._agents = tuple(agents)
        self._last_words: dict[str, str] = {}
        self._commitments: dict[str, str] = {}

    def note(self, agent: str, text: str) -> None:
        """Take in a message; silence and agents that do not answer change nothing."""
        if text and agent in self._agents:
            self._last_words[agent] = text
            if self._benchmark.committed(text) is not None:
                self._commitments[agent] = text

    @property
    def complete(self) -> bool:
        """Whether every answering agent has committed to an answer."""
        return len(self._commitments) == len(self._agents)

    @property
    def graded(self) -> dict[str, str]:
        """The message to grade of each agent that spoke, in the order of agents.

        The order is the agents' own, so that a vote never depends on who spoke first.
        """
        said = self._last_words | self._commitments
        return {agent: said[agent] for agent in self._agents if agent in said}
