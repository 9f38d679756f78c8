"""Token budgets and the two ledgers: what was said, and what was read.

Four caps: per message, per agent, per round over all agents, per episode over all agents. The round
and the episode cap together are the dual budget of arXiv 2511.13193 (an auction method of the
Agent-GSPO authors); that Agent-GSPO itself uses this pair is our reading, not a published fact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from laconic.envs.checks import whole

UNLIMITED = 2**31 - 1
"""Stands for "no cap" wherever a number of tokens is shown as int32."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps on what may be said, in tokens; None is no cap."""

    message: int | None = None
    """Tokens of one message."""
    agent: int | None = None
    """Tokens of one agent in the whole episode."""
    round: int | None = None
    """Tokens of all agents in one round."""
    episode: int | None = None
    """Tokens of all agents in the whole episode; when they are spent the episode is truncated."""

    def __post_init__(self) -> None:
        """Raise SettingError where a cap is neither None nor an integer of at least 1."""
        for field in fields(self):
            whole(f"budget.{field.name}", getattr(self, field.name), 1, optional=True)


class Ledger:
    """Tokens said and read by each agent of one episode, held against a budget."""

    def __init__(self, budget: Budget, agents: Sequence[str]) -> None:
        """Open an empty ledger for agents in their fixed order."""
        self._budget = budget
        self._agents = tuple(agents)
        self.said = dict.fromkeys(self._agents, 0)
        self.read = dict.fromkeys(self._agents, 0)
        self._round_said = 0
        self._episode_said = 0

    def start_round(self) -> None:
        """Forget what was said in the round before."""
        self._round_said = 0

    def left(self, agent: str, shared: bool = True) -> tuple[int, int, int, int]:
        """Tokens left to an agent under the message, agent, round and episode cap, in that order.

        The first entry is already the smallest of the four: what this agent's next message may
        have at most. `UNLIMITED` stands for no cap, also of round and episode if not `shared`.
        """
        budget = self._budget
        own = _left(budget.agent, self.said[agent])
        round = _left(budget.round if shared else None, self._round_said)
        episode = _left(budget.episode if shared else None, self._episode_said)
        return min(_left(budget.message, 0), own, round, episode), own, round, episode

    def charge(self, agent: str, tokens: int) -> None:
        """Book a message of `tokens` tokens."""
        self.said[agent] += tokens
        self._round_said += tokens
        self._episode_said += tokens

    def serving_order(self, round: int) -> tuple[str, ...]:
        """Who is served first when simultaneous messages share a cap; rotates with the round."""
        start = round % len(self._agents)
        return self._agents[start:] + self._agents[:start]

    @property
    def spent(self) -> bool:
        """Whether the episode budget is used up."""
        cap = self._budget.episode
        return cap is not None and self._episode_said >= cap


def _left(cap: int | None, used: int) -> int:
    return UNLIMITED if cap is None else min(cap - used, UNLIMITED)
