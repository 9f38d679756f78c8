"""What a user of the installed package might bring: an environment, a learner."""

from __future__ import annotations

from pettingzoo import ParallelEnv

from laconic.envs.dialogue.messages import FreeText


class Echo(ParallelEnv):
    """Two agents, two rounds; a message that holds what was asked for earns 1.

    It has none of the settings of this project's environments, and its infos are empty.
    """

    metadata = {"name": "echo_v0"}

    def __init__(self, word="a"):
        self.word = word
        self.possible_agents = ["left_0", "right_0"]
        self.agents = []

    def observation_space(self, agent):
        return FreeText()

    def action_space(self, agent):
        return FreeText()

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        self.round = 0
        infos = {agent: {} for agent in self.agents}
        return dict.fromkeys(self.agents, f"say {self.word}"), infos

    def step(self, actions):
        agents, self.round = self.agents, self.round + 1
        over = self.round == 2
        self.agents = [] if over else agents
        return (
            dict.fromkeys(agents, "again"),
            {agent: float(self.word in actions[agent]) for agent in agents},
            dict.fromkeys(agents, over),
            dict.fromkeys(agents, False),
            {agent: {} for agent in agents},
        )


class Bare:
    """The least a learner can be."""

    def __init__(self, policies, optimizer, bonus=0.0):
        self.optimizer = optimizer(next(iter(policies.values())).model.parameters())
        self.bonus = bonus

    def update(self, groups):
        for parameter in self.optimizer.param_groups[0]["params"]:
            parameter.data += 0.01
        return {"groups": float(len(groups)), "bonus": self.bonus, "skipped_steps": 2.0}
