"""The shipped policy: a very small causal language model with its own tokenizer.

A stock `transformers` architecture trained by `laconic warm-start` on scripted
conversations; how, and what it reached, is in RECIPE.md beside the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from laconic.envs.task import Style
from laconic.learners.agents.hf import HFTeam, SamplingSettings, Sharing
from laconic.learners.agents.lora import Lora

PATH = Path(__file__).parent
"""Folder of the shipped weights, as `save_pretrained` wrote them."""


@dataclass(frozen=True, slots=True)
class TinySamplingSettings(SamplingSettings):
    """How the shipped weights speak: they know the silence word, and their replies are short."""

    explain_silence: bool = False
    """Whether the first text of a conversation says what the silence word is."""
    max_reply_tokens: int = 49
    """Max. tokens of a reply, whatever the environment would accept."""


def team(
    model: str | None = None,
    sharing: Sharing = "shared",
    lora: Lora = Lora(),  # noqa: B008  # frozen
    frozen: bool = False,
    optimizer: Mapping[str, Mapping[str, Any]] | None = None,
    speech: SamplingSettings = TinySamplingSettings(),  # noqa: B008  # frozen
    instructions: Style = "brief",
    learning_rate: float = 1e-4,
    device: str = "auto",
    **settings: Any,
) -> HFTeam:
    """A team that speaks with the shipped weights, or with others of the same kind.

    Args:
        model: folder of the weights; None takes the shipped ones.
        sharing: this and the other arguments are settings of `learners.agents.hf.HFTeam`, with
            defaults that suit the shipped weights.
        lora: the form of adapters.
        frozen: whether the policies are left as they are.
        optimizer: optimiser settings by role or agent.
        speech: how the policies speak.
        instructions: the form of first observation that the weights were trained on.
        learning_rate: one that suits them.
        device: of the weights; `auto` takes a GPU where there is one.
        **settings: further settings of `HFTeam`.
    """
    return HFTeam(
        model=model or str(PATH),
        sharing=sharing,
        lora=lora,
        frozen=frozen,
        optimizer=optimizer,
        speech=speech,
        instructions=instructions,
        learning_rate=learning_rate,
        device=device,
        **settings,
    )
