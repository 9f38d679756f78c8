"""A game of three agents whose every counterfactual can be worked out on paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

from laconic.learners.interfaces import Reply, Request


class Relay(ParallelEnv):
    """Two rounds; a word costs its speaker 1, and 6 are paid to each if z ends on both halves.

    Whatever is said in the first round is read by all before the second.
    """

    metadata = {"name": "relay_v0", "reward": "common"}

    def __init__(self) -> None:
        self.possible_agents = ["x_0", "y_0", "z_0"]
        self.played: list[list[dict[str, str]]] = []

    def observation_space(self, agent: str) -> spaces.Space:
        return spaces.Text(100)

    def action_space(self, agent: str) -> spaces.Space:
        return spaces.Text(100)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None):
        self.agents = list(self.possible_agents)
        self.played.append([])
        return dict.fromkeys(self.agents, "go"), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, str]):
        agents = list(self.agents)
        self.played[-1].append(dict(actions))
        over = len(self.played[-1]) == 2
        message = " ".join(actions[agent] for agent in agents if actions[agent])
        won = over and {"left", "right"} <= set(actions["z_0"].split())
        words = {agent: float(len(actions[agent].split())) for agent in agents}
        rewards = {agent: 6.0 * won - words[agent] for agent in agents}
        if over:
            self.agents = []
        return (
            dict.fromkeys(agents, message),
            rewards,
            dict.fromkeys(agents, over),
            dict.fromkeys(agents, False),
            {
                agent: {
                    "task_reward": 6.0 * won,
                    "billed": words[agent],
                    "charged": words[agent],
                }
                for agent in agents
            },
        )


class Relayers:
    """x and y have a half each, z hums and then says the halves it read; with tokens if wished."""

    opening = {"x_0": "left", "y_0": "right", "z_0": "hm"}

    def __init__(self, tokens: bool = False, **opening: str) -> None:
        self.tokens = tokens
        self.opening = {**type(self).opening, **opening}
        self.asked: list[tuple[Request, bool]] = []

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        self.asked += [(request, greedy) for request in requests]
        return [self._one(self._say(request)) for request in requests]

    def write(self, message: str) -> tuple[int, ...]:
        """Tokenize as `HFPolicy.write` does: 7 ends a reply, 8 is silence, 9 a word."""
        ids = (*[9] * len(message.split()), 7) if message else (8, 7)
        return ids if self.tokens else ()

    def _say(self, request: Request) -> str:
        if not request.history:
            return self.opening[request.agent]
        if request.agent != "z_0":
            return ""
        return " ".join(word for word in ("left", "right") if word in request.text.split())

    def _one(self, message: str) -> Reply:
        ids = self.write(message)
        return Reply(message, (5,) * self.tokens, ids, (-0.5,) * len(ids))


@pytest.fixture
def relay() -> Relay:
    """Return the game."""
    return Relay()


@pytest.fixture
def relayers():
    """Makes the agents that win it."""
    return Relayers
