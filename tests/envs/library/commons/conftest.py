"""Commons that are played by numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from laconic import envs
from laconic.envs.worlds import WorldEnv


@pytest.fixture
def commons() -> Callable[..., Any]:
    """Make a commons; the seed of the first reset is 0."""

    def make(seed: int = 0, **settings: Any) -> Any:
        env = envs.make("commons", free=True, tasks=4, **settings)
        env.reset(seed=seed)
        return env

    return make


@pytest.fixture
def months() -> Callable[..., Any]:
    """Play months of harvests, `[{agent: units}, ...]` or a number for all, without talk."""

    def play(env: WorldEnv, harvests: Sequence[Mapping[str, int] | int]) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for harvest in harvests:
            if not env.agents:
                break
            verb = env.world.words.verb
            wishes = harvest if isinstance(harvest, Mapping) else dict.fromkeys(env.agents, harvest)
            *_, infos = env.step({agent: f"> {verb} {units}" for agent, units in wishes.items()})
            while env.agents and env.world_state.talk is not None:
                *_, infos = env.step({})
        return infos

    return play
