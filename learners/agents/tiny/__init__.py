"""Team of the shipped policy, a very small causal language model with its own tokenizer.

It has a stock `transformers` architecture and was trained by `laconic warm-start` on scripted
conversations. RECIPE.md, beside the weights, has the commands and results.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from laconic.learners.agents.hf import HFTeam, SamplingSettings

PATH = Path(__file__).parent
"""Folder of the shipped weights, as `save_pretrained` wrote them."""


@dataclass(frozen=True, slots=True)
class TinySamplingSettings(SamplingSettings):
    """Sampling settings of the shipped weights: they know the silence word and reply briefly."""

    explain_silence: bool = False
    """Explain the silence word in the first text of a conversation."""
    max_reply_tokens: int = 49
    """Maximum tokens of a reply, whatever the environment accepts."""


@dataclass
class TinyTeam(HFTeam):
    """Team that samples from the shipped weights, or from others of the same kind."""

    model: str | None = None  # type: ignore[assignment]  # __post_init__ replaces None
    """Folder of the weights; None: the shipped weights."""
    sampling: SamplingSettings = TinySamplingSettings()  # noqa: RUF009  # frozen
    """Sampling settings."""

    def __post_init__(self) -> None:
        """Find the weights, and check the settings without loading."""
        self.model = self.model or str(PATH)
        super().__post_init__()

    def defaults(self, imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other config groups that suit these weights, by dotted key."""
        return {
            "env.instructions": "brief",
            "optimizer.lr": 1e-4,
            "learner.objective.normalizer": float(self.sampling.max_reply_tokens),
        }
