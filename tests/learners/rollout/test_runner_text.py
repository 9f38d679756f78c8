"""Legal PettingZoo environments are played, others are refused with a message."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Text
from pettingzoo import ParallelEnv

from laconic.envs.errors import SettingError
from laconic.learners.interfaces import Reply
from laconic.learners.rollout.play import Start, play
from laconic.learners.rollout.runner import AgentState, drop_none, fit_to_space

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


class Bare(Plain):
    """No metadata, no spaces."""

    metadata: Any = None

    def action_space(self, agent):
        raise KeyError(agent)


class Subset(Plain):
    """Shows something to an agent that takes no part."""

    def reset(self, seed=None, options=None):
        super().reset(seed)
        self.agents = ["b"]
        return self.shown(), self.infos()


class Nones(Plain):
    """Environment whose infos have None for unknown values, and one info is missing."""

    def infos(self):
        unknown = dict.fromkeys(("score", "answer", "message", "solved", "tokens_said"))
        return {"a": unknown, "b": None}

    def paid(self):
        return np.array([1.0])


class Mapped(Plain):
    """Text in a mapping, among other things."""

    def shown(self):
        return {agent: {"text": "hello", "more": np.zeros(3)} for agent in self.agents}


def played(env):
    policies = dict.fromkeys(env.possible_agents, Speaker())
    return play([env], policies, [Start(3)], seed=0)[0]


@pytest.mark.parametrize("kind", [Plain, Bare, Subset, Nones, Mapped])
def test_what_is_legal_is_played(kind):
    env = kind()
    episode = played(env)
    taking_part = ["b"] if kind is Subset else ["a", "b"]
    pays = (1.0, 1.0)
    assert episode.rewards == dict.fromkeys(taking_part, pays)
    assert env.heard == [dict.fromkeys(taking_part, SAID)] * 2
    assert {turn.message for turn in episode.turns} == {SAID}
    assert not any(turn.cut for turn in episode.turns)
    assert episode.score == sum(pays)
    assert (episode.solved, episode.answer) == (None, "")
    assert episode.tokens_said == episode.tokens_read == {}


@pytest.mark.parametrize(
    ("space", "text"),
    [
        (Text(7, min_length=0, charset=frozenset("Tomhas 7,.")), "Tom has"),
        (Text(99, charset=frozenset("aeiou ")), "o a  ae  i"),
        # Gymnasium's own characters are what nobody chose.
        (Text(12), SAID[:12]),
    ],
)
def test_a_message_is_fitted_into_its_space(space, text):
    class Small(Plain):
        pass

    Small.space = space
    env = Small()
    episode = played(env)
    assert env.heard[0] == {"a": text, "b": text}
    assert all(turn.cut and turn.message == text for turn in episode.turns)
    assert {turn.written for turn in episode.turns} == {SAID}


class Strict(Plain):
    """Takes nothing outside its space."""

    space = Text(30)

    def step(self, actions):
        if any(action not in self.space for action in actions.values()):
            raise AssertionError(actions)
        return super().step(actions)


class Failing(Plain):
    """Fails by itself."""

    def step(self, actions):
        raise RuntimeError("the world ended")


class Late(Plain):
    """An agent joins after the reset."""

    def step(self, actions):
        result = super().step(actions)
        self.agents = ["a", "b", "c"]
        return result


class Choosing(Plain):
    space = Discrete(3)


class Seeing(Plain):
    space = Box(0, 1, (2,))


class Masked(Plain):
    def shown(self):
        return {agent: {"observation": [1], "action_mask": [1]} for agent in self.agents}


class Arrays(Bare):
    def shown(self):
        return {agent: np.zeros(3) for agent in self.agents}


class Paying(Plain):
    def __init__(self, reward):
        self.reward = reward

    def paid(self):
        return self.reward


class HalfPaid(Plain):
    """Leaves an agent out of the rewards."""

    def step(self, actions):
        observations, rewards, *others = super().step(actions)
        return observations, {"a": rewards["a"]}, *others


class Lone(Plain):
    """Returns observations alone."""

    def reset(self, seed=None, options=None):
        return super().reset()[0]


class Unseeded(Plain):
    def reset(self):
        return super().reset()


class Optionless(Plain):
    def reset(self, seed=None):
        return super().reset()


class Blank(Plain):
    """Has None in place of infos."""

    def reset(self, seed=None, options=None):
        return super().reset()[0], None


class Dones(Plain):
    """Returns the four values of an older version."""

    def step(self, actions):
        observations, rewards, terminations, _, infos = super().step(actions)
        return observations, rewards, terminations, infos


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
        infos = {agent: {"task_reward": pay[agent]} for agent in alive}
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


STRANGE = ("1", np.array("1"), b"1", [None], 1j, float("-inf"), np.array([]), {"a": 1})
"""Rewards that are no number, though some can be read as one."""


class Numbered(Plain):
    possible_agents: Any = [0, 1]


class Paired(Plain):
    possible_agents: Any = [("team", 0), ("team", 1)]


class Nameless(Plain):
    possible_agents = ["a", ""]


class Twins(Plain):
    possible_agents = ["a", "a"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Strict, r"agent 'a' said 'Tom has 7.*not in its action space Text\(1, 30.*charset=..."),
        (
            Late,
            r"Remove an agent when .* never bring it back. Agent 'c': got agents \['a', 'b', 'c'\]",
        ),
        (Choosing, r"an action must be a text; agent 'a' has the action space Discrete\(3\)"),
        (Seeing, "an action must be a text; agent 'a' has the action space Box"),
        (Masked, r"Agent 'a': got a mapping with the keys \['action_mask', 'observation'\]"),
        (Arrays, "Agent 'a': got ndarray"),
        (lambda: Paying([1.0, 2.0]), r"are finite numbers. Agent 'a': got reward=\[1.0, 2.0\]"),
        (lambda: Paying("much"), "are finite numbers. Agent 'a': got reward='much'"),
        (lambda: Paying(None), "Agent 'a': got no reward, not even 0.0"),
        (lambda: Paying(np.array([None])), r"Agent 'a': got reward=array\(\[None\]"),
        (lambda: Paying(float("nan")), "Agent 'a': got reward=nan"),
        (lambda: Paying(np.float32("inf")), r"Agent 'a': got reward=.*inf"),
        *((partial(Paying, reward), "Agent 'a': got reward=") for reward in STRANGE),
        (HalfPaid, "Agent 'b': got no reward"),
        (Unread, "return two dicts by agent.* Agent 'b': got no observation"),
        (Unheard, "from `step`: dicts by agent. Agent 'b': got no observation"),
        (lambda: Flagged({}), "from `step`: dicts by agent. Agent 'a': got None among"),
        (lambda: Flagged({"a": "False", "b": "False"}), "Agent 'a': got 'False' among"),
        (Listing, r"from `step`: dicts by agent. Agent 'a': got the info \['won'\]"),
        (Returning, "never bring it back. Agent 'b': got agents"),
        (lambda: PaysLeft({"c": 1.0}), "Agent 'c': got a reward of 1.0 for no agent"),
        (Lone, "return two dicts by agent: .* got dict {'a': 'round 0'"),
        (Unseeded, r"Unseeded.reset must take seed and options, .*; it is reset\(\)"),
        (Optionless, r"reset must take seed and options, .*; it is reset\(seed=None\)"),
        (Blank, "got 2 values: dict, NoneType"),
        (Dones, "infos from `step`: dicts by agent. got 4 values: dict, dict"),
        (
            Numbered,
            r"printable strings of 1 to 80 bytes, such as 'player_0'; got possible_agents=\[0, 1\]",
        ),
        (Paired, r"printable strings .*; got possible_agents=\[\('team', 0\)"),
        (Nameless, r"1 to 80 bytes, .*; got possible_agents=\['a', ''\]"),
        (Twins, r"distinct, .*; got possible_agents=\['a', 'a'\]"),
    ],
)
def test_what_cannot_be_played_is_refused_with_what_came(kind, words):
    with pytest.raises(SettingError, match=words):
        played(kind())


def test_an_error_of_the_environment_itself_is_left_as_it_is():
    with pytest.raises(RuntimeError, match="the world ended"):
        played(Failing())


def test_silence_outside_a_space_is_explained():
    class Silent(Speaker):
        def reply(self, requests, *, seed, greedy):
            return [Reply(message="") for _ in requests]

    env = Strict()
    with pytest.raises(SettingError, match=r"must hold the empty text: Text\(min_length=0"):
        play([env], dict.fromkeys(env.possible_agents, Silent()), [Start(0)], seed=0)


def test_a_reward_is_a_number_or_an_array_of_one_number():
    paid = [2, np.array([0.5]), np.float32(-1.5), True, np.array(True), [0.25]]
    state = AgentState("a")
    for reward in paid:
        state.book(reward, {})
    assert state.rewards == [2.0, 0.5, -1.5, 1.0, 1.0, 0.25]


class Lingering(Plain):
    """Ends agents by its flags and goes on listing all of them."""

    def __init__(self, ends, flag):
        self.ends, self.flag = ends, flag

    def step(self, actions):
        self.heard.append(actions)
        self.round += 1
        ended = {agent: self.round >= self.ends[agent] for agent in self.agents}
        flags = [dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)]
        flags[self.flag] = ended
        paid = {agent: 1.0 for agent in self.agents if self.round <= self.ends[agent]}
        return self.shown(), paid, *flags, self.infos()


@pytest.mark.parametrize("flag", [0, 1])
@pytest.mark.parametrize("ends", [{"a": 1, "b": 1}, {"a": 1, "b": 3}, {"a": 2, "b": 1}])
def test_flags_end_agents_that_the_environment_goes_on_listing(ends, flag):
    env = Lingering(ends, flag)
    episode = played(env)
    # Every agent speaks and is paid in each of its rounds, and in none after its last.
    assert {agent: len(paid) for agent, paid in episode.rewards.items()} == ends
    assert episode.returns == {agent: float(rounds) for agent, rounds in ends.items()}
    spoke = {agent: sum(turn.agent == agent for turn in episode.turns) for agent in ends}
    assert spoke == ends
    # Who has ended is still listed, so the environment still gets an action for it: silence.
    assert env.heard == [
        {agent: SAID if round < ends[agent] else "" for agent in ends}
        for round in range(max(ends.values()))
    ]
    assert episode.truncated == bool(flag)


def test_a_key_with_none_says_nothing():
    assert drop_none(None) == {}
    assert drop_none({"score": None, "solved": False}) == {"solved": False}


def test_a_message_is_cut_to_the_characters_and_the_length_of_its_space():
    assert fit_to_space(None, "any thing") == "any thing"
    assert fit_to_space(Text(3, charset="ab"), "xaybaab") == "aba"


def test_pay_after_an_agent_has_left_belongs_to_its_last_round():
    # One of its own round and 0.5 of the next one; "a" is paid 1.0 in each of its two.
    episode = played(PaysLeft({"b": 0.5}, {"task_reward": np.float32(0.5)}))
    assert episode.rewards == {"a": (1.0, 1.0), "b": (1.5,)}
    assert episode.task_rewards == {"a": (1.0, 1.0), "b": (1.5,)}
    # A zero, or nothing that counts, is no pay.
    for late in (0, 0.0, np.zeros(1), None):
        assert played(PaysLeft({"b": late, "c": late})).returns == {"a": 2.0, "b": 1.0}
