"""The base classes of wrappers."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from laconic import envs
from laconic.envs.dialogue.reward import PAY
from laconic.envs.errors import UnknownNameError
from laconic.envs.wrappers.base import ArrayWrapper, Wrapper, text_of
from laconic.envs.wrappers.token_arrays import TokenArrays


class Blank(ArrayWrapper):
    """Agents observe nothing and say nothing."""

    def _message(self, agent, action):
        return ""

    def _to_arrays(self, observations, infos):
        return observations, infos


@pytest.fixture
def env():
    """Return an environment of two tasks and two agents."""
    return envs.make("gsm8k", free=True, tasks=2, team={"solver": 1, "helper": 1})


def test_the_price_is_set_through_a_wrapper_and_not_past_it(env):
    wrapped = Wrapper(env)
    wrapped.reward = envs.Reward(price=0.5)
    assert env.reward.price == wrapped.reward.price == 0.5


def test_the_text_of_an_observation_is_itself_or_stands_under_its_name():
    assert text_of("a") == text_of({"text": "a", "tokens_left": 3}) == "a"


def test_tasks_are_named_by_number_or_key_and_by_nothing_else(env):
    wrapped = Blank(env, Box(0.0, 1.0, (3,)), lambda: Discrete(2))
    keys = list(env.tasks)
    for options in (1, np.int64(1), keys[1]):
        _, infos = wrapped.reset(seed=0, options={"task": options})
        assert infos["solver_0"]["task"] == keys[1]
    with pytest.raises(
        UnknownNameError, match="number of a task 2. Did you mean|number of a task 2"
    ):
        wrapped.reset(options={"task": 2})


def test_the_state_is_every_agents_array_and_zeros_where_nothing_was_seen(env):
    wrapped = Blank(env, Box(0.0, 1.0, (3,)), lambda: Discrete(2))
    wrapped.reset(seed=0)
    assert wrapped.state_space.shape == (6,)
    assert wrapped.state().tolist() == [0.0] * 6


def test_infos_have_the_pay_of_the_environment_and_nothing_where_it_says_nothing(env):
    env.reward = envs.Reward(price=1.0, normalizer=10, charge="team")
    wrapped = TokenArrays(env)
    _, infos = wrapped.reset(seed=0)
    assert [infos["helper_0"][key] for key in PAY] == [0.0, 0.0, 0.0]
    word = np.zeros(64, np.int64)
    word[0] = ord("a") + 1
    _, rewards, _, _, infos = wrapped.step({"helper_0": word})
    # One token of ten at a price of 1, which both pay.
    assert [infos["helper_0"][key] for key in PAY] == [0.0, 0.1, 0.1]
    assert [infos["solver_0"][key] for key in PAY] == [0.0, 0.0, 0.1]
    assert rewards == {"solver_0": -0.1, "helper_0": -0.1}
    assert wrapped.metadata["when"] == "always" and wrapped.metadata["reward"] == "common"
    assert not {*PAY} & {*wrapped._figures("seen", {"task": 0})}
