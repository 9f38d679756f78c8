"""Settings of a language policy: sampling, and names of precisions and quantizations.

They are checked without torch, so a mistake is reported before it is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Annotated, Any

from laconic.envs.checks import Count, Positive, Trust, Word, check_fields
from laconic.envs.errors import SettingError, UnknownNameError

AUTOCAST = "bfloat16_autocast"
PRECISIONS = ("auto", "float32", AUTOCAST, "bfloat16", "float16", "float64")
"""Names of number types of weights and passes (`learners.agents.precision`)."""
QUANTIZATIONS = ("4bit", "8bit")
"""Names of quantizations, for weights that are not trained."""


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """Sampling settings of a policy."""

    silence: Word = "<silence>"
    """Silence word. It ends a reply wherever it occurs, so choose one that no message contains."""
    explain_silence: bool = True
    """Explain the silence word in the first text of a conversation."""
    max_reply_tokens: Count = 256
    """Maximum tokens of a reply, whatever the environment accepts."""
    thinking_tokens: Count = 1024
    """Maximum tokens of the thought before the reply, if the chat template lets a model think."""
    temperature: Positive = 1.0
    """Sampling temperature; greedy evaluation does not use it."""
    template: Annotated[Mapping[str, Any], Trust(("enable_thinking", "today"))] = field(
        default_factory=lambda: {"enable_thinking": False, "today": None}
    )
    """Further arguments of the tokenizer's chat template; it ignores those it does not know.
    `today` is the date that a template shows instead of the current one; None: 2026-01-01."""
    generate_tokens: Count | None = None
    """Maximum tokens, padding included, whose keys and values one generate call has in memory. The
    same number is kept between rounds. None: 4 GiB of them. Another value splits a batch into other
    calls, so sampled replies differ under the same seed; greedy replies do not."""

    def __post_init__(self) -> None:
        """Check ranges."""
        check_word(self.silence)
        check_fields(self, "agent.sampling")


def check_word(silence: object) -> None:
    """Refuse a silence word that is empty, or white space (`SettingError`)."""
    if not isinstance(silence, str) or not silence.strip():
        raise SettingError(
            f"agent.sampling.silence must be a word, such as <silence>; got {silence!r}"
        )


def check_quantization(name: str) -> None:
    """Check the name of a quantization, and that its package is installed.

    Raises:
        UnknownNameError: there is no such quantization.
        SettingError: the package `bitsandbytes` is not installed.
    """
    if name not in QUANTIZATIONS:
        raise UnknownNameError("agent.quantization", name, QUANTIZATIONS)
    if find_spec("bitsandbytes") is None:
        raise SettingError(
            f"agent.quantization={name} needs the package bitsandbytes: pip install"
            " bitsandbytes, or set agent.quantization=null"
        )
