"""Episodes played to check a contract, and how a broken rule is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Text
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo import ParallelEnv

from laconic.envs.errors import ContractError

Env: TypeAlias = ParallelEnv[str, Any, Any]
Speaker = Callable[[Env, str, np.random.Generator], Any]
"""What an agent does next, given the environment, its name and a generator."""

MAX_STEPS = 1000
"""Steps after which an episode is taken to be endless."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of an episode, or its reset."""

    alive: tuple[str, ...]
    """Agents before the step."""
    returned: tuple[Any, ...]
    """Observations, rewards, terminations, truncations, infos; of a reset the outer two."""
    left: tuple[str, ...]
    """Agents after the step."""

    @property
    def observations(self) -> Mapping[str, Any]:
        """What the agents observe after the step."""
        found: Mapping[str, Any] = self.returned[0]
        return found

    @property
    def infos(self) -> Mapping[str, Mapping[str, Any]]:
        """The infos after the step."""
        found: Mapping[str, Mapping[str, Any]] = self.returned[-1]
        return found


@dataclass(frozen=True, slots=True)
class Played:
    """A played episode."""

    start: Transition
    """The reset."""
    steps: tuple[Transition, ...]
    """The steps; `MAX_STEPS` of them when the episode did not end."""

    def __iter__(self) -> Iterator[Transition]:
        """The reset, then the steps."""
        yield self.start
        yield from self.steps


def play(env: Env, seed: int, speak: Speaker) -> Played:
    """Play one episode; all that is sampled follows from the seed of reset and speaker."""
    generator = np.random.default_rng(seed)
    start = Transition((), env.reset(seed=seed), tuple(env.agents))
    steps: list[Transition] = []
    while env.agents and len(steps) < MAX_STEPS:
        alive = tuple(env.agents)
        returned = env.step({agent: speak(env, agent, generator) for agent in alive})
        steps.append(Transition(alive, returned, tuple(env.agents)))
    return Played(start, tuple(steps))


def babble(env: Env, agent: str, generator: np.random.Generator) -> Any:
    """A sample of the action space; of a text space now and then silence."""
    space = env.action_space(agent)
    space.seed(int(generator.integers(2**31)))
    silent = generator.random() < 0.2 and isinstance(space, Text)
    return "" if silent else space.sample()


def saying(text: str) -> Speaker:
    """A speaker that always says the same."""
    return lambda env, agent, generator: text


def require(holds: bool, rule: Callable[..., None], came: object, agent: str = "") -> None:
    """Raise `broken` where a rule does not hold."""
    if not holds:
        raise broken(rule, came, agent)


def broken(rule: Callable[..., None], came: object, agent: str = "") -> ContractError:
    """The error that a rule, whose docstring opens with its sentence, is broken on an agent."""
    return ContractError((rule.__doc__ or rule.__name__).split("\n")[0], came, agent)


def difference(one: Played, other: Played) -> str:
    """The first step in which two episodes are not equal, in words; empty when they are equal."""
    for number, (first, second) in enumerate(zip(one, other, strict=False)):
        if not data_equivalence(astuple(first), astuple(second), exact=True):
            return f"different after {number} steps: {first.returned!r} and {second.returned!r}"
    lengths = len(one.steps), len(other.steps)
    return "" if lengths[0] == lengths[1] else f"episodes of {lengths[0]} and {lengths[1]} steps"
