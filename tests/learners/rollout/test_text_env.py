"""Environments of others: what is legal in PettingZoo is played, the rest is refused in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Text
from pettingzoo import ParallelEnv

from laconic.envs.errors import SettingError
from laconic.learners.agents.base import Reply
from laconic.learners.rollout.play import Start, play
from laconic.learners.rollout.text_env import fit_to_space, known, number_of

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
        paid, told = dict.fromkeys(alive, self.paid()), dict.fromkeys(alive, over)
        return self.shown(), paid, told, dict.fromkeys(alive, False), self.infos()

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
    """Infos hold None for what is not known, and one has none at all."""

    def infos(self):
        unknown = dict.fromkeys(("score", "answer", "message", "solved", "tokens_said"))
        return {"a": unknown, "b": None}

    def paid(self):
        return np.array([1.0])


class Unpaid(Plain):
    """Pays with None."""

    def paid(self):
        return None


class Mapped(Plain):
    """Text in a mapping, among other things."""

    def shown(self):
        return {agent: {"text": "hello", "more": np.zeros(3)} for agent in self.agents}


def played(env):
    policies = dict.fromkeys(env.possible_agents, Speaker())
    return play([env], policies, [Start(3)], seed=0)[0]


@pytest.mark.parametrize("kind", [Plain, Bare, Subset, Nones, Unpaid, Mapped])
def test_what_is_legal_is_played(kind):
    env = kind()
    episode = played(env)
    taking_part = ["b"] if kind is Subset else ["a", "b"]
    pays = (0.0, 0.0) if kind is Unpaid else (1.0, 1.0)
    assert episode.rewards == dict.fromkeys(taking_part, pays)
    assert env.heard == [dict.fromkeys(taking_part, SAID)] * 2
    assert {turn.message for turn in episode.turns} == {SAID}
    assert not any(turn.cut for turn in episode.turns)
    assert episode.score == sum(pays)
    assert (episode.solved, episode.answer) == (None, "")
    assert episode.tokens_said == episode.tokens_read == {}


@pytest.mark.parametrize(
    ("space", "heard"),
    [
        (Text(7, min_length=0, charset=frozenset("Tomhas 7,.")), "Tom has"),
        (Text(99, charset=frozenset("aeiou ")), "o a  ae  i"),
        # Gymnasium's own characters are what nobody chose.
        (Text(12), SAID[:12]),
    ],
)
def test_a_message_is_fitted_into_its_space(space, heard):
    class Small(Plain):
        pass

    Small.space = space
    env = Small()
    episode = played(env)
    assert env.heard[0] == {"a": heard, "b": heard}
    assert all(turn.cut and turn.message == heard for turn in episode.turns)
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
        found = super().step(actions)
        self.agents = ["a", "b", "c"]
        return found


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
    def paid(self):
        return [1.0, 2.0]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Strict, r"agent 'a' said 'Tom has 7.*not in its action space Text\(1, 30.*charset=..."),
        (Late, "agent 'c' joined after the reset"),
        (Choosing, r"an action must be a text; that of agent 'a' is one of Discrete\(3\)"),
        (Seeing, "an action must be a text; that of agent 'a' is one of Box"),
        (Masked, r"agent 'a' was shown a mapping with the keys \['action_mask', 'observation'\]"),
        (Arrays, "agent 'a' was shown ndarray"),
        (Paying, r"a reward must be a number; agent 'a' was paid \[1.0, 2.0\]"),
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
    with pytest.raises(SettingError, match=r"has to hold the empty text: Text\(min_length=0"):
        play([env], dict.fromkeys(env.possible_agents, Silent()), [Start(0)], seed=0)


def test_a_reward_is_a_number_an_array_of_one_or_nothing():
    assert [number_of("a", one) for one in (2, np.array([0.5]), None)] == [2.0, 0.5, 0.0]
    with pytest.raises(SettingError, match="agent 'a' was paid 'much'"):
        number_of("a", "much")


def test_a_key_with_none_says_nothing():
    assert known(None) == {}
    assert known({"score": None, "solved": False}) == {"solved": False}


def test_a_message_is_cut_to_the_characters_and_the_length_of_its_space():
    assert fit_to_space(None, "any thing") == "any thing"
    assert fit_to_space(Text(3, charset="ab"), "xaybaab") == "aba"
