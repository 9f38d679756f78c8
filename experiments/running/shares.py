"""What several processes have of one program: a folder of which one is kept, seeds of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from laconic.experiments.running.run_folder import RunFolder
from laconic.learners.distributed.processes import Processes


@contextmanager
def kept_by_main(path: str, processes: Processes) -> Iterator[RunFolder]:
    """The folder at a path for the main process; for each other one that is thrown away.

    So all do and know the same, and write alike, and what remains is what the main one wrote.
    """
    if processes.is_main:
        yield RunFolder(path)
        return
    with suppress(OSError):
        # Hydra has made it, by a time of its own in the name; the main process's is not empty.
        Path(path).rmdir()
    with TemporaryDirectory(prefix="laconic-") as scratch:
        yield RunFolder(scratch)


def share_seed(seed: int, rank: int) -> int:
    """The seed of one process's share of a play; that of the main one is the play's own."""
    return int(np.random.default_rng((seed, rank)).integers(2**62)) if rank else seed
