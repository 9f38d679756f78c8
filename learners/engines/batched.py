"""Sampling by the continuous batching of `transformers`, in this process and with its weights.

Replies that have ended make room for others, and keys and values lie in pages, so nothing is
padded. It speaks with the very modules that learn: nothing is copied, and there is nothing to bring
up to date. All requests of a round go through it together, as they do with `own`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import ContinuousBatchingConfig, GenerationConfig
from transformers.utils.import_utils import (
    is_flash_attn_2_available,
    is_flash_attn_3_available,
)

from laconic.envs.checks import whole
from laconic.envs.errors import SettingError
from laconic.learners.distributed.processes import ALONE, Processes
from laconic.learners.engines.base import Engine, speaking
from laconic.learners.engines.dialect import Raw, check_reply
from laconic.learners.engines.probe import vocabulary_of
from laconic.learners.interfaces import Prompt, SampledReply

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

_DENSE = 4096
"""Tokens, replies among them, of the conversations that are sampled together where FlashAttention
is missing. `transformers` then has each token attend to the keys of all of them, and masks those of
others: beyond this a small model spends more on that than on its layers."""


@dataclass
class Batched(Engine):
    """An engine of this process."""

    page_tokens: int = 32
    """Tokens whose keys and values lie in a page."""
    batch_tokens: int = 2048
    """Most tokens that go through the model at a time."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        whole("engine.page_tokens", self.page_tokens, 4)
        whole("engine.batch_tokens", self.batch_tokens, 1)
        self._team: dict[str, HFPolicy] = {}

    def open(self, policies: Mapping[str, Any], folder: Path, processes: Processes = ALONE) -> None:
        """Let every policy be sampled for; see `Engine`."""
        self._team = speaking(policies)
        for policy in self._team.values():
            policy.sample_with(Pages(policy, self.page_tokens, self.batch_tokens))

    def close(self) -> None:
        """Let them sample for themselves again."""
        for policy in self._team.values():
            policy.sample_with(None)
        self._team = {}


@dataclass(frozen=True, slots=True)
class Pages:
    """The `Sampler` of one policy."""

    policy: HFPolicy
    """Whose model speaks."""
    page_tokens: int
    """See `Batched`."""
    batch_tokens: int
    """See `Batched`."""

    def sample(self, prompts: Sequence[Prompt]) -> list[SampledReply]:
        """In as many calls as the bound on tokens held together asks for; each is longest first."""
        found: dict[int, SampledReply] = {}
        for rows in self._calls(prompts):
            part = [prompts[row] for row in rows]
            found |= zip(rows, self._together(part), strict=True)
        return [found[row] for row in range(len(prompts))]

    def _together(self, prompts: Sequence[Prompt]) -> list[SampledReply]:
        first, most = prompts[0], max(one.limit for one in prompts)
        drawing: dict[str, Any] = {"do_sample": False}
        if first.temperature:
            drawing = {
                "do_sample": True,
                "temperature": first.temperature,
                "top_k": 0,
                "top_p": 1.0,
            }
        pages = sum(-(-(len(one.ids) + most) // self.page_tokens) for one in prompts)
        settings = ContinuousBatchingConfig(
            page_size=self.page_tokens,
            num_blocks=pages + 2,
            max_batch_tokens=max(self.batch_tokens, len(prompts)),
            return_logprobs=True,
            seed=first.seed,
        )
        config = GenerationConfig(
            max_new_tokens=most,
            eos_token_id=list(first.end_ids) or None,
            pad_token_id=self.policy.pad_id,
            **drawing,
        )
        with self.policy.computing(), _as_before(self.policy.model):
            found = self.policy.model.generate_batch(  # type: ignore[operator]
                [list(one.ids) for one in prompts],
                generation_config=config,
                continuous_batching_config=settings,
            )
        outputs = list(found.values())
        if len(outputs) != len(prompts) or any(one.error for one in outputs):
            why = next((one.error for one in outputs if one.error), "some replies are missing")
            raise SettingError(
                f"engine=batched cannot sample with this model: {why}; take engine=own"
            )
        size = vocabulary_of(self.policy)
        return [_sampled(one, prompt, size) for one, prompt in zip(outputs, prompts, strict=True)]

    def _calls(self, prompts: Sequence[Prompt]) -> Iterator[list[int]]:
        rows: list[int] = []
        held, most = 0, self.policy.generate_tokens
        if not _has_flash(self.policy.model):
            most = min(most, _DENSE)
        # Equal prompts stand together, and are read once.
        for row in sorted(range(len(prompts)), key=lambda row: _order(prompts[row])):
            size = len(prompts[row].ids) + prompts[row].limit
            if rows and held + size > most:
                yield rows
                rows, held = [], 0
            rows.append(row)
            held += size
        if rows:
            yield rows


def _order(prompt: Prompt) -> tuple[int, tuple[int, ...]]:
    return -len(prompt.ids), prompt.ids


def _has_flash(model: Any) -> bool:
    """Whether the batching computes attention within each conversation alone."""
    available = (is_flash_attn_2_available, is_flash_attn_3_available)
    taken = model._supports_flash_attn and any(one(kernels_fallback_ok=True) for one in available)
    return bool(taken) or "flash" in model.config._attn_implementation


def _sampled(output: Any, prompt: Prompt, vocabulary: int) -> SampledReply:
    """Return a reply without what follows its end token, its limit or the silence word.

    The batching knows no stop strings, so it may sample on behind the word.
    """
    ids = tuple(map(int, output.generated_tokens))
    ends = [place for place, token in enumerate(ids) if token in prompt.end_ids]
    length = min(ends[0] + 1 if ends else len(ids), prompt.limit)
    raw = Raw(tuple(output.prompt_ids), ids[:length], tuple(map(float, output.logprobs[:length])))
    raw = check_reply(raw, prompt, "engine=batched", vocabulary)
    return SampledReply(raw.ids, raw.logprobs)


@contextmanager
def _as_before(model: Any) -> Iterator[None]:
    """Leave the model's kind of attention as it was, and keep the batching's own notices to us."""
    before, log = model.config._attn_implementation, logging.getLogger("ContinuousBatchingLogger")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
        if model.config._attn_implementation != before:
            model.set_attn_implementation(before)
