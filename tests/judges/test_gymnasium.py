"""Gymnasium's checkers, vector environments and flattening, on one agent's view of every benchmark.

The teammates are random: they draw from their action space, with the mask where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", minversion="1.4")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv  # noqa: E402
from gymnasium.vector.utils import create_shared_memory  # noqa: E402
from gymnasium.wrappers import FlattenObservation  # noqa: E402
from gymnasium.wrappers.common import PassiveEnvChecker  # noqa: E402

from laconic.envs.wrappers import SingleAgent  # noqa: E402

# Any warning but this is an error: text is rendered, but has no frames in a second.
pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore:.*No render fps was declared"),
]
CLIENT = ("Gymnasium", "gymnasium")
ID = "judges/OneAgent-v0"


LONG = "refused: it needs texts of a longest length, and ours have none"


def is_text(face: str) -> bool:
    return face.startswith(("text", "FullTranscript"))


class RandomTeammate:
    """Draws from the action space of each agent."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def __call__(self, agent: str, observation: Any, info: Any) -> Any:
        # Seeded with what the agent sees, for a checker plays one seed twice.
        space = self._env.action_space(agent)
        space.seed(info["round"])
        return space.sample(mask=info.get("action_mask"))


def one_agent(show: Any, face: str, last: bool = False, **settings: Any) -> SingleAgent:
    """Return the view of the first agent of a team, who answers, or of the last one."""
    env = show(face, **settings)
    return SingleAgent(env, env.possible_agents[-int(last)], RandomTeammate(env))


@pytest.fixture
def make(face: str, show: Any) -> Iterator[Callable[..., gymnasium.Env[Any, Any]]]:
    """Makes the view by its name, as `gymnasium.make` does, with the passive checker around it."""
    gymnasium.register(ID, entry_point=partial(one_agent, show, face))
    yield partial(gymnasium.make, ID)
    del gymnasium.registry[ID]


@pytest.fixture
def passes(face: str, record: Callable[..., None]) -> Callable[[str], None]:
    """Keeps that a check held."""
    return lambda check: record(face=f"SingleAgent of {face}", check=check, outcome="passes")


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
def test_the_checker(last: bool, make: Any, passes: Any) -> None:
    check_env(make(last=last).unwrapped)
    passes("check_env")


def test_made_by_its_name_it_is_checked_as_it_plays(make: Any, passes: Any) -> None:
    env = make()
    assert isinstance(env.env, PassiveEnvChecker)
    play(env)
    passes("gym.make with the passive checker")


def play(env: Any) -> None:
    env.reset(seed=0)
    env.action_space.seed(0)
    ended = False
    while not ended:
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert np.isfinite(reward)
        ended = terminated or truncated


@pytest.mark.parametrize(
    ("vector", "settings"),
    [(SyncVectorEnv, {}), (AsyncVectorEnv, {"shared_memory": False}), (AsyncVectorEnv, {})],
    ids=["SyncVectorEnv", "AsyncVectorEnv", "AsyncVectorEnv with shared memory"],
)
def test_vector_environments(vector: Any, settings: Any, make: Any, passes: Any, face: str) -> None:
    is_shared = vector is AsyncVectorEnv and not settings
    if is_text(face) and is_shared:
        pytest.skip("see test_what_text_is_refused")
    env = vector([make] * 2, **settings)
    try:
        env.reset(seed=[1, 2])
        env.action_space.seed(0)
        for _ in range(8):
            observations, rewards, *_ = env.step(env.action_space.sample())
            assert observations in env.observation_space
            assert np.isfinite(rewards).all()
    finally:
        env.close()
    passes(vector.__name__ + (" with shared memory" if is_shared else ""))


def test_flat_observations(make: Any, passes: Any, face: str) -> None:
    if is_text(face):
        pytest.skip("see test_what_text_is_refused")
    env = FlattenObservation(make())
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    play(env)
    passes("FlattenObservation")


@pytest.mark.parametrize("view", ["text DialogueEnv", "FullTranscript"])
def test_what_text_is_refused(view: str, show: Any, record: Any) -> None:
    env = one_agent(show, f"{view} signal")
    common = {"face": f"SingleAgent of {view} signal", "outcome": LONG}
    with pytest.raises(ValueError, match="expected a space of bounded size"):
        FlattenObservation(env)
    record(check="FlattenObservation", note="TokenArrays has arrays of one size", **common)
    # What AsyncVectorEnv does, without its processes, which do not survive an error.
    with pytest.raises(ValueError, match="expected a space of bounded size"):
        create_shared_memory(env.observation_space, n=1)
    record(check="AsyncVectorEnv with shared memory", note="shared_memory=False", **common)
