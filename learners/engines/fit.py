"""Which teams servers can speak for, and which servers can speak for a team."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from laconic.envs.errors import SettingError
from laconic.learners.engines.dialect import Described, Launch
from laconic.learners.errors import ServerError

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy


def check_team(team: Mapping[str, HFPolicy]) -> None:
    """Refuse what one base on a server cannot be.

    Raises:
        SettingError: several whole models, or adapters on several bases.
    """
    adapted = {name: one for name, one in team.items() if one.adapted}
    whole = [name for name in team if name not in adapted]
    if len(whole) > 1 or (whole and adapted):
        raise SettingError(
            "a server holds one base, so it speaks for one policy of all agents"
            " (agent.sharing=shared) or for adapters on one base (agent.sharing=lora); this team"
            f" has whole models of its own for {', '.join(whole)}"
            + (f" and adapters for {', '.join(adapted)}" if adapted else "")
            + ". Take one of the two, or engine=own"
        )
    bases = {one.base for one in adapted.values()}
    if len(bases) > 1:
        raise SettingError(
            f"a server holds one base, and these adapters are on {' and '.join(sorted(bases))};"
            " take one base, or engine=own"
        )


def launch_for(team: Mapping[str, HFPolicy], staleness: int) -> Launch:
    """What a server has to be started with to speak for a team."""
    policy = next(iter(team.values()))
    ranks = [one.rank for one in team.values()]
    return Launch(
        model=policy.base,
        port=8000,
        dtype=policy.precision.computed,
        rank=max(ranks),
        # While a version is loaded those of the window still speak, and one may be on its way out.
        adapters=len(team) * (staleness + 2) if max(ranks) else 0,
        positions=policy.positions,
    )


def check_fit(found: Described, need: Launch, url: str, advice: str) -> None:
    """Refuse a server that cannot do what it is to do; what it does not say, the probe finds.

    Raises:
        ServerError: names what is missing, and the command of a server that has it.
    """
    wrong = ""
    if found.dtype is not None and found.dtype != need.dtype:
        wrong = (
            f"it computes in {found.dtype} and the trainer in {need.dtype} (agent.precision); every"
            " log-probability would be off by the rounding between them"
        )
    elif need.rank and found.rank == 0:
        wrong = "it takes no adapters, and every agent has one"
    elif found.rank is not None and need.rank > found.rank:
        wrong = f"it takes adapters up to rank {found.rank}, and agent.lora.rank={need.rank}"
    elif found.adapters is not None and need.adapters > found.adapters:
        wrong = (
            f"it holds {found.adapters} adapters at a time, and with engine.max_staleness this team"
            f" needs {need.adapters}"
        )
    elif found.processed is False:
        wrong = "its log-probabilities know nothing of the temperature"
    if wrong:
        raise ServerError(f"{url} cannot speak for this team: {wrong}. Start it with: {advice}")


@torch.no_grad()
def fingerprint(policy: HFPolicy) -> tuple[float, ...]:
    """Numbers that change whenever a trained weight does; of sharded ones, this process's part."""
    # A pass leaves the outer parts of a sharded model together, where they have another sum.
    getattr(policy.model, "reshard", lambda: None)()
    sums = []
    for one in policy.model.parameters():
        if one.requires_grad:
            local = getattr(one, "to_local", lambda one=one: one)().detach()
            sums += [local.sum(dtype=torch.float64), local.square().sum(dtype=torch.float64)]
    return tuple(torch.stack(sums).tolist()) if sums else ()
