"""The shipped policy: a very small causal language model with its own tokenizer.

A stock `transformers` architecture trained by `laconic warm-start` on scripted
conversations; how, and what it reached, is in RECIPE.md beside the weights.
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
    """How the shipped weights speak: they know the silence word, and their replies are short."""

    explain_silence: bool = False
    """Whether the first text of a conversation says what the silence word is."""
    max_reply_tokens: int = 49
    """Max. tokens of a reply, whatever the environment would accept."""


@dataclass
class TinyTeam(HFTeam):
    """A team that speaks with the shipped weights, or with others of the same kind."""

    model: str | None = None  # type: ignore[assignment]  # a folder from __post_init__ on
    """Folder of the weights; None takes the shipped ones."""
    sampling: SamplingSettings = TinySamplingSettings()  # noqa: RUF009  # frozen
    """Sampling settings."""

    def __post_init__(self) -> None:
        """Find the weights, and check what can be checked without loading."""
        self.model = self.model or str(PATH)
        super().__post_init__()

    def defaults(self, imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other groups that suit these weights, by dotted key."""
        return {
            "env.instructions": "brief",
            "optimizer.lr": 1e-4,
            "learner.objective.normalizer": float(self.sampling.max_reply_tokens),
        }
