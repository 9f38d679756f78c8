"""Episodes played to check a contract, and reports of broken rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Space, Text
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo import ParallelEnv

from laconic.envs.errors import ContractError

Env: TypeAlias = ParallelEnv[str, Any, Any]
Speaker = Callable[[Env, str, np.random.Generator], Any]
"""Maps an environment, an agent's name and a generator to the agent's next action."""
_LEGAL = "Accept every sample of an action space in `step`."
MAX_STEPS = 1000
"""Steps after which an episode counts as endless."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of an episode, or its reset."""

    alive: tuple[str, ...]
    """Agents before the step."""
    returned: tuple[Any, ...]
    """Observations, rewards, terminations, truncations, infos; for a reset the first and last."""
    remaining: tuple[str, ...]
    """Agents after the step."""

    @property
    def observations(self) -> Mapping[str, Any]:
        """Observation of each agent after the step."""
        observations: Mapping[str, Any] = self.returned[0]
        return observations

    @property
    def infos(self) -> Mapping[str, Mapping[str, Any]]:
        """Info of each agent after the step."""
        infos: Mapping[str, Mapping[str, Any]] = self.returned[-1]
        return infos


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """A reset and the steps after it."""

    start: Transition
    """The reset."""
    steps: tuple[Transition, ...]
    """The steps; `MAX_STEPS` of them if the episode did not end."""

    def __iter__(self) -> Iterator[Transition]:
        """Yield the reset, then the steps."""
        yield self.start
        yield from self.steps


def play(env: Env, seed: int, speak: Speaker) -> PlayedEpisode:
    """Play one episode; the seed determines the reset and everything the speaker samples."""
    generator = np.random.default_rng(seed)
    start = Transition((), env.reset(seed=seed), tuple(env.agents))
    steps: list[Transition] = []
    while env.agents and len(steps) < MAX_STEPS:
        alive = tuple(env.agents)
        returned = env.step({agent: speak(env, agent, generator) for agent in alive})
        steps.append(Transition(alive, returned, tuple(env.agents)))
    return PlayedEpisode(start, tuple(steps))


def random_action(env: Env, agent: str, generator: np.random.Generator) -> Any:
    """Sample an action; in a text space, one of five is silence."""
    space = env.action_space(agent)
    space.seed(int(generator.integers(2**31)))
    silent = generator.random() < 0.2 and isinstance(space, Text)
    return "" if silent else space.sample()


class Maker:
    """Makes fresh environments, and plays the sampled episode of a seed once for all rules."""

    def __init__(self, make: Callable[[], Env]) -> None:
        """Keep what makes an environment."""
        self._make = make
        self._sampled: dict[int, tuple[Env, PlayedEpisode]] = {}

    def __call__(self) -> Env:
        """Make an environment."""
        return self._make()

    def sampled(self, seed: int) -> tuple[Env, PlayedEpisode]:
        """Return an environment and its first episode, of sampled actions.

        Raises:
            ContractError: a method failed; the message has the actions that caused it.
        """
        if seed not in self._sampled:
            env, actions = self._make(), dict[str, Any]()

            def speak(env: Env, agent: str, generator: np.random.Generator) -> Any:
                actions[agent] = random_action(env, agent, generator)
                return actions[agent]

            try:
                self._sampled[seed] = env, play(env, seed, speak)
            except Exception as error:
                received = f"{describe_error(error)} on the actions {actions!r}"
                raise ContractError(_LEGAL, received) from error
        return self._sampled[seed]


Rule = Callable[[Maker, Sequence[int]], None]
"""Check of one rule, with what makes an environment, and seeds. The first line of its docstring is
the rule."""


def saying(text: str) -> Speaker:
    """Return a speaker that always sends the same message."""
    return lambda env, agent, generator: text


def require(holds: bool, rule: Callable[..., None], received: object, agent: str = "") -> None:
    """Raise ContractError unless a rule holds."""
    if not holds:
        raise broken(rule, received, agent)


def broken(rule: Callable[..., None], received: object, agent: str = "") -> ContractError:
    """Return the error of a broken rule, which quotes the first line of the rule's docstring."""
    return ContractError((rule.__doc__ or rule.__name__).split("\n")[0], received, agent)


def difference(first: PlayedEpisode, second: PlayedEpisode) -> str:
    """Describe the first step in which two episodes differ; empty if they are equal."""
    for number, (step, other) in enumerate(zip(first, second, strict=False)):
        if not _alike(step, other):
            return f"different after {number} steps: {step.returned!r} and {other.returned!r}"
    lengths = len(first.steps), len(second.steps)
    return "" if lengths[0] == lengths[1] else f"episodes of {lengths[0]} and {lengths[1]} steps"


def _alike(first: Any, second: Any) -> bool:
    """Return whether two values are equal to the last bit, records within them included."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(
            _alike(value, second[key]) for key, value in first.items()
        )
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(_alike, first, second))
    if is_dataclass(first):
        names = [field.name for field in fields(first)]
        return all(_alike(getattr(first, name), getattr(second, name)) for name in names)
    return bool(data_equivalence(first, second, exact=True))


def misfit(value: Any, space: Space[Any]) -> str:
    """Describe why a value is not in a space; empty if it is."""
    try:
        return "" if value in space else f"{repr(value)[:300]}, which is not in {space}"
    except Exception as error:
        return f"{repr(value)[:300]}, on which {space} fails: {describe_error(error)}"


def number_of(value: Any) -> float | None:
    """Return a finite number, or an array of one, as a float; None for anything else.

    Text is no number, although numpy would read it as one.
    """
    if type(value) is float:
        return value if math.isfinite(value) else None
    try:
        array = np.asarray(value)
        number = float(array.item()) if array.dtype.kind in "biuf" else math.nan
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def round_price(env: Env) -> float:
    """Return the price of a round that an environment's metadata declares; 0 for none."""
    metadata = getattr(env, "metadata", None) or {}
    return number_of(metadata.get("round_price")) or 0.0


def are_dicts(returned: Any, count: int) -> bool:
    """Return whether a method returned this number of dicts."""
    several = isinstance(returned, tuple | list) and len(returned) == count
    return several and all(isinstance(value, Mapping) for value in returned)


def describe(returned: Any) -> str:
    """Describe the return value of a method, for messages."""
    if not isinstance(returned, tuple | list):
        return f"{type(returned).__name__} {repr(returned)[:300]}"
    return f"{len(returned)} values: {', '.join(type(value).__name__ for value in returned)}"


def describe_error(error: Exception) -> str:
    """Describe an exception by its type and message."""
    return f"{type(error).__name__} ({error})"
