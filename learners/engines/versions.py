"""Weights on disk for servers to load: a fresh folder and a fresh name per version.

    <folder>/<run_id>/<agent>/v00012/

Names are never reused, because servers cache results under an adapter's name. A folder is written
under a temporary name and renamed when it is complete, so no server reads half of one. Agent names
are escaped (`learners.agents.folders.folder_name`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError

from laconic.learners.agents.folders import folder_name
from laconic.learners.errors import CheckpointError

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy


@dataclass(slots=True)
class WeightVersions:
    """Versions of the policies' weights, of which the newest stay on disk."""

    folder: Path
    """Folder for the weights; servers must see it under the same path."""
    window: int = 1
    """Number of the newest loaded versions that may be sampled with."""
    run_id: str = field(default_factory=lambda: token_hex(4))
    """Part of every name. Another run, or an earlier start of this one, has another id."""
    loaded: list[int] = field(default_factory=list)
    """Versions that all servers have loaded and that were not removed since, oldest first."""
    last_number: int = -1
    """Number of the version written last."""

    @property
    def newest(self) -> int:
        """Newest loaded version; -1 before the first."""
        return self.loaded[-1] if self.loaded else -1

    @property
    def live(self) -> list[int]:
        """Loaded versions that may be sampled with, oldest first."""
        return self.loaded[-self.window :]

    def name(self, agent: str, version: int) -> str:
        """Return the name under which servers know a version of a policy."""
        return f"{self.run_id}/{folder_name(agent)}/v{version:05d}"

    def path(self, agent: str, version: int) -> Path:
        """Return the folder of a version of a policy."""
        return self.folder / self.name(agent, version)

    def next_version(self) -> int:
        """Return a new version number; that of a failed sync is not used again."""
        self.last_number += 1
        return self.last_number

    def write(self, version: int, agent: str, save: Callable[[Path], None]) -> None:
        """Write a version of a policy.

        Args:
            version: number of the version.
            agent: name of the policy.
            save: writes the policy's weights into a folder.

        Raises:
            CheckpointError: the disk refuses it; other versions are untouched.
        """
        path = self.path(agent, version)
        partial = path.with_name(f".{path.name}")
        try:
            shutil.rmtree(partial, ignore_errors=True)
            shutil.rmtree(path, ignore_errors=True)
            partial.mkdir(parents=True)
            save(partial)
            partial.rename(path)
        except (OSError, SafetensorError) as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise CheckpointError(
                f"the weights for the engine could not be written to {str(path)!r}: {error}. Make"
                " room there or choose another engine.folder, then resume the run (resume=true)"
            ) from error

    def on_disk(self, agents: Iterable[str]) -> dict[str, Path]:
        """Return name and folder of every version on disk, those of failed syncs included."""
        homes = {name: self.folder / self.run_id / name for name in map(folder_name, agents)}
        return {
            f"{self.run_id}/{name}/{path.name}": path
            for name, home in homes.items()
            for path in sorted(home.glob("v*"))
        }

    def remove_old(self, agents: Iterable[str]) -> list[str]:
        """Remove all versions except the live ones; return the names that servers may unload."""
        self.loaded = self.live
        old = {
            name: path
            for name, path in self.on_disk(agents).items()
            if int(path.name[1:]) not in self.loaded
        }
        for path in old.values():
            shutil.rmtree(path, ignore_errors=True)
        return list(old)

    def clear(self) -> None:
        """Remove everything this run wrote."""
        shutil.rmtree(self.folder / self.run_id, ignore_errors=True)


@torch.no_grad()
def fingerprint(policy: HFPolicy) -> tuple[float, ...]:
    """Return sums over the trained weights, which change with any of them; only of local shards."""
    # A forward pass leaves the outer modules of a sharded model gathered, with other sums.
    getattr(policy.model, "reshard", lambda: None)()
    sums = []
    for parameter in policy.model.parameters():
        if parameter.requires_grad:
            local = getattr(parameter, "to_local", lambda p=parameter: p)().detach()
            sums += [local.sum(dtype=torch.float64), local.square().sum(dtype=torch.float64)]
    return tuple(torch.stack(sums).tolist()) if sums else ()
