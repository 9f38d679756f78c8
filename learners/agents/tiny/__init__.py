"""Team of a shipped policy, a very small causal language model with its own tokenizer.

There is one for each of several environments (`envs.declarations.Recipe`). They have a stock
`transformers` architecture and were trained by `laconic warm-start` on scripted conversations.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from laconic.envs.checks import Count, Model
from laconic.envs.registry import recipe
from laconic.learners.agents.hf import HFTeam, SamplingSettings
from laconic.learners.agents.recipes import MAX_REPLY_TOKENS, SHIPPED, shipped

__all__ = ["TinySamplingSettings", "TinyTeam"]


@dataclass(frozen=True, slots=True)
class TinySamplingSettings(SamplingSettings):
    """Sampling settings of the shipped weights: they know the silence word and reply briefly."""

    explain_silence: bool = False
    """Explain the silence word in the first text of a conversation."""
    max_reply_tokens: Count = 49
    """Maximum tokens of a reply, whatever the environment accepts."""


@dataclass
class TinyTeam(HFTeam):
    """Team that samples from the shipped weights, or from others of the same kind."""

    model: Model | None = None  # type: ignore[assignment]  # __post_init__ replaces None
    """Folder of the weights; None: the weights shipped for the environment (`for_environment`), or
    else those that stand in."""
    sampling: SamplingSettings = TinySamplingSettings()  # noqa: RUF009  # frozen
    """Sampling settings."""
    _shipped: bool = field(default=False, init=False)
    _training: dict[str, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Find the weights, and check the settings without loading."""
        self._shipped = self.model is None
        self.model = self.model or str(SHIPPED)
        super().__post_init__()

    def for_environment(self, name: str) -> Self:
        """Return the team with the weights shipped for an environment, unless `model` names some.

        Args:
            name: name of the environment; others stand in for missing weights.
        """
        team, declared = super().for_environment(name), recipe(name)
        if not self._shipped or declared is None:
            return team
        folder = shipped(name)
        team = team if folder is None else replace(team, model=str(folder))
        team._training = dict(declared.training)
        if folder is not None and declared.max_reply_tokens is not None:
            team._training[MAX_REPLY_TOKENS] = declared.max_reply_tokens
        return team

    def defaults(self, imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other config groups that suit these weights, by dotted key."""
        most = self._training.get(MAX_REPLY_TOKENS, self.sampling.max_reply_tokens)
        return {
            "env.instructions": "brief",
            "optimizer.lr": 1e-4,
            "learner.objective.normalizer": float(most),
            **self._training,
        }
