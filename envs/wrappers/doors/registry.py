"""Our environments in PettingZoo's registry, for both of its interfaces.

    import pettingzoo
    import laconic.envs.wrappers.doors.registry

    env = pettingzoo.make("parallel", "laconic/gsm8k-v0", information="split")
    env = pettingzoo.make("aec", "laconic/gsm8k-v0", max_cycles=4)

Importing this module registers them. `max_cycles` is the number of rounds. It needs PettingZoo
1.27, the first version with a registry.
"""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv, aec_registry, parallel_registry, register

from laconic import envs
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.wrappers.turn_based import turn_based

NAMESPACE = "laconic"


def identifier(name: str) -> str:
    """The id of an environment in the registry."""
    return f"{NAMESPACE}/{name}-v0"


def parallel(name: str, max_cycles: int | None = None, **settings: Any) -> DialogueEnv:
    """An environment by the name and the settings of `envs.make`."""
    rounds: dict[str, Any] = {} if max_cycles is None else {"rounds": max_cycles}
    return envs.make(name, **rounds, **settings)


def aec(name: str, max_cycles: int | None = None, **settings: Any) -> AECEnv[str, Any, Any]:
    """Its turn-based view."""
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
