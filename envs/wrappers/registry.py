"""Register all environments with PettingZoo, for both of its interfaces.

    import pettingzoo
    import laconic.envs.wrappers.registry

    env = pettingzoo.make("parallel", "laconic/gsm8k-v0", free=True)
    env = pettingzoo.make("aec", "laconic/gsm8k-v0", max_cycles=4)

Importing this module registers them. `max_cycles` is the number of rounds of a dialogue. Other
environments have a length of their own (`months` of `commons`) and are truncated after `max_cycles`
rounds. PettingZoo has a registry from version 1.27 on.
"""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv, ParallelEnv, aec_registry, parallel_registry, register
from pettingzoo.utils.wrappers import BaseParallelWrapper

from laconic import envs
from laconic.envs.checks import whole
from laconic.envs.registry import find
from laconic.envs.wrappers.interfaces import turn_based

__all__ = ["NAMESPACE", "aec", "identifier", "parallel", "register_all"]

NAMESPACE = "laconic"
"""Namespace of the environments in PettingZoo's registry."""
_VERSIONS: dict[str, int] = {}
"""Version of each environment that is not at 0, so that registering imports no environment."""


def identifier(name: str) -> str:
    """Return the id of an environment in the registry (`laconic/gsm8k-v0`)."""
    return f"{NAMESPACE}/{name}-v{_VERSIONS.get(name, 0)}"


class Truncated(BaseParallelWrapper[str, Any, Any]):
    """An environment that is truncated after a number of rounds."""

    def __init__(self, env: ParallelEnv[str, Any, Any], max_cycles: int) -> None:
        """Wrap an environment.

        Raises:
            SettingError: `max_cycles` is below 1.
        """
        super().__init__(env)
        self._max_cycles, self._cycles = whole("max_cycles", max_cycles, 1), 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the environment and count its rounds from 0."""
        self._cycles = 0
        return super().reset(seed=seed, options=options)

    def step(self, actions: dict[str, Any]) -> Any:
        """Play a round; the last one truncates every agent that is not terminated."""
        observations, rewards, terminations, truncations, infos = super().step(actions)
        self._cycles += 1
        if self._cycles >= self._max_cycles:
            truncations = {agent: not over for agent, over in terminations.items()}
            self.env.agents = []
        return observations, rewards, terminations, truncations, infos


def parallel(
    name: str, max_cycles: int | None = None, **settings: Any
) -> ParallelEnv[str, Any, Any]:
    """Make an environment by name, with the settings of `envs.make`."""
    if max_cycles is None:
        return envs.make(name, **settings)
    if isinstance(find(name), envs.Benchmark):
        return envs.make(name, rounds=max_cycles, **settings)
    return Truncated(envs.make(name, **settings), max_cycles)


def aec(name: str, max_cycles: int | None = None, **settings: Any) -> AECEnv[str, Any, Any]:
    """Make the turn-based form of an environment."""
    return turn_based(parallel(name, max_cycles, **settings))


def register_all() -> None:
    """Register every environment of this package that is not registered yet."""
    for name in envs.names("library"):
        settings = {"name": name}
        if identifier(name) not in parallel_registry:
            register("parallel", identifier(name), f"{__name__}:parallel", kwargs=settings)
        if identifier(name) not in aec_registry:
            register("aec", identifier(name), f"{__name__}:aec", kwargs=settings)


register_all()
