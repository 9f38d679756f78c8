"""The shipped policy: a very small causal language model with its own tokenizer.

A stock `transformers` architecture trained by `laconic warm-start` on scripted
conversations; how, and what it reached, is in RECIPE.md beside the weights.
"""

from __future__ import annotations

from pathlib import Path

from laconic.learners.agents.hf import HFTeam

PATH = Path(__file__).parent
"""Folder of the shipped weights, as `save_pretrained` wrote them."""


def team(model: str | None = None, **settings: object) -> HFTeam:
    """A team that speaks with the shipped weights, or with others of the same kind.

    Args:
        model: folder of the weights; None takes the shipped ones.
        **settings: settings of `learners.agents.hf.HFTeam`.
    """
    return HFTeam(model=model or str(PATH), **settings)  # type: ignore[arg-type]
