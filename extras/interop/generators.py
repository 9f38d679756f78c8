"""Generators of an environment's own for code that draws from those of the process."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class OwnGenerators:
    """Stands in for `random` and `numpy.random` while code of others draws.

    generators = OwnGenerators()
    generators.seed(0)
    with generators():
        ...  # what draws here disturbs nobody, and goes on where it was at the next time
    """

    def __init__(self) -> None:
        """Begin with seed 0."""
        self.seed(0)

    def seed(self, seed: int) -> None:
        """Begin anew."""
        self._states: tuple[Any, Any] = (
            random.Random(seed).getstate(),
            np.random.RandomState(seed).get_state(),
        )

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Have the process-wide generators be these for a while."""
        before = random.getstate(), np.random.get_state()
        random.setstate(self._states[0])
        np.random.set_state(self._states[1])
        try:
            yield
        finally:
            self._states = random.getstate(), np.random.get_state()
            random.setstate(before[0])
            np.random.set_state(before[1])
