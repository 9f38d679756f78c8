"""Registers our environments with PettingZoo, for both of its interfaces.

    import pettingzoo
    import laconic.envs.wrappers.registry

    env = pettingzoo.make("parallel", "laconic/gsm8k-v0", information="split")
    env = pettingzoo.make("aec", "laconic/gsm8k-v0", max_cycles=4)

Importing this module registers them. `max_cycles` is the number of rounds of a dialogue. A world
has a length of its own (`months` of `commons`) and is truncated after `max_cycles` rounds. The
registry needs PettingZoo 1.27, the first version that has one.
"""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv, ParallelEnv, aec_registry, parallel_registry, register
from pettingzoo.utils.wrappers import BaseParallelWrapper

from laconic import envs
from laconic.envs.checks import whole
from laconic.envs.wrappers.turn_based import turn_based

NAMESPACE = "laconic"


def identifier(name: str) -> str:
    """Return the id of an environment in the registry."""
    return f"{NAMESPACE}/{name}-v0"


class Truncated(BaseParallelWrapper[str, Any, Any]):
    """A world that is truncated after a number of rounds."""

    def __init__(self, env: envs.WorldEnv, max_cycles: int) -> None:
        """Wrap a world; `max_cycles` below 1 raises SettingError."""
        super().__init__(env)
        self._max_cycles, self._cycles = whole("max_cycles", max_cycles, 1), 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the world and count its rounds from 0."""
        self._cycles = 0
        return super().reset(seed=seed, options=options)

    def step(self, actions: dict[str, Any]) -> Any:
        """Play a round; the last one that is left truncates every agent that goes on."""
        observations, rewards, terminations, truncations, infos = super().step(actions)
        self._cycles += 1
        if self._cycles >= self._max_cycles:
            truncations = {agent: not over for agent, over in terminations.items()}
            self.env.agents = []
        return observations, rewards, terminations, truncations, infos


def parallel(
    name: str, max_cycles: int | None = None, **settings: Any
) -> ParallelEnv[str, Any, Any]:
    """Make an environment by the name and the settings of `envs.make`."""
    if max_cycles is None:
        return envs.make(name, **settings)
    if name in envs.names("worlds"):
        return Truncated(envs.make(name, **settings), max_cycles)
    return envs.make(name, rounds=max_cycles, **settings)


def aec(name: str, max_cycles: int | None = None, **settings: Any) -> AECEnv[str, Any, Any]:
    """Make the turn-based view of an environment."""
    return turn_based(parallel(name, max_cycles, **settings))


def register_all() -> None:
    """Register every environment that is not registered yet."""
    for name in envs.names():
        known = {"name": name}
        if identifier(name) not in parallel_registry:
            register("parallel", identifier(name), f"{__name__}:parallel", kwargs=known)
        if identifier(name) not in aec_registry:
            register("aec", identifier(name), f"{__name__}:aec", kwargs=known)


register_all()
