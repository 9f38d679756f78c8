"""What `check_env` knows of an environment's returned values is known in a rollout too."""

from __future__ import annotations

from functools import partial
from itertools import count

import numpy as np
import pytest
from plain_env import Plain, Speaker, played

from laconic.envs.errors import ContractError
from laconic.learners.rollout.play import Start, collect


class Paying(Plain):
    def __init__(self, reward):
        self.reward = reward

    def paid(self):
        return self.reward


class Unread(Plain):
    """Shows nothing to one agent at the start."""

    def reset(self, seed=None, options=None):
        observations, infos = super().reset()
        return {"a": observations["a"]}, infos


class Unheard(Plain):
    """Shows nothing to one agent after a step."""

    def step(self, actions):
        observations, *others = super().step(actions)
        return {"a": observations["a"]}, *others


class Flagged(Plain):
    """Says in other ways who has ended."""

    def __init__(self, flags):
        self.flags = flags

    def step(self, actions):
        observations, paid, _, truncations, infos = super().step(actions)
        return observations, paid, self.flags, truncations, infos


class Listing(Plain):
    """Has lists in place of infos by key."""

    def step(self, actions):
        return *super().step(actions)[:4], {"a": ["won"]}


class PaysLeft(Plain):
    """`b` leaves after its first round, and is paid by this dict after the second one."""

    def __init__(self, late, info=None):
        self.late, self.info = late, info or {}

    def step(self, actions):
        self.agents = ["a"]
        self.round += 1
        alive = ["a", "b"] if self.round == 1 else ["a"]
        ended = {agent: agent == "b" or self.round == 2 for agent in alive}
        pay = dict.fromkeys(alive, 1.0) | (self.late if self.round == 2 else {})
        infos = {agent: {"task_reward": pay[agent], "billed": 0.0} for agent in alive}
        infos |= {"b": self.info} if self.round == 2 else {}
        return self.shown(), pay, ended, dict.fromkeys(alive, False), infos


class Returning(PaysLeft):
    """`b` leaves, and is back a round later."""

    def __init__(self):
        super().__init__({})

    def step(self, actions):
        returned = super().step(actions)
        self.agents = ["a", "b"] if self.round == 2 else ["a"]
        return returned


class Twice(Plain):
    """Names an agent twice."""

    def reset(self, seed=None, options=None):
        returned = super().reset()
        self.agents = ["a", "a"]
        return returned


class Told(Plain):
    """Says something in its infos."""

    def __init__(self, info):
        self.info = info

    def step(self, actions):
        return *super().step(actions)[:4], {"a": self.info}


class Left(Plain):
    """Says how many tokens are left."""

    def __init__(self, tokens_left):
        self.tokens_left = tokens_left

    def reset(self, seed=None, options=None):
        observations, infos = super().reset()
        return {
            a: {"text": o, "tokens_left": self.tokens_left} for a, o in observations.items()
        }, {}


NAN = float("nan")
STRANGE = ("1", np.array("1"), b"1", [None], 1j, float("-inf"), np.array([]), {"a": 1})
"""Rewards that are no number, though some can be read as one."""


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        *((partial(Paying, reward), "Agent 'a': got reward=") for reward in STRANGE),
        (Unread, "return two dicts by agent.* Agent 'b': got no observation"),
        (Unheard, "from `step`: dicts by agent. Agent 'b': got no observation"),
        (lambda: Flagged({}), "from `step`: dicts by agent. Agent 'a': got None among"),
        (lambda: Flagged({"a": "False", "b": "False"}), "Agent 'a': got 'False' among"),
        (Listing, r"from `step`: dicts by agent. Agent 'a': got the info \['won'\]"),
        (Returning, "never bring it back. Agent 'b': got agents"),
        (lambda: PaysLeft({"c": 1.0}), "Agent 'c': got a reward of 1.0 for no agent"),
        (lambda: PaysLeft({"c": float("nan")}), "Agent 'c': got a reward of nan for no agent"),
        (lambda: PaysLeft({"b": float("nan")}), "finite numbers. Agent 'b': got reward=nan"),
        (lambda: PaysLeft({"b": "5"}), "finite numbers. Agent 'b': got reward='5'"),
        (lambda: PaysLeft({"b": 0.0}, {"task_reward": "5"}), "'b': got task_reward='5'"),
        (Twice, r"got agents \['a', 'a'\], some twice"),
        *((partial(Told, {"solved": x}), "got solved=") for x in ("yes", 0.5, np.ones(2), NAN)),
        *((partial(Told, {"score": x}), "got score=") for x in ("1", NAN, 10**400, [])),
        *((partial(Told, {"tokens_said": x}), "got tokens_said=") for x in ("5", NAN, -5)),
        *((partial(Told, {"tokens_thought": x}), "got tokens_thought=") for x in ([], -1)),
        *((partial(Told, {"billed": x}), "got billed=") for x in (-1.0, "1", 10**400)),
        *((partial(Left, x), "'a': got tokens_left=") for x in ("5", [], [NAN], 10**400)),
    ],
)
def test_what_would_be_learned_wrong_is_refused(kind, words):
    with pytest.raises(ContractError, match=words):
        played(kind())


def test_pay_after_an_agent_has_left_belongs_to_its_last_round():
    # One of its own round and 0.5 of the next one; "a" is paid 1.0 in each of its two.
    episode = played(PaysLeft({"b": 0.5}, {"task_reward": np.float32(0.5)}))
    assert episode.rewards == {"a": (1.0, 1.0), "b": (1.5,)}
    assert episode.task_rewards == {"a": (1.0, 1.0), "b": (1.5,)}
    # Beside a reward of 0 it is paid as well.
    episode = played(PaysLeft({"b": 0.0}, {"task_reward": 5.0}))
    assert episode.task_rewards == {"a": (1.0, 1.0), "b": (6.0,)}
    # A zero, or nothing that counts, is no pay.
    for late in (0, 0.0, np.zeros(1), None):
        assert played(PaysLeft({"b": late, "c": late})).returns == {"a": 2.0, "b": 1.0}


class Unseeded(Plain):
    """Shows `b` another number at every reset."""

    numbers = count(1)

    def reset(self, seed=None, options=None):
        observations, infos = super().reset()
        return observations | {"b": f"The number is {next(self.numbers)}."}, infos


def test_members_of_a_group_read_the_same_task():
    speakers = dict.fromkeys(["a", "b"], Speaker())
    words = "under equal seeds.* Agent 'b': got '.*is 1.' and '.*is 2.' at two resets with seed 5"
    with pytest.raises(ContractError, match=words):
        collect([Unseeded(), Unseeded()], speakers, [Start(5)], 2, seed=0)
    # Groups are of different starts.
    groups = collect([Unseeded()], speakers, [Start(5), Start(6)], 1, seed=0)
    assert [len(group.episodes) for group in groups] == [1, 1]


@pytest.mark.parametrize("solved", [True, False, 1, 0, np.bool_(True), np.zeros(1)])
def test_a_verdict_is_a_truth_value_or_a_number_like_one(solved):
    assert played(Told({"solved": solved})).solved is bool(solved)


class Renamed(Plain):
    """Names another task in its infos at every reset, and shows the same."""

    numbers = count(1)

    def reset(self, seed=None, options=None):
        observations, _ = super().reset()
        return observations, {"a": {"task": f"task {next(self.numbers)}"}}


def test_members_of_a_group_name_the_same_task():
    speakers = dict.fromkeys(["a", "b"], Speaker())
    words = "got the tasks 'task 1' and 'task 2' in infos at two resets with seed 5"
    with pytest.raises(ContractError, match=words):
        collect([Renamed(), Renamed()], speakers, [Start(5)], 2, seed=0)
