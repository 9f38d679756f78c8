"""Engine base class; by itself it is `engine=own`, which samples with the policies' own models.

To add another engine, subclass `Engine` and name the class in a config (`engine._target_`):

- `open` gives each policy a sampler with `policy.sample_with(sampler)`. A `Sampler` answers all
  prompts of a round in one call; an `AsyncSampler` answers them one by one.
- `sync` makes the samplers use the policies' present weights.
- `close` gives the policies back their own sampling: `policy.sample_with(None)`.

For another kind of inference server subclass `served.ServedEngine` instead; it needs only a
`client.ServerClient`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laconic.envs.errors import SettingError
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy


class Engine:
    """Sample with the policies' own models; subclasses sample elsewhere."""

    max_staleness: int = 0
    """Number of updates by which the sampling weights may lag behind the trained ones."""
    keeps_copies: bool = False
    """True if the sampling weights are copies elsewhere, so no process needs to gather its own."""
    version: int | None = None
    """Version of the sampling weights, counted by syncs; None if the engine keeps no copy."""

    def open(
        self,
        policies: Mapping[str, Any],
        folder: Path,
        processes: Processes = SINGLE_PROCESS,
    ) -> None:
        """Sample for these policies from now on.

        Args:
            policies: policy of each agent. Scripts and API clients are left as they are.
            folder: run folder, in which an engine may keep weights and logs.
            processes: processes that roll out together; each calls every method.

        Raises:
            SettingError: the engine cannot sample for these policies.
            ServerError: a server cannot be reached, or lacks something.
        """

    def sync(self) -> None:
        """Sample with the policies' present weights from now on; do nothing if it already does.

        Raises:
            ServerError: a server could not load the weights, or samples with others.
        """

    @property
    def sync_overwrites(self) -> bool:
        """True if a sync overwrites weights that episodes may still be sampling with."""
        return False

    def metrics(self) -> dict[str, float]:
        """Return metrics since the last call; empty without any."""
        return {}

    def close(self) -> None:
        """Release everything; the policies sample with their own models again."""

    def __enter__(self) -> Engine:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the engine."""
        self.close()


def model_policies(policies: Mapping[str, Any]) -> dict[str, HFPolicy]:
    """Return the distinct policies with a model, each under the name of its first agent.

    Raises:
        SettingError: no policy has a model.
    """
    from laconic.learners.agents.policy import HFPolicy

    distinct: dict[int, tuple[str, HFPolicy]] = {}
    for agent, policy in policies.items():
        if isinstance(policy, HFPolicy):
            distinct.setdefault(id(policy), (agent, policy))
    if not distinct:
        kinds = ", ".join(sorted({type(policy).__name__ for policy in policies.values()}))
        raise SettingError(
            "an engine samples for agents with a model (agent=tiny, agent=hf, ...); this team has"
            f" only {kinds}. Set engine=own"
        )
    return dict(distinct.values())
