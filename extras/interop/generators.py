"""Separate random generators for code that draws from the process-wide ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class OwnGenerators:
    """Replacement state of `random` and `numpy.random` while foreign code draws.

    generators = OwnGenerators()
    generators.seed(0)
    with generators():
        ...  # draws here do not change the process-wide generators
    """

    def __init__(self) -> None:
        """Start with seed 0."""
        self.seed(0)

    def seed(self, seed: int) -> None:
        """Start again with a seed."""
        self._states: tuple[Any, Any] = (
            random.Random(seed).getstate(),
            np.random.RandomState(seed).get_state(),
        )

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Install this state in the process-wide generators for the duration of the context."""
        before = random.getstate(), np.random.get_state()
        random.setstate(self._states[0])
        np.random.set_state(self._states[1])
        try:
            yield
        finally:
            self._states = random.getstate(), np.random.get_state()
            random.setstate(before[0])
            np.random.set_state(before[1])
