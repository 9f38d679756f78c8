"""A small environment of two agents and two rounds, for a trait to change."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Text
from pettingzoo import ParallelEnv

from laconic.learners.interfaces import Reply
from laconic.learners.rollout.play import Start, play

SAID = "Tom has 7 apples, I think."


class Speaker:
    """Says the same each time."""

    def reply(self, requests, *, seed, greedy):
        return [Reply(message=SAID) for _ in requests]


class Plain(ParallelEnv[str, Any, Any]):
    """Two agents, two rounds; everything as others expect it, for a trait to change."""

    metadata = {"name": "plain_v0"}
    possible_agents = ["a", "b"]
    space: Any = Text(200, min_length=0, charset=frozenset(map(chr, range(32, 127))))

    def action_space(self, agent):
        return self.space

    def observation_space(self, agent):
        return self.space

    def reset(self, seed=None, options=None):
        self.agents, self.round, self.heard = list(self.possible_agents), 0, []
        return self.shown(), self.infos()

    def step(self, actions):
        self.heard.append(actions)
        alive, self.round = list(self.agents), self.round + 1
        over = self.round == 2
        self.agents = [] if over else alive
        paid, terminated = dict.fromkeys(alive, self.paid()), dict.fromkeys(alive, over)
        return self.shown(), paid, terminated, dict.fromkeys(alive, False), self.infos()

    def shown(self):
        return dict.fromkeys(self.possible_agents, f"round {self.round}")

    def infos(self):
        return {agent: {} for agent in self.possible_agents}

    def paid(self) -> Any:
        return 1.0


def played(env):
    policies = dict.fromkeys(env.possible_agents, Speaker())
    return play([env], policies, [Start(3)], seed=0)[0]
