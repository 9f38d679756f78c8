"""The weights that an engine is handed on disk: a new name and a new folder for each version.

    <folder>/<life>/<agent>/v00012/

The agent's name is escaped (`learners.agents.folders.folder_name`), in the folder and in the name.
Names are never used again, because servers keep what they computed of a conversation by the name of
the adapter that read it. A folder is written beside its place and renamed when it is whole, so a
server never sees half of one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

from safetensors import SafetensorError

from laconic.learners.agents.folders import folder_name
from laconic.learners.errors import CheckpointError


@dataclass(slots=True)
class Versions:
    """The versions of some policies, of which the newest are kept."""

    folder: Path
    """Where they lie; servers have to see it under the same path."""
    kept: int = 1
    """How many of the newest stay."""
    life: str = field(default_factory=lambda: token_hex(4))
    """Part of every name, so that no other run, and no earlier start of this one, has it too."""
    good: list[int] = field(default_factory=list)
    """Versions that servers have taken up, and that have not been forgotten."""
    tried: int = -1
    """Version written last."""

    @property
    def newest(self) -> int:
        """The version that speaks; -1 before the first."""
        return self.good[-1] if self.good else -1

    def name(self, agent: str, version: int) -> str:
        """Under which a server knows a policy's version."""
        return f"{self.life}/{folder_name(agent)}/v{version:05d}"

    def place(self, agent: str, version: int) -> Path:
        """The folder of a version."""
        return self._home(agent) / f"v{version:05d}"

    def _home(self, agent: str) -> Path:
        """Return the folder of all versions of a policy."""
        return self.folder / self.life / folder_name(agent)

    def take(self) -> int:
        """The number of the next version; one whose sync failed is not given again."""
        self.tried += 1
        return self.tried

    def write(self, version: int, agent: str, save: Callable[[Path], None]) -> None:
        """Write a version of a policy.

        Args:
            version: its number.
            agent: the policy's name.
            save: writes its weights to a folder.

        Raises:
            CheckpointError: the disk does not take it; what was there before is untouched.
        """
        place = self.place(agent, version)
        beside = place.with_name(f".{place.name}")
        try:
            shutil.rmtree(beside, ignore_errors=True)
            shutil.rmtree(place, ignore_errors=True)
            beside.mkdir(parents=True)
            save(beside)
            beside.rename(place)
        except (OSError, SafetensorError) as error:
            shutil.rmtree(beside, ignore_errors=True)
            raise CheckpointError(
                f"the weights that play could not be written to {str(place)!r}: {error}. Make"
                " room there, or give another place (engine.folder), and go on with the run"
            ) from error

    def window(self) -> list[int]:
        """The versions that may still speak."""
        return self.good[-self.kept :]

    def written(self, agents: Iterable[str]) -> list[str]:
        """The names of all versions that lie here, those whose sync failed among them."""
        return [
            f"{self.life}/{folder_name(agent)}/{place.name}"
            for agent in agents
            for place in sorted(self._home(agent).glob("v*"))
        ]

    def forget(self, agents: Iterable[str]) -> list[str]:
        """Remove what is older than the window; returns the names that servers may forget."""
        gone, self.good = [], self.window()
        for agent in agents:
            for place in sorted(self._home(agent).glob("v*")):
                version = int(place.name[1:])
                if version not in self.good:
                    shutil.rmtree(place, ignore_errors=True)
                    gone.append(self.name(agent, version))
        return gone

    def clear(self) -> None:
        """Remove all that this life has written."""
        shutil.rmtree(self.folder / self.life, ignore_errors=True)
