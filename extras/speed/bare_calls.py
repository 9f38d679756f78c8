"""Time a training step and the bare model calls that it consists of.

The bare calls are `generate` on the same prompts, then for each minibatch the forward pass with its
cross entropy, the backward pass and the optimizer step, on the same tokens padded to the longest of
the minibatch, in as many passes as 4 GiB of logits and `learner.microbatch_tokens` need. They run
on a copy of the model and of the optimizer, from the same weights.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig
from torch import Tensor
from torch.optim import Optimizer

from laconic.envs.errors import SettingError
from laconic.experiments.session.costs import now, peak_gigabytes, tokens_per_second
from laconic.experiments.session.setup import (
    Environments,
    draw_starts,
    make_learner,
    task_keys,
)
from laconic.learners.agents.cache import batches
from laconic.learners.agents.generate import pad_left
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.sampling import AUTOCAST
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group
from laconic.learners.interfaces import Policy, Remembering, Reply, Request
from laconic.learners.rollout.play import collect
from laconic.learners.training.sequences import TokenSequence, collate, microbatches

_LOGITS = 2**30
"""Largest number of logits of a pass: 4 GiB."""
IGNORED = -100
"""Label that the cross entropy of `transformers` ignores."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Times of one repetition, in seconds."""

    step: float
    """Seconds of the whole training step."""
    bare: float
    """Seconds of its bare model calls; NaN if none were made."""
    environment: float
    """Seconds of the step that were spent neither in a policy nor in the learner."""
    sampled: float = 0.0
    """Reply tokens per second of the rollout."""
    trained: float = 0.0
    """Conversation tokens per second of the update."""


def forget_peak() -> float:
    """Forget the peak memory so far; return the gigabytes that are held, NaN if it cannot."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        return peak_gigabytes()
    if sys.platform != "linux":
        return math.nan
    # Freed memory that the allocator keeps would hide what is taken next.
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        # Some containers forbid it.
        return math.nan
    return peak_gigabytes()


class TimedPolicy:
    """Policy that sums the time spent in it."""

    def __init__(self, policy: Policy) -> None:
        """Wrap a policy."""
        self._policy = policy
        self.seconds = 0.0

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Pass the requests on and add their time."""
        started = now()
        replies = self._policy.reply(requests, seed=seed, greedy=greedy)
        self.seconds += now() - started
        return replies

    def remembering(self) -> AbstractContextManager[None]:
        """Pass this on too, if the policy can remember."""
        inner = self._policy
        return inner.remembering() if isinstance(inner, Remembering) else nullcontext()


class StepTimer:
    """Timer with a learner, and a copy of its model and optimizer for the bare calls."""

    def __init__(self, cfg: DictConfig, team: Any, environments: Environments) -> None:
        """Build the learner, with one environment per episode of a step.

        Raises:
            SettingError: the bare calls of the learner's step are unknown.
        """
        self._cfg = cfg
        self._environments = environments
        self.peak = 0.0
        """Peak memory of the first step in gigabytes, before the copy for bare calls exists."""
        self.beyond = {"step": math.nan, "bare": math.nan}
        """Gigabytes that the step and its bare calls take beyond weights, moments, gradients and
        what else is held before them, in the first repetition after a warm-up."""
        self._warm = False
        self.metrics: Mapping[str, float] = {}
        """Metrics of the last step."""
        policies = team.policies(environments[0])
        self._learner = _checked(make_learner(cfg, policies))
        self._policy: HFPolicy = next(iter(policies.values()))
        self._timed = {id(policy): TimedPolicy(policy) for policy in policies.values()}
        self._policies = {agent: self._timed[id(policy)] for agent, policy in policies.items()}
        if cfg.measure.ignore_ends:
            for policy in policies.values():
                policy.ignore_ends()
        self._state = copy.deepcopy(self._learner.state_dict())

    @cached_property
    def _bare_model(self) -> Any:
        return copy.deepcopy(self._policy.model)

    @cached_property
    def _bare_optimizer(self) -> Optimizer:
        optimizer: Optimizer = instantiate(
            self._cfg.optimizer, self._bare_model.parameters(), _partial_=False, _convert_="all"
        )
        return optimizer

    @property
    def precision(self) -> str:
        """Precision of the policy, as `agent.precision` names it."""
        precision = self._policy.precision
        return AUTOCAST if precision.autocast else precision.dtype

    @property
    def parameters(self) -> int:
        """Number of the model's weights."""
        return sum(each.numel() for each in self._policy.model.parameters())

    @property
    def token_operations(self) -> float:
        """Floating-point operations of a trained token, without attention: 6 for a weight.

        A weight that is not trained takes 4: no gradient of it is computed. Embeddings count once,
        as the head (Kaplan et al., arXiv 2001.08361).
        """
        model = self._policy.model
        inputs, head = model.get_input_embeddings(), model.get_output_embeddings()
        looked_up = 0 if head.weight is inputs.weight else inputs.weight.numel()
        total = sum((4 + 2 * each.requires_grad) * each.numel() for each in model.parameters())
        return float(total - looked_up * (4 + 2 * inputs.weight.requires_grad))

    def measure(self, repetition: int) -> Sample:
        """Time a step and its bare calls, from the first weights.

        Raises:
            SettingError: the team has several policies.
        """
        if len(self._timed) > 1:
            raise SettingError(
                "measure-speed takes one policy for the whole team; got several, or several"
                " adapters. Set agent.sharing=shared, or a learner that does not ask for separate"
                " policies"
            )
        groups, sample = self.step(repetition)
        return replace(sample, bare=self._bare(groups, repetition))

    def step(self, repetition: int) -> tuple[list[Group], Sample]:
        """Time a step from the first weights, without bare calls; return its groups and times."""
        self._learner.load_state_dict(copy.deepcopy(self._state))
        for timed in self._timed.values():
            timed.seconds = 0.0
        train, seed = self._cfg.train, self._cfg.seed
        starts = draw_starts(
            task_keys(self._environments[0]), train.tasks_per_step, seed, repetition
        )
        with self._weighed("step", self._policy.model, repetition):
            started = now()
            groups = collect(
                self._environments, self._policies, starts, train.group_size, seed=repetition
            )
            collected = now()
            self.metrics = self._learner.update(groups)
            ended = now()
        self.peak = self.peak or peak_gigabytes()
        if not repetition:
            self._warm = True
            # In a training the moments are there from the second step on, as for the bare calls.
            moments = copy.deepcopy(self._learner.state_dict()["trainers"])
            for first, later in zip(self._state["trainers"], moments, strict=True):
                first["optimizer"] = later["optimizer"]
        rates = tokens_per_second(groups, collected - started, ended - collected)
        return groups, Sample(
            step=ended - started,
            bare=math.nan,
            environment=collected - started - sum(t.seconds for t in self._timed.values()),
            sampled=rates.get("time/sampled_tokens_per_second", 0.0),
            trained=rates.get("time/trained_tokens_per_second", 0.0),
        )

    def _bare(self, groups: Sequence[Group], repetition: int) -> float:
        self._bare_model.load_state_dict(self._state["trainers"][0]["model"])
        episodes = [episode for group in groups for episode in group.episodes]
        limit, most = self._policy.sampling.max_reply_tokens, self._policy.generate_tokens
        bare = [
            self._bare_generate([prompts[row] for row in rows])
            for prompts in prompts_by_round(episodes)
            for rows in batches([*map(len, prompts)], [limit] * len(prompts), None, most)
        ]
        sequences = [sequence for group in groups for sequence in self._learner.sequences(group)]
        bare += [self._bare_step(part) for part in self._learner.split(sequences)]
        torch.manual_seed(repetition)
        with self._weighed("bare", self._bare_model, repetition), self._policy.computing():
            started = now()
            for call in bare:
                call()
            return now() - started

    @contextmanager
    def _weighed(self, part: str, model: Any, repetition: int) -> Iterator[None]:
        """Note what a part takes once libraries are loaded and the moments are there."""
        # Learners differ in when they let gradients go.
        model.zero_grad()
        weighs = repetition == 1 and self._warm
        held = forget_peak() if weighs else math.nan
        yield
        if weighs:
            gradients = sum(each.nbytes for each in model.parameters() if each.requires_grad)
            self.beyond[part] = max(peak_gigabytes() - held - gradients / 1e9, 0.0)

    def _bare_generate(self, prompts: Sequence[Sequence[int]]) -> Callable[[], None]:
        ids, mask = pad_left(prompts, self._policy.pad_id, self._policy.device)
        sampling = self._policy.sampling

        def call() -> None:
            with torch.no_grad():
                self._bare_model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    do_sample=True,
                    temperature=sampling.temperature,
                    top_k=0,
                    top_p=1.0,
                    max_new_tokens=sampling.max_reply_tokens,
                )

        return call

    def _bare_step(self, sequences: Sequence[TokenSequence]) -> Callable[[], None]:
        vocabulary = self._bare_model.config.get_text_config().vocab_size
        most = min(_LOGITS // vocabulary, self._cfg.learner.microbatch_tokens)
        pad_id, device = self._policy.pad_id, self._policy.device
        batches = [collate(part, pad_id, device) for part in microbatches(sequences, most)]

        def call() -> None:
            self._bare_optimizer.zero_grad(set_to_none=True)
            for batch in batches:
                labels: Tensor = torch.where(batch.generated_mask, batch.token_ids, IGNORED)
                self._bare_model(
                    input_ids=batch.token_ids,
                    attention_mask=batch.attention_mask.long(),
                    labels=labels,
                ).loss.backward()
            self._bare_optimizer.step()

        return call


def prompts_by_round(episodes: Sequence[Episode]) -> list[list[list[int]]]:
    """Return the token ids of every prompt of a rollout, round by round."""
    rounds: dict[int, list[list[int]]] = {}
    for episode in episodes:
        past: dict[str, list[int]] = {}
        for turn in episode.turns:
            conversation = past.setdefault(turn.agent, [])
            conversation += turn.prompt_ids
            rounds.setdefault(turn.round, []).append(list(conversation))
            conversation += turn.reply_ids
    return [rounds[number] for number in sorted(rounds)]


def _checked(learner: object) -> GroupLearner:
    """Return the learner if the bare calls of its step are known.

    Raises:
        SettingError: it has a critic or another step of its own.
    """
    if not isinstance(learner, GroupLearner):
        raise SettingError(
            "measure-speed knows the bare calls of learners that compare the episodes of a group;"
            f" got {type(learner).__name__}. Choose one of those, such as learner=grpo"
        )
    return learner
