"""What an environment declares about itself beside its game: plain data that learners read.

A benchmark or a world names them as class attributes (`envs.task.PromptedTask`), in a package of
somebody else as in this one. `envs.registry` finds them by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Metric", "Recipe"]


@dataclass(frozen=True, slots=True)
class Metric:
    """Words and range of a measure that scores of an environment have (`Score.measures`)."""

    meaning: str
    """Meaning, in one or two sentences."""
    share: bool = False
    """True for a share of something, from 0 to 1, which is shown in percent."""
    low: float = 0.0
    """Smallest value."""
    high: float = math.inf
    """Largest value; that of a share is 1."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest value."""
        return self.low, 1.0 if self.share else self.high


@dataclass(frozen=True, slots=True)
class Recipe:
    """Shipped policy, and its warm start: `laconic warm-start env=<name> threads=1 seed=<seed>`."""

    folder: Path
    """Folder of weights, tokenizer and card; without weights the environment ships no policy."""
    _: KW_ONLY
    minutes: float
    """Expected time on one core."""
    max_reply_tokens: int | None = None
    """Tokens of the longest message that was taught, and its end. None: the usual number."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Config keys that suit a training of the policy, which replies as briefly as it was taught."""
    seed: int = 0
    """Seed of the weights and of the demonstrations."""
    metric: str = "accuracy"
    """Figure of the evaluation by which the start is chosen."""
    target: float = 0.75
    """Smallest figure of a start; later checkpoints are closer to the ceiling."""
    tasks: int = 200
    """Evaluation tasks by which it is chosen."""
    final_tasks: int = 1000
    """Evaluation tasks of the figures in the card."""
    first: int = 0
    """Updates before which no start is chosen."""
