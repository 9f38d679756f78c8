"""The importance ratio of a loss and what does not go with it, without torch."""

from __future__ import annotations

from typing import Literal

from laconic.envs.errors import SettingError

Ratio = Literal["sequence", "sequence_token", "token", "none"]
OF_SEQUENCE = ("sequence", "sequence_token")
"""Ratios that cover a sequence."""


def check_ratio(ratio: str, shortest: int = 1, correction: str = "auto") -> None:
    """Refuse a length floor and a correction that do not fit a ratio.

    Args:
        ratio: `learner.objective.importance_sampling_level`.
        shortest: `learner.objective.shortest`.
        correction: `learner.correction`.

    Raises:
        SettingError: a ratio of tokens has a length, or that of a sequence weighs tokens.
    """
    if shortest > 1 and ratio not in OF_SEQUENCE:
        raise SettingError(
            f"learner.objective.shortest={shortest} is a length in the ratio of a sequence, and got"
            f" learner.objective.importance_sampling_level={ratio}; set it to sequence, or set"
            " learner.objective.shortest=1"
        )
    if correction.startswith("token") and ratio in OF_SEQUENCE:
        raise SettingError(
            f"learner.correction={correction} weighs tokens, and"
            f" learner.objective.importance_sampling_level={ratio} has one ratio for a whole"
            " sequence; take sequence_truncate, or a ratio per token"
        )
