"""Settings of a language policy: how it speaks, and names of precisions and packings.

They are checked without torch, so a mistake is answered before it is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from laconic.envs.checks import number
from laconic.envs.errors import SettingError, UnknownNameError

AUTOCAST = "bfloat16_autocast"
PRECISIONS = ("auto", "float32", AUTOCAST, "bfloat16", "float16", "float64")
"""Names of how weights are stored and passes computed (`learners.agents.precision`)."""
QUANTIZATIONS = ("4bit", "8bit")
"""Names of how weights that are not trained can be packed."""


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How a policy speaks."""

    silence: str = "<silence>"
    """The silence word. It ends a reply wherever it stands, so choose one that no message holds."""
    explain_silence: bool = True
    """Whether the first text of a conversation says what the silence word is."""
    max_reply_tokens: int = 256
    """Max. tokens of a reply, whatever the environment would accept."""
    thinking_tokens: int = 1024
    """Max. tokens of the thought before that, where the chat template has a model think."""
    temperature: float = 1.0
    """Sampling temperature; greedy evaluation does not use it."""
    template: Mapping[str, Any] = field(
        default_factory=lambda: {"enable_thinking": False, "today": None}
    )
    """Further arguments of the tokenizer's chat template; those it does not know change nothing.
    `today` is the date that a template shows in place of the present one; None: 2026-01-01."""
    generate_tokens: int | None = None
    """Max. tokens, padding included, whose keys and values one generate call has in memory; as many
    again are kept between rounds. None: 4 GiB of them. Other calls draw other samples from the same
    seed; greedy replies stay."""

    def __post_init__(self) -> None:
        """Check ranges."""
        check_word(self.silence)
        check_count("sampling.max_reply_tokens", self.max_reply_tokens)
        check_count("sampling.thinking_tokens", self.thinking_tokens)
        if self.generate_tokens is not None:
            check_count("sampling.generate_tokens", self.generate_tokens)
        # Evaluation is greedy by itself.
        number("agent.sampling.temperature", self.temperature, above=0)


def check_word(silence: object) -> None:
    """Refuse a silence word that is empty, or white space (`SettingError`)."""
    if not isinstance(silence, str) or not silence.strip():
        raise SettingError(
            f"agent.sampling.silence must be a word, such as <silence>; got {silence!r}"
        )


def check_count(name: str, count: object, least: int = 1) -> None:
    """Refuse what is not a whole number, or too small.

    Raises:
        SettingError: names the key, `name` under `agent`, and its value.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < least:
        raise SettingError(
            f"agent.{name} must be a whole number of at least {least}; got {count!r}"
        )


def check_quantization(name: str) -> None:
    """Check that weights can be packed as asked.

    Raises:
        UnknownNameError: there is no such packing.
        SettingError: the package that packs weights is not installed.
    """
    if name not in QUANTIZATIONS:
        raise UnknownNameError("agent.quantization", name, QUANTIZATIONS)
    if find_spec("bitsandbytes") is None:
        raise SettingError(
            f"agent.quantization={name} needs the package bitsandbytes: pip install"
            " bitsandbytes, or set agent.quantization=null"
        )
