"""`check_env` passes sound environments and names the rule that a broken one breaks."""

from __future__ import annotations

import random

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Text
from pettingzoo import ParallelEnv

from laconic.envs.contract import RULES, check_env
from laconic.envs.contract.text import TEXT_RULES
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.reward import Reward
from laconic.envs.errors import ContractError, SettingError


class Count(ParallelEnv):
    """A sound environment of other people: two agents push a number for three steps."""

    metadata = {"name": "count_v0"}

    def __init__(self):
        self.possible_agents = ["left_0", "right_0"]
        self.agents = []
        self._seen = {agent: Box(-9, 9, (1,), np.float32) for agent in self.possible_agents}
        self._done = {agent: Discrete(3) for agent in self.possible_agents}

    def observation_space(self, agent):
        return self._seen[agent]

    def action_space(self, agent):
        return self._done[agent]

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        self.number, self.time = np.random.default_rng(seed).integers(3), 0
        return self._all(self._look()), self._all({})

    def step(self, actions):
        alive, self.time = self.agents, self.time + 1
        self.number += actions["right_0"] - actions["left_0"]
        over = self.time == 3
        if over:
            self.agents = []
        returned = (self._look(), 1.0, over, False, {})
        return tuple(dict.fromkeys(alive, value) for value in returned)

    def _look(self):
        return np.array([self.number], np.float32)

    def _all(self, value):
        return dict.fromkeys(self.agents, value)


SETTINGS = [
    {},
    {"information": "split", "answer": "majority", "rounds": 4},
    {"schedule": ["helper", "solver"], "topology": "star", "instructions": "brief"},
    {"budget": Budget(message=4, agent=5, round=7, episode=12), "rounds": 4},
    {"budget": Budget(episode=1), "reward": Reward(price=1.0, charge="team")},
    {"team": {"solver": 1}, "rounds": 1},
    {"reward": Reward(price=1.0, when="solved"), "topology": "none"},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_dialogue_keeps_the_contract_under_all_kinds_of_settings(make_env, settings):
    check_env(lambda: make_env(**settings))


def test_an_environment_of_other_people_without_text_keeps_it_too():
    check_env(Count)


def test_a_text_environment_that_counts_no_tokens_keeps_it_too():
    class Shout(Count):
        def __init__(self):
            super().__init__()
            self._seen = self._done = {agent: Anything(5) for agent in self.possible_agents}

        def _look(self):
            return str(super()._look())

        def step(self, actions):
            return super().step({agent: len(text) % 3 for agent, text in actions.items()})

    check_env(Shout)


def test_no_episodes_check_only_what_needs_none():
    check_env(Count, episodes=0)


class Anything(Text):
    """All strings."""

    def contains(self, x):
        return isinstance(x, str)


# One broken environment for each rule that every ParallelEnv must keep.


class Nameless(Count):
    def __init__(self):
        super().__init__()
        self.possible_agents = ["left", "right"]
        self._seen["left"], self._done["left"] = self._seen["left_0"], self._done["left_0"]
        self._seen["right"], self._done["right"] = self._seen["right_0"], self._done["right_0"]

    def step(self, actions):
        return super().step({f"{agent}_0": action for agent, action in actions.items()})


class NewSpaces(Count):
    def observation_space(self, agent):
        return Box(-9, 9, (1,), np.float32)


class MuteReset(Count):
    def reset(self, seed=None, options=None):
        observations, infos = super().reset(seed, options)
        del infos["right_0"]
        return observations, infos


class MissingReward(Count):
    def step(self, actions):
        returned = super().step(actions)
        if not self.agents:
            del returned[1]["right_0"]
        return returned


class Revenant(Count):
    """left_0 ends after one step, and is back after the next."""

    def step(self, actions):
        observations, rewards, terminated, truncated, infos = super().step(
            {"left_0": 0, "right_0": 0, **actions}
        )
        if self.time == 1:
            terminated["left_0"] = True
            self.agents = ["right_0"]
        if self.time == 2:
            self.agents = ["left_0", "right_0"]
        return observations, rewards, terminated, truncated, infos


class Endless(Count):
    def step(self, actions):
        returned = super().step(actions)
        self.agents, self.time = list(self.possible_agents), 0
        return *returned[:2], *[dict.fromkeys(self.agents, False)] * 2, returned[4]


class Overlong(Count):
    rounds = 2


class LastOneOut(Count):
    def _look(self):
        return super()._look() + (10 if self.time == 3 else 0)


class NotANumber(Count):
    def step(self, actions):
        observations, rewards, *others = super().step(actions)
        return observations, dict.fromkeys(rewards, float("nan")), *others


class LateChance(Count):
    """The last observation does not follow from the seed."""

    def __init__(self):
        super().__init__()
        self._chance = np.random.default_rng()

    def _look(self):
        return super()._look() + (self._chance.random(dtype=np.float32) if self.time == 3 else 0)


class Worn(Count):
    """Each episode is one step shorter than the one before."""

    worn = 0

    def reset(self, seed=None, options=None):
        returned = super().reset(seed, options)
        self.time, self.worn = self.worn, min(2, self.worn + 1)
        return returned


class Careless(Count):
    def step(self, actions):
        np.random.random()
        return super().step(actions)


class Reseeding(Count):
    def reset(self, seed=None, options=None):
        random.seed(seed)
        return super().reset(seed, options)


class Picky(Count):
    def reset(self, seed=None, options=None):
        observations, infos = super().reset(seed, options)
        return {a: observation + bool(options) for a, observation in observations.items()}, infos


class Paying(Count):
    """Says what it pays: 1 of the task, less the agent's action as a charge."""

    def step(self, actions):
        alive = list(self.agents)
        observations, _, *others, _ = super().step(actions)
        infos = {a: self._pay(float(actions[a])) for a in alive}
        rewards = {a: info["task_reward"] - info["charged"] for a, info in infos.items()}
        return observations, rewards, *others, self._told(infos)

    def _pay(self, cost):
        return {"task_reward": 1.0, "billed": cost, "charged": cost}

    def _told(self, infos):
        return infos


class Unbilled(Paying):
    """Leaves one key out of one agent's infos."""

    def _told(self, infos):
        del infos["right_0"]["billed"]
        return infos


class PaidLate(Paying):
    """Says what it pays in the last round alone."""

    def _told(self, infos):
        return infos if self.time == 3 else {agent: {} for agent in infos}


class Miscounting(Paying):
    def _told(self, infos):
        return {agent: {**info, "charged": 0.5} for agent, info in infos.items()}


class NegativeBill(Paying):
    def _pay(self, cost):
        return {**super()._pay(cost), "billed": -0.25}


class BillOfNothing(Paying):
    def _pay(self, cost):
        return {**super()._pay(cost), "billed": None}


class EndlessCharge(Paying):
    def _pay(self, cost):
        return {**super()._pay(cost), "billed": float("inf")}


def test_an_environment_may_say_what_it_pays():
    check_env(Paying)


@pytest.mark.parametrize(
    ("broken", "came"),
    [
        (Unbilled, "Agent 'right_0': got an info without billed"),
        (PaidLate, "Agent 'left_0': got an info without task_reward, billed, charged"),
        (Miscounting, r"got a reward of -?[01].0, .*charged=0.5"),
        (NegativeBill, "got task_reward=1.0, billed=-0.25, charged="),
        (BillOfNothing, "got task_reward=1.0, billed=None, charged="),
        (EndlessCharge, "got task_reward=1.0, billed=inf, charged="),
    ],
)
def test_what_it_says_has_to_be_what_it_pays(broken, came):
    with pytest.raises(ContractError, match=f"Report pay in infos .*({came})"):
        check_env(broken)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (Nameless, "Name agents `<role>_<number>`. Agent 'left': got left"),
        (NewSpaces, "Return the same space object.*'left_0': got a new object"),
        (MuteReset, r"Take `seed` .* two dicts by agent: observations and.*\['left_0'\]"),
        (MissingReward, r"Return observations, rewards.* by agent.*\['left_0'\]"),
        (Revenant, "Remove an agent when it is terminated or truncated.*Agent 'left_0'"),
        (Endless, "End every episode.*got an episode of 1000 steps"),
        (Overlong, "End every episode.*got an episode of 3 steps"),
        (LastOneOut, "Keep every observation in its space.*Agent 'left_0': got array"),
        (NotANumber, "Pay rewards that are finite numbers.*'left_0': got nan"),
        (LateChance, "Repeat an episode to the last step.*different after 3 steps"),
        (Worn, "Repeat an episode to the last step"),
        (Careless, "Leave the process-wide generators.*got a change of numpy.random"),
        (Reseeding, "Leave the process-wide generators.*got a change of random"),
        (Picky, "Ignore unknown options of `reset`.*got another start"),
    ],
)
def test_a_broken_rule_is_named_with_the_agent_and_what_came(broken, sentence):
    with pytest.raises(ContractError, match=sentence):
        check_env(broken)


def test_every_rule_opens_with_a_sentence_and_is_listed_once():
    sentences = [rule.__doc__ for rule in RULES]
    assert all(sentence.split("\n")[0].endswith(".") for sentence in sentences)
    assert len(set(sentences)) == len(RULES) == 22
    assert RULES[-len(TEXT_RULES) :] == TEXT_RULES


def test_a_contract_error_shows_what_came_shortened():
    message = str(ContractError("Rule.", "x" * 1000, "solver_0"))
    assert message == "Rule. Agent 'solver_0': got " + "x" * 500
    assert str(ContractError("Rule.", {"a": 1})) == "Rule. got {'a': 1}"


def test_the_check_follows_its_seed(make_env):
    seeds = []

    class Watching(DialogueEnv):
        def reset(self, seed=None, options=None):
            seeds.append(seed)
            return super().reset(seed, options)

    check_env(lambda: make_env(kind=Watching), episodes=2, seed=40)
    assert set(seeds) == {40, 41}


def test_an_environment_in_place_of_its_maker_is_answered_with_what_to_write():
    with pytest.raises(SettingError, match=r"got a Count. Write check_env\(lambda: "):
        check_env(Count())
