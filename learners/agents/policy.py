"""One set of weights that speaks: requests in, replies with their tokens and log-probabilities out.

How its turns become tokens is a `Speaker`'s business; here its weights sample, by themselves or by
way of an engine, and are saved and loaded. Which agents it speaks for is known elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase

from laconic.learners.agents.base import Reply, Request
from laconic.learners.agents.cache import Memory, calls, default_tokens
from laconic.learners.agents.folders import apply_umask
from laconic.learners.agents.generate import Sampled as Generated
from laconic.learners.agents.generate import Sampling, generate, seeded
from laconic.learners.agents.lora import Adapter
from laconic.learners.agents.precision import FLOAT32, Precision
from laconic.learners.agents.sampling import SamplingSettings
from laconic.learners.agents.speaker import Speaker, past, positions_of
from laconic.learners.errors import refuse_memory
from laconic.learners.interfaces import Prompt, SampledReply, Sampler


class HFPolicy(Speaker):
    """One set of weights that speaks for one or more agents.

    The model stays in evaluation mode, in training too: with dropout no importance ratio would be
    that of two policies, and the first of an update would not be 1.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        speech: SamplingSettings,
        *,
        adapter: Adapter | None = None,
        recompute_logprobs: bool | None = None,
        precision: Precision = FLOAT32,
    ) -> None:
        """Join a causal language model and its fast tokenizer.

        Args:
            model: parameters that require no gradient are never trained.
            tokenizer: the model's own.
            speech: how it speaks.
            adapter: the adapter within the model, which is then all that is trained and saved.
            recompute_logprobs: compute the behaviour log-probabilities again before an update, in
                the very form of the training pass, instead of taking those of the sampling. In
                bfloat16 the two differ, which the ratio would take for learning, so None does it
                unless the precision is exact.
            precision: how it is computed.
        """
        super().__init__(model, tokenizer, speech)
        self.model = model.eval()
        self.precision = precision
        self._again = recompute_logprobs
        self.recompute_logprobs = not precision.exact if self._again is None else self._again
        self.sampler: Sampler | None = None
        """Who samples for it; None: it does so itself."""
        self.optimizer: Mapping[str, Any] = {}
        """Settings of this policy's optimiser that differ from those of the learner's."""
        self._adapter = adapter
        self._memory: Memory | None = None
        self.generate_tokens = speech.generate_tokens or default_tokens(model)
        # A hub model may bring top-k, top-p or penalties; recorded log-probabilities know of none.
        self.model.generation_config = GenerationConfig(
            eos_token_id=list(self._end_ids) or None, pad_token_id=self.pad_id
        )

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer all requests in one batched call, or in as few as `generate_tokens` allows.

        A conversation that fills all positions of the model is answered with silence that has no
        tokens; the first one is warned of. The seed is that of the sampling, and the process-wide
        generator is left as it was; `greedy` takes the likeliest token at each step.
        """
        news = [self.read(request) for request in requests]
        prompts = [
            (*past(request.history), *new) for request, new in zip(requests, news, strict=True)
        ]
        limits = [self.limit(*one) for one in zip(requests, prompts, strict=True)]
        if self.sampler is not None:
            return self._sampled(self.sampler, requests, news, limits, seed, greedy)
        ends = [_ends(request.history) for request in requests]
        try:
            sampled = self._sample(prompts, limits, ends, seed, greedy)
        except (MemoryError, RuntimeError) as error:
            refuse_memory(error, "agent.speech.generate_tokens")
            raise
        return [
            self.reply_with(request, new, *one)
            for one, request, new in zip(sampled, requests, news, strict=True)
        ]

    async def answer(
        self, request: Request, *, seed: int, greedy: bool, episode: int, version: int | None
    ) -> Reply:
        """Answer one request by way of an `AsyncSampler`, on its loop.

        Args:
            request: what is asked.
            seed: of the sampling.
            greedy: take the likeliest token at each step.
            episode: whose turns are to be on one server.
            version: of the weights that are to speak.
        """
        new = self.read(request)
        limit = self.limit(request, (*past(request.history), *new))
        if not limit:
            return self.reply_with(request, new, (), ())
        prompt = self._prompt(request, new, limit, seed, greedy)
        one = await self.sampler.sample_one(  # type: ignore[union-attr]
            replace(prompt, episode=episode, version=version)
        )
        return replace(self.reply_with(request, new, one.ids, one.logprobs), version=one.version)

    def sample_with(self, sampler: Sampler | None, positions: int | None = None) -> None:
        """Have somebody else sample from now on; None: this policy itself.

        Log-probabilities are then computed again before an update, unless that was ruled out,
        because another's are never quite those of the trainer.

        Args:
            sampler: who samples with the weights that this policy has.
            positions: most tokens of a conversation there; None for any number.
        """
        self.sampler = sampler
        own = [one for one in (positions_of(self.model), positions) if one is not None]
        self.positions = min(own, default=None)
        usual = sampler is not None or not self.precision.exact
        self.recompute_logprobs = usual if self._again is None else self._again

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Within it keys and values of conversations are kept from one call to the next.

        The weights have to stay as they are. Replies are the same, up to the order of sums.
        """
        before = self._memory
        if self.sampler is None:
            self._memory = Memory(self.model, self.generate_tokens)
        try:
            yield
        finally:
            self._memory = before

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        device: torch.device = self.model.device
        return device

    def computing(self) -> AbstractContextManager[None]:
        """Within it passes of the model are computed in this policy's precision."""
        return self.precision.computing(self.device)

    @property
    def frozen(self) -> bool:
        """Whether there is nothing to train."""
        return not any(parameter.requires_grad for parameter in self.model.parameters())

    @property
    def adapted(self) -> bool:
        """Whether it is an adapter on a base that others may have in common with it."""
        return self._adapter is not None

    @property
    def base(self) -> str:
        """Name or folder of what an engine has to be started with."""
        return str(self.model.name_or_path) if self._adapter is None else self._adapter.base_name

    @property
    def rank(self) -> int:
        """Inner width of the adapter; 0 without one."""
        return 0 if self._adapter is None else self._adapter.rank

    def bare(self) -> AbstractContextManager[None]:
        """Within it the model computes without its adapter."""
        return nullcontext() if self._adapter is None else self._adapter.switched_off()

    def hand_on(self, folder: Path, weights: Mapping[str, Tensor] | None = None) -> None:
        """Write what an engine loads: the weights as `save` does, without the tokenizer."""
        if self._adapter is None:
            self.model.save_pretrained(folder, state_dict=weights)
        else:
            self._adapter.save(folder)
        apply_umask(folder)

    def save(self, folder: Path, weights: Mapping[str, Tensor] | None = None) -> None:
        """Write weights and tokenizer so that stock `transformers` loads them.

        Of a policy with an adapter it is the adapter alone, in the form of stock `peft`. `weights`
        are all of the model's, whole, where it has only parts of them itself.
        """
        self.hand_on(folder, weights)
        self.tokenizer.save_pretrained(folder)
        apply_umask(folder)

    def weights(self, model: PreTrainedModel | None = None) -> dict[str, Tensor]:
        """The weights that training may change, by name; those of a frozen base are not among them.

        They are this policy's own, or those of a copy of its model.
        """
        named = self.model.named_parameters(remove_duplicate=False)
        frozen = {name for name, parameter in named if not parameter.requires_grad}
        state = (model or self.model).state_dict()
        return {name: tensor for name, tensor in state.items() if name not in frozen}

    def load_weights(
        self, state: Mapping[str, Tensor], model: PreTrainedModel | None = None
    ) -> None:
        """Put what `weights` gave back into this policy's model, or into a copy of it."""
        target = model or self.model
        trained = self.weights()
        frozen = {name: one for name, one in target.state_dict().items() if name not in trained}
        target.load_state_dict({**frozen, **state})

    def _sampled(
        self,
        sampler: Sampler,
        requests: Sequence[Request],
        news: Sequence[tuple[int, ...]],
        limits: Sequence[int],
        seed: int,
        greedy: bool,
    ) -> list[Reply]:
        """What a sampler answers to all requests at once; silence without tokens where none fit."""
        rows = [row for row, limit in enumerate(limits) if limit]
        seeds = np.random.default_rng(seed).integers(2**31, size=len(requests)).tolist()
        prompts = [
            self._prompt(requests[row], news[row], limits[row], seeds[row], greedy) for row in rows
        ]
        found = dict(zip(rows, sampler.sample(prompts), strict=True))
        replies = []
        for row, (request, new) in enumerate(zip(requests, news, strict=True)):
            one = found.get(row, SampledReply((), (), None))
            reply = self.reply_with(request, new, one.ids, one.logprobs)
            replies.append(replace(reply, version=one.version))
        return replies

    def _prompt(
        self, request: Request, new: tuple[int, ...], limit: int, seed: int, greedy: bool
    ) -> Prompt:
        ids = (*past(request.history), *new)
        temperature = 0.0 if greedy else self.speech.temperature
        return Prompt(ids, limit, self._end_ids, temperature, seed, reply_end=self.reply_end)

    def _sample(
        self,
        prompts: Sequence[tuple[int, ...]],
        limits: Sequence[int],
        ends: Sequence[Sequence[int]],
        seed: int,
        greedy: bool,
    ) -> list[Generated]:
        """Reply tokens and log-probabilities for every prompt; none where the limit is 0."""
        sampled: list[Generated] = [((), ()) for _ in prompts]
        # One context for all tokens: autocast then converts each weight once.
        with seeded(self.device, seed), self.computing():
            for rows in calls([*map(len, prompts)], limits, self.positions, self.generate_tokens):
                sampling = Sampling(
                    max_new_tokens=max(limits[row] for row in rows),
                    temperature=self.speech.temperature,
                    greedy=greedy,
                    end_ids=self._end_ids,
                    pad_id=self.pad_id,
                    reply_end=self.reply_end,
                )
                found = generate(
                    self.model,
                    [prompts[row] for row in rows],
                    sampling,
                    [limits[row] for row in rows],
                    self._memory,
                    [ends[row] for row in rows],
                )
                for row, reply in zip(rows, found, strict=True):
                    sampled[row] = reply
        return sampled


def _ends(history: Sequence[Reply]) -> list[int]:
    """Lengths of a conversation up to each reply, but for its last token, the latest first."""
    ends = accumulate(len(reply.prompt_ids) + len(reply.reply_ids) for reply in history)
    return [end - 1 for end in ends][::-1]
