"""The rules of the contract about an environment's attributes and what its methods return.

They are checked before all others, which rely on them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from laconic.envs.contract.episodes import Env, Played, babble, broken, play, require
from laconic.envs.errors import ContractError

_LEGAL = "Every sample of an action space is an action that a step takes."


def _parts(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """An environment lists names in `possible_agents`, and has two spaces of gymnasium for each."""
    env = make()
    require(hasattr(env, "possible_agents"), _parts, "no `possible_agents`")
    agents: Any = env.possible_agents
    listed = isinstance(agents, Collection) and not isinstance(agents, str) and len(agents) > 0
    named = listed and all(isinstance(agent, str) for agent in agents)
    require(named, _parts, f"possible_agents={agents!r}")
    for agent in agents:
        for name in ("observation_space", "action_space"):
            try:
                space = getattr(env, name)(agent)
            except Exception as error:
                raise broken(_parts, f"{_trouble(error)} from {name}", agent) from error
            require(isinstance(space, Space), _parts, f"{space!r} from {name}", agent)


def _reset(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """A reset takes `seed` and `options`, and returns two dicts of agents, observations and infos.

    The agents are those of `env.agents` then, all of them possible ones.
    """
    env = make()
    signature = inspect.signature(env.reset)
    try:
        signature.bind(seed=0, options=None)
    except TypeError as error:
        raise broken(_reset, f"reset{signature}: {error}") from error
    for seed in seeds:
        returned: Any = env.reset(seed=seed)
        require(are_dicts(returned, 2), _reset, describe(returned))
        agents = set(getattr(env, "agents", ()))
        possible = bool(agents) and agents <= set(env.possible_agents)
        require(possible, _reset, f"agents={getattr(env, 'agents', None)!r} after it")
        for one in returned:
            require(set(one) == agents, _reset, list(one))


def _step(make: Callable[[], Env], seeds: Sequence[int]) -> None:
    """A step returns observations, rewards, terminations, truncations, infos: dicts of who acted.

    Exactly those act that were in `env.agents` before it.
    """
    for seed in seeds:
        for step in _played(make(), seed).steps:
            require(are_dicts(step.returned, 5), _step, describe(step.returned))
            for returned in step.returned:
                require(set(returned) == set(step.alive), _step, list(returned))


def _played(env: Env, seed: int) -> Played:
    """An episode of samples; an error of the environment's step is told with what it was given."""
    said: dict[str, Any] = {}

    def speak(env: Env, agent: str, generator: np.random.Generator) -> Any:
        said[agent] = babble(env, agent, generator)
        return said[agent]

    try:
        return play(env, seed, speak)
    except Exception as error:
        raise ContractError(_LEGAL, f"{_trouble(error)} on the actions {said!r}") from error


def misfit(value: Any, space: Space[Any]) -> str:
    """What speaks against a value of a space, in words; empty where it lies in it."""
    try:
        return "" if value in space else f"{repr(value)[:300]}, which is not in {space}"
    except Exception as error:
        return f"{repr(value)[:300]}, on which {space} fails: {_trouble(error)}"


def are_dicts(returned: Any, count: int) -> bool:
    """Return whether a method returned this number of dicts."""
    several = isinstance(returned, tuple | list) and len(returned) == count
    return several and all(isinstance(one, Mapping) for one in returned)


def describe(returned: Any) -> str:
    """Describe what a method returned, for messages."""
    if not isinstance(returned, tuple | list):
        return f"{type(returned).__name__} {repr(returned)[:300]}"
    return f"{len(returned)} values: {', '.join(type(one).__name__ for one in returned)}"


def _trouble(error: Exception) -> str:
    return f"{type(error).__name__} ({error})"


INTERFACE_RULES = (_parts, _reset, _step)
"""These rules, in the order in which they are checked."""
