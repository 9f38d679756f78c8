"""Sampling by the continuous batching of `transformers`, in this process (`engine=batched`).

A finished reply makes room for the next prompt, and keys and values lie in pages, so nothing is
padded. It samples with the very modules that are trained, so there is nothing to sync. All prompts
of a round are sampled together, as with `engine=own`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from transformers import ContinuousBatchingConfig, GenerationConfig
from transformers.utils.import_utils import (
    is_flash_attn_2_available,
    is_flash_attn_3_available,
)

from laconic.envs.checks import Bound, Count, check_fields
from laconic.envs.errors import SettingError
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.engines.base import Engine, model_policies
from laconic.learners.engines.client import Completion, check_completion
from laconic.learners.engines.probe import vocabulary_size
from laconic.learners.interfaces import Prompt, SampledReply

if TYPE_CHECKING:
    from laconic.learners.agents.policy import HFPolicy

_DENSE_TOKENS = 4096
"""Maximum number of tokens sampled together without FlashAttention, replies included.
`transformers` then computes attention between all conversations and masks it. Beyond this size a
small model spends more on that than on its layers."""


@dataclass
class Batched(Engine):
    """Sample with the continuous batching of `transformers`."""

    page_tokens: Annotated[int, Bound(ge=4)] = 32
    """Number of tokens whose keys and values share a page."""
    batch_tokens: Count = 2048
    """Maximum number of tokens in one forward pass."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        check_fields(self, "engine")
        self._team: dict[str, HFPolicy] = {}

    def open(
        self, policies: Mapping[str, Any], folder: Path, processes: Processes = SINGLE_PROCESS
    ) -> None:
        """Sample for every policy; see `Engine`."""
        self._team = model_policies(policies)
        for policy in self._team.values():
            policy.sample_with(BatchedSampler(policy, self.page_tokens, self.batch_tokens))

    def close(self) -> None:
        """Let the policies sample with their own models again."""
        for policy in self._team.values():
            policy.sample_with(None)
        self._team = {}


@dataclass(frozen=True, slots=True)
class BatchedSampler:
    """The `Sampler` of one policy."""

    policy: HFPolicy
    """Policy whose model samples."""
    page_tokens: int
    """Number of tokens whose keys and values share a page."""
    batch_tokens: int
    """Maximum number of tokens in one forward pass."""

    def sample(self, prompts: Sequence[Prompt]) -> list[SampledReply]:
        """Sample all replies, in as many calls as memory requires."""
        replies: dict[int, SampledReply] = {}
        for rows in self._calls(prompts):
            replies |= zip(rows, self._sample([prompts[row] for row in rows]), strict=True)
        return [replies[row] for row in range(len(prompts))]

    def _sample(self, prompts: Sequence[Prompt]) -> list[SampledReply]:
        """Sample the replies of one call."""
        first, limit = prompts[0], max(prompt.limit for prompt in prompts)
        sampling: dict[str, Any] = {"do_sample": False}
        if first.temperature:
            sampling = {
                "do_sample": True,
                "temperature": first.temperature,
                "top_k": 0,
                "top_p": 1.0,
            }
        pages = sum(-(-(len(prompt.ids) + limit) // self.page_tokens) for prompt in prompts)
        batching = ContinuousBatchingConfig(
            page_size=self.page_tokens,
            num_blocks=pages + 2,
            max_batch_tokens=max(self.batch_tokens, len(prompts)),
            return_logprobs=True,
            seed=first.seed,
        )
        config = GenerationConfig(
            max_new_tokens=limit,
            eos_token_id=list(first.end_ids) or None,
            pad_token_id=self.policy.pad_id,
            **sampling,
        )
        with self.policy.computing(), _restored_attention(self.policy.model):
            results = self.policy.model.generate_batch(  # type: ignore[operator]
                [list(prompt.ids) for prompt in prompts],
                generation_config=config,
                continuous_batching_config=batching,
            )
        outputs = list(results.values())
        if len(outputs) != len(prompts) or any(output.error for output in outputs):
            errors = (output.error for output in outputs if output.error)
            raise SettingError(
                "engine=batched cannot sample with this model:"
                f" {next(errors, 'some replies are missing')}; set engine=own"
            )
        size = vocabulary_size(self.policy)
        return [_reply(*pair, size) for pair in zip(outputs, prompts, strict=True)]

    def _calls(self, prompts: Sequence[Prompt]) -> Iterator[list[int]]:
        """Split prompts into calls, the longest first, bounded by the tokens of a call."""
        rows: list[int] = []
        tokens, limit = 0, self.policy.generate_tokens
        if not _has_flash_attention(self.policy.model):
            limit = min(limit, _DENSE_TOKENS)
        # Equal prompts are neighbors, so that each is read once.
        order = sorted(range(len(prompts)), key=lambda at: (-len(prompts[at].ids), prompts[at].ids))
        for row in order:
            size = len(prompts[row].ids) + prompts[row].limit
            if rows and tokens + size > limit:
                yield rows
                rows, tokens = [], 0
            rows.append(row)
            tokens += size
        if rows:
            yield rows


def _has_flash_attention(model: Any) -> bool:
    """Return whether attention is computed within each conversation alone."""
    checks = (is_flash_attn_2_available, is_flash_attn_3_available)
    available = any(check(kernels_fallback_ok=True) for check in checks)
    return bool(model._supports_flash_attn and available) or (
        "flash" in model.config._attn_implementation
    )


def _reply(output: Any, prompt: Prompt, vocabulary: int) -> SampledReply:
    """Cut a reply after its end token, its limit or the silence word.

    The batching supports no stop strings, so it may have sampled beyond the silence word.
    """
    ids = tuple(map(int, output.generated_tokens))
    ends = [place for place, token in enumerate(ids) if token in prompt.end_ids]
    size = min(ends[0] + 1 if ends else len(ids), prompt.limit)
    logprobs = tuple(map(float, output.logprobs[:size]))
    completion = Completion(tuple(output.prompt_ids), ids[:size], logprobs)
    completion = check_completion(completion, prompt, "engine=batched", vocabulary)
    return SampledReply(completion.ids, completion.logprobs)


@contextmanager
def _restored_attention(model: Any) -> Iterator[None]:
    """Restore the model's attention implementation afterwards, and silence notices meanwhile."""
    before, log = model.config._attn_implementation, logging.getLogger("ContinuousBatchingLogger")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
        if model.config._attn_implementation != before:
            model.set_attn_implementation(before)
