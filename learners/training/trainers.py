"""The trainers of a team: one for each set of weights that can be trained."""

from __future__ import annotations

from collections.abc import Mapping

from laconic.envs.errors import SettingError
from laconic.learners.agents.base import Policy
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.distributed.processes import ALONE, Processes
from laconic.learners.training.trainer import MakeOptimizer, Trainer, UpdateSettings


def trainers_of(
    policies: Mapping[str, Policy],
    optimizer: MakeOptimizer,
    settings: UpdateSettings | None = None,
    processes: Processes = ALONE,
) -> list[Trainer]:
    """A trainer for each set of weights that can be trained; scripts and frozen weights have none.

    The arguments are those of `Trainer`, with the policy of each agent; equal ones share weights.
    Trainers come in the order of their first agents; without policies there are none.

    Raises:
        SettingError: there are policies, and none of them can be trained.
    """
    found: dict[int, tuple[HFPolicy, list[str]]] = {}
    for agent, policy in policies.items():
        if isinstance(policy, HFPolicy) and not policy.frozen:
            found.setdefault(id(policy), (policy, []))[1].append(agent)
    if policies and not found:
        kinds = ", ".join(
            f"{agent}: {'frozen' if isinstance(one, HFPolicy) else type(one).__name__}"
            for agent, one in policies.items()
        )
        raise SettingError(
            f"nobody in the team has weights to train ({kinds}); choose agent=tiny or agent=hf, or"
            " set frozen=false for somebody"
        )
    return [Trainer(*each, optimizer, settings, processes) for each in found.values()]
