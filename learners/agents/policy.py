"""A language policy: one set of weights that samples replies with their log-probabilities.

`ChatCodec` converts between texts and tokens. `HFPolicy` samples, by itself or through an engine,
and saves and loads the weights. It does not know which agents it speaks for.
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

from laconic.learners.agents.cache import ConversationCache, batches, default_tokens
from laconic.learners.agents.chat import ChatCodec, NoReplyEnd, conversation, positions_of
from laconic.learners.agents.folders import apply_umask
from laconic.learners.agents.generate import Sampled, Sampling, generate, seeded
from laconic.learners.agents.lora import Adapter
from laconic.learners.agents.precision import FLOAT32, Precision
from laconic.learners.agents.sampling import SamplingSettings
from laconic.learners.errors import refuse_memory
from laconic.learners.interfaces import Prompt, Reply, Request, SampledReply, Sampler


class HFPolicy(ChatCodec):
    """One set of weights that speaks for one or more agents.

    The model stays in evaluation mode during training. With dropout, the first importance ratio of
    an update would not be 1.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        sampling: SamplingSettings,
        *,
        adapter: Adapter | None = None,
        recompute_logprobs: bool | None = None,
        precision: Precision = FLOAT32,
    ) -> None:
        """Join a causal language model and its fast tokenizer.

        Args:
            model: parameters that require no gradient are never trained.
            tokenizer: the model's own.
            sampling: sampling settings.
            adapter: adapter within the model; if given, it alone is trained and saved.
            recompute_logprobs: whether behavior log-probabilities are recomputed before an update,
                by the same pass as in training, instead of taking those of the sampling. In
                bfloat16 the two differ, and the ratio would mistake this for learning. None: do it
                unless the precision is exact.
            precision: types of weights and passes.
        """
        super().__init__(model, tokenizer, sampling)
        self.model = model.eval()
        self.precision = precision
        self._recompute = recompute_logprobs
        self.sampler: Sampler | None = None
        """Samples in place of this policy. None: it samples by itself."""
        self.recompute_logprobs = self._recomputes()
        self.optimizer: Mapping[str, Any] = {}
        """Optimizer settings of this policy that differ from those of the learner."""
        self._adapter = adapter
        self._cache: ConversationCache | None = None
        self.generate_tokens = sampling.generate_tokens or default_tokens(model)
        # A hub model may bring top-k, top-p or penalties; recorded log-probabilities ignore them.
        self.model.generation_config = GenerationConfig(
            eos_token_id=list(self.end_ids) or None, pad_token_id=self.pad_id
        )

    def ignore_ends(self) -> None:
        """Sample every reply up to its limit, whatever it says, to measure speed."""
        self.end_ids, self.reply_end = (), NoReplyEnd()
        self.model.generation_config.eos_token_id = None

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer all requests in one batched call, or in as few as `generate_tokens` allows.

        A conversation that fills all positions of the model gets silence without tokens; the first
        one causes a warning. Process-wide generators stay untouched.

        Args:
            requests: the requests of a round.
            seed: seed of the sampling.
            greedy: whether the likeliest token is taken at each step.
        """
        prompts = [self.read(request) for request in requests]
        texts = [
            (*conversation(request.history), *prompt)
            for request, prompt in zip(requests, prompts, strict=True)
        ]
        limits = [self.limit(*pair) for pair in zip(requests, texts, strict=True)]
        if self.sampler is not None:
            return self._sample_elsewhere(self.sampler, requests, prompts, limits, seed, greedy)
        # Lengths of each conversation up to its replies, without their last token, latest first.
        ends = [
            [
                end - 1
                for end in accumulate(len(r.prompt_ids) + len(r.reply_ids) for r in request.history)
            ][::-1]
            for request in requests
        ]
        try:
            sampled = self._sample(texts, limits, ends, seed, greedy)
        except (MemoryError, RuntimeError) as error:
            refuse_memory(error, "agent.sampling.generate_tokens")
            raise
        return [
            self.reply_with(request, prompt, *reply)
            for reply, request, prompt in zip(sampled, requests, prompts, strict=True)
        ]

    async def answer(
        self, request: Request, *, seed: int, greedy: bool, episode: int, version: int | None
    ) -> Reply:
        """Answer one request with an `AsyncSampler`, on its loop.

        Args:
            request: the request.
            seed: seed of the sampling.
            greedy: whether the likeliest token is taken at each step.
            episode: index of the episode, whose turns go to one server.
            version: version of the weights to sample with.
        """
        new = self.read(request)
        limit = self.limit(request, (*conversation(request.history), *new))
        if not limit:
            return self.reply_with(request, new, (), ())
        prompt = self._prompt(request, new, limit, seed, greedy)
        sampled = await self.sampler.sample_one(  # type: ignore[union-attr]
            replace(prompt, episode=episode, version=version)
        )
        reply = self.reply_with(request, new, sampled.ids, sampled.logprobs)
        return replace(reply, version=sampled.version)

    def sample_with(self, sampler: Sampler | None, positions: int | None = None) -> None:
        """Sample with a sampler from now on; None: with this policy itself.

        With a sampler, log-probabilities are recomputed before an update, unless the settings
        forbid it: those of another program differ slightly from the trainer's.

        Args:
            sampler: sampler that has the weights of this policy.
            positions: maximum tokens of a conversation in the sampler; None: no limit.
        """
        self.sampler = sampler
        bounds = [most for most in (positions_of(self.model), positions) if most is not None]
        self.positions = min(bounds, default=None)
        self.recompute_logprobs = self._recomputes()

    def _recomputes(self) -> bool:
        if self._recompute is not None:
            return self._recompute
        return self.sampler is not None or not self.precision.exact

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Keep keys and values of conversations between the calls within the body.

        The weights must not change within the body. Replies are the same, up to rounding.
        """
        before = self._cache
        if self.sampler is None:
            self._cache = ConversationCache(self.model, self.generate_tokens)
        try:
            yield
        finally:
            self._cache = before

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        device: torch.device = self.model.device
        return device

    def computing(self) -> AbstractContextManager[Any]:
        """Return a context in which passes of the model use this policy's precision."""
        if not self.precision.autocast:
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    @property
    def frozen(self) -> bool:
        """True if no parameter is trained."""
        return not any(parameter.requires_grad for parameter in self.model.parameters())

    @property
    def adapted(self) -> bool:
        """True if the policy is an adapter on a base, which other policies may share."""
        return self._adapter is not None

    @property
    def base(self) -> str:
        """Name or folder of the model with which an engine must be started."""
        return str(self.model.name_or_path) if self._adapter is None else self._adapter.base_name

    @property
    def rank(self) -> int:
        """Rank of the adapter; 0 without one."""
        return 0 if self._adapter is None else self._adapter.rank

    def bare(self) -> AbstractContextManager[None]:
        """Return a context in which the model computes without its adapter."""
        return nullcontext() if self._adapter is None else self._adapter.switched_off()

    def hand_on(self, folder: Path, weights: Mapping[str, Tensor] | None = None) -> None:
        """Write the files that an engine loads: those of `save` except the tokenizer."""
        if self._adapter is None:
            self.model.save_pretrained(folder, state_dict=weights)
        else:
            self._adapter.save(folder)
        apply_umask(folder)

    def save(self, folder: Path, weights: Mapping[str, Tensor] | None = None) -> None:
        """Write weights and tokenizer so that stock `transformers` loads them.

        A policy with an adapter writes the adapter alone, in the form of stock `peft`.

        Args:
            folder: folder to write.
            weights: all weights of the model, if this process holds only shards of them.
        """
        self.hand_on(folder, weights)
        self.tokenizer.save_pretrained(folder)
        apply_umask(folder)

    def weights(self, model: PreTrainedModel | None = None) -> dict[str, Tensor]:
        """Return the weights that training may change, by name, without those of a frozen base.

        Args:
            model: copy of this policy's model to read instead of it.
        """
        parameters = self.model.named_parameters(remove_duplicate=False)
        frozen = {name for name, parameter in parameters if not parameter.requires_grad}
        state = (model or self.model).state_dict()
        return {name: tensor for name, tensor in state.items() if name not in frozen}

    def load_weights(
        self, state: Mapping[str, Tensor], model: PreTrainedModel | None = None
    ) -> None:
        """Load the result of `weights` into this policy's model, or into a copy of it."""
        target = model or self.model
        trained = self.weights()
        frozen = {name: value for name, value in target.state_dict().items() if name not in trained}
        target.load_state_dict({**frozen, **state})

    def _sample_elsewhere(
        self,
        sampler: Sampler,
        requests: Sequence[Request],
        prompts: Sequence[tuple[int, ...]],
        limits: Sequence[int],
        seed: int,
        greedy: bool,
    ) -> list[Reply]:
        """Let a sampler answer all requests at once; a limit of 0 gives silence without tokens."""
        rows = [row for row, limit in enumerate(limits) if limit]
        seeds = np.random.default_rng(seed).integers(2**31, size=len(requests)).tolist()
        sampler_prompts = [
            self._prompt(requests[row], prompts[row], limits[row], seeds[row], greedy)
            for row in rows
        ]
        by_row = dict(zip(rows, sampler.sample(sampler_prompts), strict=True))
        replies = []
        for row, (request, prompt) in enumerate(zip(requests, prompts, strict=True)):
            sampled = by_row.get(row, SampledReply((), (), None))
            reply = self.reply_with(request, prompt, sampled.ids, sampled.logprobs)
            replies.append(replace(reply, version=sampled.version))
        return replies

    def _prompt(
        self, request: Request, new: tuple[int, ...], limit: int, seed: int, greedy: bool
    ) -> Prompt:
        ids = (*conversation(request.history), *new)
        temperature = 0.0 if greedy else self.sampling.temperature
        return Prompt(ids, limit, self.end_ids, temperature, seed, reply_end=self.reply_end)

    def _sample(
        self,
        texts: Sequence[tuple[int, ...]],
        limits: Sequence[int],
        ends: Sequence[Sequence[int]],
        seed: int,
        greedy: bool,
    ) -> list[Sampled]:
        """Return reply tokens and log-probabilities for every text; none where the limit is 0."""
        replies: list[Sampled] = [((), ()) for _ in texts]
        # One context for all tokens: autocast then converts each weight once.
        with seeded(self.model.device, seed), self.computing():
            lengths = [*map(len, texts)]
            for rows in batches(lengths, limits, self.positions, self.generate_tokens):
                sampling = Sampling(
                    max_new_tokens=max(limits[row] for row in rows),
                    temperature=self.sampling.temperature,
                    greedy=greedy,
                    end_ids=self.end_ids,
                    pad_id=self.pad_id,
                    reply_end=self.reply_end,
                )
                batch = generate(
                    self.model,
                    [texts[row] for row in rows],
                    sampling,
                    [limits[row] for row in rows],
                    self._cache,
                    [ends[row] for row in rows],
                )
                for row, reply in zip(rows, batch, strict=True):
                    replies[row] = reply
        return replies
