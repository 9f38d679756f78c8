"""The contract between a policy and whoever samples for it: token ids in, token ids out.

An engine is never shown text, and what it gives back is never put into tokens again. It is opened
with the policies of a team, takes up their weights when `sync` is called, and is closed at the end.
`Own` is the engine of today's process: nothing is copied, and nothing has to be brought up to date.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from laconic.envs.errors import SettingError
from laconic.learners.distributed.processes import ALONE, Processes

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

T = TypeVar("T")


class Engine:
    """Samples with the policies' own models, in this process; others take the models' place."""

    max_staleness: int = 0
    """Learner updates by which the weights that play may lag behind those that learn."""
    apart: bool = False
    """Whether the weights that play are held elsewhere, so that no process needs them whole."""

    version: int | None = None
    """Version of the weights that speak, counted by syncs; None where there is but one."""

    def open(
        self,
        policies: Mapping[str, Any],
        folder: Path,
        processes: Processes = ALONE,
    ) -> None:
        """Sample for these policies from now on.

        Args:
            policies: by agent; scripts and clients of other servers are left as they are.
            folder: of the run, in which an engine keeps what it hands on.
            processes: those that play together; all call every method.

        Raises:
            SettingError: the engine cannot speak for these policies.
            ServerError: a server is not there, or not what it has to be.
        """

    def sync(self) -> None:
        """Let the policies' present weights speak; nothing is done where they do already.

        Raises:
            ServerError: they could not be loaded, or the server speaks with others.
        """

    @property
    def waits(self) -> bool:
        """Whether a sync takes the place of weights that may still be speaking."""
        return False

    def metrics(self) -> dict[str, float]:
        """What happened since the last call, by name; empty for none."""
        return {}

    def close(self) -> None:
        """Let go of everything; the policies sample for themselves again."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def speaking(policies: Mapping[str, Any]) -> dict[str, HFPolicy]:
    """The distinct policies that speak with a model, each by the first of its agents.

    Raises:
        SettingError: there are none.
    """
    from laconic.learners.agents.policy import HFPolicy

    found: dict[int, tuple[str, HFPolicy]] = {}
    for agent, policy in policies.items():
        if isinstance(policy, HFPolicy):
            found.setdefault(id(policy), (agent, policy))
    if not found:
        kinds = ", ".join(sorted({type(one).__name__ for one in policies.values()}))
        raise SettingError(
            f"an engine samples for agents with weights of ours, and this team has none ({kinds});"
            " set engine=own"
        )
    return dict(found.values())
