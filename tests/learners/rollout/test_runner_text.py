"""Legal PettingZoo environments are played, others are refused with a message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Text
from plain_env import SAID, Plain, Speaker, played

from laconic.envs.errors import SettingError
from laconic.learners.interfaces import Reply
from laconic.learners.rollout.play import Start, play
from laconic.learners.rollout.runner import AgentState, drop_none, fit_to_space


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
        (HalfPaid, "Agent 'b': got no reward"),
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
