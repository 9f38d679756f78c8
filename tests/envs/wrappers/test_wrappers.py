"""PettingZoo's and Gymnasium's own tests, and ours, on every wrapper over several benchmarks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as check_gymnasium
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test, state_test

from laconic.envs.contract import check_env
from laconic.envs.wrappers import (
    DiscreteMessages,
    FullTranscript,
    SingleAgent,
    TokenArrays,
    turn_based,
)

# Any warning but these is an error: text is no array, and a mask of 0 and 1 no picture.
pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array"),
    pytest.mark.filterwarnings("ignore:(Observation|Action) space for each agent probably should"),
]

WRAPPERS: dict[str, Any] = {
    "messages": DiscreteMessages,
    "masked": lambda env: DiscreteMessages(env, mask="observation", words=16),
    "tokens": lambda env: TokenArrays(env, observation_tokens=64, action_tokens=8),
    "transcript": FullTranscript,
    "tokens of the transcript": lambda env: TokenArrays(
        FullTranscript(env), observation_tokens=64, action_tokens=8
    ),
}
NUMERIC = [name for name in WRAPPERS if name != "transcript"]


@pytest.fixture(params=WRAPPERS)
def make(request: pytest.FixtureRequest, make_text: Any) -> Any:
    """Make every wrapped environment."""
    return lambda **settings: WRAPPERS[request.param](make_text(**settings))


@pytest.fixture(params=NUMERIC)
def make_numeric(request: pytest.FixtureRequest, make_text: Any) -> Any:
    """Make those whose observations and actions are numbers."""
    return lambda: WRAPPERS[request.param](make_text())


def test_the_parallel_interface_passes_and_follows_its_seed(make: Any) -> None:
    parallel_api_test(make(), num_cycles=30)
    parallel_seed_test(make)


def test_the_turn_based_view_passes_and_follows_its_seed(make: Any, capsys: Any) -> None:
    api_test(turn_based(make()), num_cycles=30)
    assert "Passed API test" in capsys.readouterr().out
    seed_test(lambda: turn_based(make()), num_cycles=30)


def test_our_own_contract_holds(make: Any) -> None:
    check_env(make, episodes=2)


def test_one_agents_view_passes_gymnasiums_checker(make: Any) -> None:
    for agent in make().possible_agents[:2]:
        env = make()
        idle = env.action_space(agent).sample() * 0 if numeric(env) else ""
        check_gymnasium(
            SingleAgent(env, agent, lambda agent, observation, info, idle=idle: idle),
            skip_render_check=True,
        )


def numeric(env: Any) -> bool:
    return hasattr(env, "state_space")


def test_the_state_is_that_of_all_agents_and_lies_in_its_space(make_numeric: Any) -> None:
    env = make_numeric()
    state_test(turn_based(env), make_numeric(), num_cycles=4)
    observations, _ = env.reset(seed=1)
    arrays = [
        observation["observation"] if isinstance(observation, dict) else observation
        for observation in observations.values()
    ]
    np.testing.assert_array_equal(env.state(), np.concatenate(arrays))
    assert env.state().dtype == env.state_space.dtype


def test_infos_hold_the_same_numbers_from_the_reset_to_the_end(make_numeric: Any) -> None:
    env = make_numeric()
    _, infos = env.reset(seed=0)
    first = shapes(infos)
    while env.agents:
        *_, infos = env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        assert shapes(infos) == first


def shapes(infos: Any) -> Any:
    kinds = {}
    for agent, info in infos.items():
        for name, value in info.items():
            array = np.asarray(value)
            assert array.dtype.kind in "iuf" and np.isfinite(array).all(), (agent, name, value)
            kinds[agent, name] = array.shape, array.dtype.kind
    return kinds


def test_a_task_is_named_by_its_number_and_by_its_key(make_numeric: Any) -> None:
    env = make_numeric()
    for name in (3, np.int64(3), list(env.unwrapped.tasks)[3]):
        _, infos = env.reset(seed=0, options={"task": name})
        assert {info["task"] for info in infos.values()} == {3}
        assert env.unwrapped.task is env.tasks[3]


def test_a_wrapped_environment_is_copied_by_pickling(make: Any) -> None:
    env = make()
    env.reset(seed=0)
    again = pickle.loads(pickle.dumps(env))
    first, second = (each.reset(seed=5)[0] for each in (env, again))
    assert str(first) == str(second)


def test_a_price_is_set_through_a_wrapper(make: Any) -> None:
    env = make()
    env.reward = type(env.reward)(price=7.0)
    assert env.unwrapped.reward.price == env.reward.price == 7.0
