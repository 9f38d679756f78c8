"""Optimizer steps: sequences with advantages in, metrics out.

`Trainer.update` cuts the sequences of one policy into minibatches, one optimizer step each. A
minibatch is cut into microbatches, one forward and backward pass each. The objective is evaluated
once per microbatch; its metrics cover all microbatches and processes. Knows nothing of the origin
of advantages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer
from transformers import PreTrainedModel

from laconic.envs.checks import Ceiling, Count, Whole, check_fields
from laconic.envs.errors import SettingError
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.load import share_frozen
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.errors import refuse_memory
from laconic.learners.training.correction import Correction
from laconic.learners.training.logprobs import current_logprobs, recomputed
from laconic.learners.training.objective import LossInputs, Objective, metrics_of
from laconic.learners.training.sequences import (
    TokenSequence,
    collate,
    conversations,
    microbatches,
    rows_of,
)

MakeOptimizer = Callable[..., Optimizer]
"""Constructor of an optimizer from parameters and the settings that a policy has of its own."""
SAMPLED = 4096
"""Number of entries of each tensor that `Changes` compares, about."""


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    """Number and size of the optimizer steps of an update."""

    objective: Objective = Objective()
    """Loss."""
    minibatches: Count = 4
    """Optimizer steps per policy and update."""
    microbatch_tokens: Count = 16384
    """Most tokens of one forward pass, padding included."""
    max_grad_norm: Ceiling = 1.0
    """Norm to which gradients are scaled down."""
    warmup_updates: Whole = 0
    """Updates over which the learning rate rises on a straight line, from 1 / warmup_updates of it
    in the first one to all of it in the last one; 0 and 1 start with all of it."""
    decay_updates: Whole | None = None
    """Updates after which the learning rate is 0; it falls from the end of the warm-up on. None and
    0: it stays."""
    seed: int = 0
    """Seed of the order in which sequences enter the minibatches."""
    correction: Correction = Correction()
    """Correction for an engine that sampled with other log-probabilities."""
    decay: Literal["linear", "cosine"] = "linear"
    """Curve on which it falls: a straight line, or half a cosine (arXiv 1608.03983)."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        self.correction.of_ratio(self.objective.importance_sampling_level)
        check_fields(self, "learner")

    def schedule(self) -> Callable[[int], float]:
        """Return the factor of the learning rate as a function of the updates done so far."""
        peak, last = max(self.warmup_updates - 1, 0), self.decay_updates or None

        def factor(updates: int) -> float:
            if last is not None and updates >= last:
                return 0.0
            if updates < self.warmup_updates:
                return (updates + 1) / self.warmup_updates
            if last is None:
                return 1.0
            rest = (last - updates) / (last - peak)
            return rest if self.decay == "linear" else (1 - math.cos(math.pi * rest)) / 2

        return factor

    def split(self, sequences: Sequence[TokenSequence], updates: int) -> list[list[TokenSequence]]:
        """Cut an update into minibatches of about equal size, in an order drawn from the seed.

        The order depends on the updates done so far. The replies of a conversation stay together,
        because they share a row of tokens.
        """
        groups = conversations(sequences)
        order = np.random.default_rng((self.seed, updates)).permutation(len(groups))
        sizes = [len(groups[index]) for index in order]
        count = min(self.minibatches, len(groups)) or 1
        ends = np.cumsum([len(part) for part in np.array_split(np.arange(len(sequences)), count)])
        # A conversation belongs to the minibatch in whose range its first sequence falls.
        first = np.cumsum(sizes) - sizes
        parts: list[list[TokenSequence]] = [[] for _ in range(count)]
        for index, part in zip(order, np.searchsorted(ends, first, side="right"), strict=True):
            parts[part] += groups[index]
        return [part for part in parts if part]


class Trainer:
    """Optimizer of one policy and, with a KL, the frozen copy that it is measured from."""

    def __init__(
        self,
        policy: HFPolicy,
        agents: Collection[str],
        optimizer: MakeOptimizer,
        settings: UpdateSettings | None = None,
        processes: Processes = SINGLE_PROCESS,
    ) -> None:
        """Make the optimizer and, with a KL, the reference: the policy as it is now.

        Args:
            policy: policy whose trainable parameters are trained.
            agents: agents that speak by it.
            optimizer: makes an optimizer of parameters; the policy's own settings override its.
            settings: number and size of the optimizer steps.
            processes: processes that train it together. Weights are sharded if theirs are, except
                for adapters: several share one base, which stays whole.

        Raises:
            SettingError: the optimizer refuses the policy's own settings.
        """
        self.policy, self.agents = policy, tuple(agents)
        self.settings = settings or UpdateSettings()
        self._processes = processes
        self._reference: PreTrainedModel | None = None
        if self.settings.objective.beta > 0:
            self._reference = share_frozen(policy.model).requires_grad_(False)
        for model in (policy.model, self._reference):
            if model is not None and not policy.adapted:
                processes.shard(model, policy.precision.autocast)
        self.parameters = [
            parameter for parameter in policy.model.parameters() if parameter.requires_grad
        ]
        try:
            self.optimizer = optimizer(self.parameters, **policy.optimizer)
        except (TypeError, ValueError) as error:
            if not policy.optimizer:
                raise
            raise SettingError(
                f"agent.optimizer has {dict(policy.optimizer)!r} for {', '.join(agents)}, which the"
                f" optimizer refuses: {error}"
            ) from error
        self._schedule = self.settings.schedule()
        self._learning_rates = [group["lr"] for group in self.optimizer.param_groups]

    def update(self, sequences: Sequence[TokenSequence], updates: int) -> list[dict[str, float]]:
        """Take the optimizer steps of one update; without generated tokens none.

        Args:
            sequences: sequences with advantages, of all processes, sampled by the present policy.
            updates: updates done so far; the order of the sequences and the learning rate follow
                it.

        Returns:
            Metrics, one row per step: those of the objective, and `grad_norm`, the norm of the
            gradient before it was scaled; or that the step was skipped. In the first update the
            last row has `changed_weights`, the fraction of weights that the update changed.

        Raises:
            OutOfMemoryError: a pass needs more memory than there is.
        """
        factor = self._schedule(updates)
        for group, rate in zip(self.optimizer.param_groups, self._learning_rates, strict=True):
            group["lr"] = rate * factor
        if not any(any(sequence.generated) for sequence in sequences):
            return []
        policy, settings = self.policy, self.settings
        # The behavior policy can differ from the trained one after the first of several steps, and
        # when an engine sampled. Otherwise the training pass itself gives its log-probabilities.
        moves = settings.minibatches > 1 and settings.objective.importance_sampling_level != "none"
        differs = moves or policy.sampler is not None
        changes = Changes(self.parameters) if updates == 0 else None
        try:
            if policy.recompute_logprobs and differs:
                sequences = self._recomputed(sequences)
            on_policy = policy.recompute_logprobs and not differs
            minibatches = settings.split(sequences, updates)
            rows = [self._step(minibatch, on_policy, changes) for minibatch in minibatches]
        except (MemoryError, RuntimeError) as error:
            refuse_memory(error, "learner.microbatch_tokens")
            raise
        fraction = changes.fraction(self._processes) if changes else None
        if fraction is not None:
            rows[-1]["changed_weights"] = fraction
        return rows

    def logprobs(self, sequences: Sequence[TokenSequence]) -> list[tuple[float, ...]]:
        """Return the log-probabilities of generated tokens under the present, whole weights.

        Each is (tokens,) long, and 0 where a token was not generated.
        """
        policy, tokens = self.policy, self.settings.microbatch_tokens
        with policy.computing():
            temperature = policy.sampling.temperature
            present = recomputed(policy.model, sequences, policy.pad_id, temperature, tokens)
        return [sequence.behavior_logprobs for sequence in present]

    def state_dict(self) -> dict[str, Any]:
        """Return weights (of an adapter alone), optimizer and reference; sharded as they are."""
        state = {"model": self.policy.weights(), "optimizer": self.optimizer.state_dict()}
        if self._reference is not None:
            state["reference"] = self.policy.weights(self._reference)
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`, with tensors whole or sharded."""
        shard_like = self._processes.shard_like
        parameters = [each for group in self.optimizer.param_groups for each in group["params"]]
        moments = {
            index: shard_like(values, dict.fromkeys(values, parameters[index]))
            for index, values in state["optimizer"]["state"].items()
        }
        self.optimizer.load_state_dict({**state["optimizer"], "state": moments})
        policy, reference = self.policy, self._reference
        policy.load_weights(shard_like(state["model"], policy.weights()))
        if reference is not None:
            sharded = shard_like(state["reference"], policy.weights(reference))
            policy.load_weights(sharded, reference)

    def _step(
        self, sequences: Sequence[TokenSequence], on_policy: bool, changes: Changes | None
    ) -> dict[str, float]:
        """Take one optimizer step; skip and count it if the loss or gradient is not finite.

        Sequences without a gradient count in the mean and are not computed. If none has one, the
        gradient is zero, which still decays weights and moments. Each of several processes computes
        a part of the sequences; all know the metrics of the whole.
        """
        objective, settings, processes = self.settings.objective, self.settings, self._processes
        self.optimizer.zero_grad(set_to_none=True)
        counts = len(sequences), max(sum(sum(each.generated) for each in sequences), 1)
        divisor = objective.divisor(*counts)
        learned = self._with_gradient(sequences)
        parts: list[Mapping[str, Tensor]] = []
        for part, factor in microbatches_of_rank(learned, settings.microbatch_tokens, processes):
            outputs = objective(self._inputs(part, counts, on_policy))
            (outputs.loss * factor).backward()  # type: ignore[no-untyped-call]
            if factor:
                parts.append(outputs.rows)
        if not learned:
            for parameter in self.parameters:
                parameter.grad = torch.zeros_like(parameter)
        if processes.count > 1:
            parts = processes.gather(parts)
            processes.sum_gradients(self.parameters)
        metrics = metrics_of(parts, divisor)
        metrics["sequences"] = float(sum(any(each.generated) for each in sequences))
        total: Any = clip_grad_norm_(self.parameters, settings.max_grad_norm)
        norm = float(total.full_tensor() if hasattr(total, "full_tensor") else total)
        if not (math.isfinite(norm) and math.isfinite(metrics["loss"])):
            return {"skipped_steps": 1.0}
        if changes is not None:
            changes.note_gradients()
        self.optimizer.step()
        rate = float(self.optimizer.param_groups[0]["lr"])
        return {**metrics, "grad_norm": norm, "learning_rate": rate, "steps": 1.0}

    def _inputs(
        self, sequences: Sequence[TokenSequence], counts: tuple[int, int], on_policy: bool
    ) -> LossInputs:
        """Compute the inputs of the objective for a microbatch, on the policy's device.

        `counts` are the sequences and generated tokens of the whole minibatch. With `on_policy` the
        behavior log-probabilities are those of this very pass.
        """
        policy, reference = self.policy, None
        batch = collate(sequences, policy.pad_id, policy.device)
        temperature = policy.sampling.temperature
        with policy.computing():
            if self._reference is not None:
                with torch.no_grad():
                    reference = current_logprobs(self._reference, batch, temperature)
            current = current_logprobs(policy.model, batch, temperature)
        rollout, weights = None, None
        if any(sequence.rollout_logprobs is not None for sequence in sequences):
            rollout, ratio = (
                batch.rollout_logprobs,
                self.settings.objective.importance_sampling_level,
            )
            weights = self.settings.correction.weights(
                batch.behavior_logprobs, rollout, batch.generated_mask, ratio
            )
        return LossInputs(
            current_logprobs=current,
            behavior_logprobs=current.detach() if on_policy else batch.behavior_logprobs,
            generated_mask=batch.generated_mask,
            advantages=batch.advantages,
            reference_logprobs=reference,
            rollout_logprobs=rollout,
            weights=weights,
            sequences=counts[0],
            tokens=counts[1],
        )

    def _with_gradient(self, sequences: Sequence[TokenSequence]) -> list[TokenSequence]:
        """Return the sequences whose gradient can differ from 0; masked ones cannot."""
        has_gradient = self.settings.objective.has_gradient
        return [
            each
            for each in sequences
            if any(each.generated) and (has_gradient(each.advantage) or any(each.token_advantages))
        ]

    def _recomputed(self, sequences: Sequence[TokenSequence]) -> list[TokenSequence]:
        """Recompute the behavior log-probabilities of sequences with a gradient in training passes.

        Those of an engine are kept apart. With sharded weights, which are gathered layer by layer,
        all processes make the same number of passes.
        """
        policy, processes = self.policy, self._processes
        max_tokens, temperature = self.settings.microbatch_tokens, policy.sampling.temperature
        keep_rollout = policy.sampler is not None
        learned = self._with_gradient(sequences)

        def recompute(part: Sequence[TokenSequence]) -> list[TokenSequence]:
            with policy.computing():
                return recomputed(
                    policy.model, part, policy.pad_id, temperature, max_tokens, keep_rollout
                )

        replacements: list[TokenSequence]
        if processes.sharded:
            place = {id(sequence): index for index, sequence in enumerate(learned)}
            pairs: list[tuple[int, TokenSequence]] = []
            for part, factor in microbatches_of_rank(learned, max_tokens, processes):
                results = recompute(part)
                if factor:
                    pairs += [(place[id(old)], new) for old, new in zip(part, results, strict=True)]
            replacements = [new for _, new in sorted(processes.gather(pairs), key=lambda p: p[0])]
        else:
            replacements = processes.map_sharded(
                conversations(learned),
                lambda groups: recompute([each for group in groups for each in group]),
            )
        by_identity = {id(old): new for old, new in zip(learned, replacements, strict=True)}
        return [by_identity.get(id(sequence), sequence) for sequence in sequences]


def microbatches_of_rank(
    sequences: Sequence[TokenSequence], max_tokens: int, processes: Processes
) -> list[tuple[list[TokenSequence], float]]:
    """Return this process's microbatches of a minibatch, with the factors of their losses.

    Rows of tokens are assigned by length, each with all of its sequences, so that processes have
    equal work. With sharded weights all processes must make the same number of passes: extra passes
    have the factor 0, and the factor of the others turns the mean of gradients into a sum.
    """
    if processes.count == 1:
        return [(part, 1.0) for part in microbatches(sequences, max_tokens)]
    rows = rows_of(sequences)
    by_rank = []
    for rank in range(processes.count):
        share = [sequences[index] for row in rows[rank :: processes.count] for index in row]
        by_rank.append(microbatches(share, max_tokens))
    own = by_rank[processes.rank]
    if not processes.sharded:
        return [(part, 1.0) for part in own]
    extra = [([sequences[row[0]]], 0.0) for row in rows[:1]] * (max(map(len, by_rank)) - len(own))
    return [(part, float(processes.count)) for part in own] + extra


class Changes:
    """Fraction of weights that an update changed; bfloat16 may round small steps to zero.

    Only weights for which some step had a gradient count. Others, such as the embeddings of words
    that did not occur, cannot change.
    """

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        """Store a sample of every tensor."""
        self._parameters = list(parameters)
        self._before = [_sample(parameter).clone() for parameter in self._parameters]
        self._moved = [torch.zeros_like(sample, dtype=torch.bool) for sample in self._before]

    def note_gradients(self) -> None:
        """Record which weights the next step has a gradient for."""
        for parameter, moved in zip(self._parameters, self._moved, strict=True):
            if parameter.grad is not None:
                moved |= _sample(parameter.grad) != 0

    def fraction(self, processes: Processes) -> float | None:
        """Return the fraction of those weights that changed; None if there are none."""
        changed = moved = 0.0
        for parameter, before, had in zip(self._parameters, self._before, self._moved, strict=True):
            changed += float(((_sample(parameter) != before) & had).sum())
            moved += float(had.sum())
        sums = processes.total({"changed": changed, "moved": moved})
        return sums["changed"] / sums["moved"] if sums["moved"] else None


def _sample(tensor: Tensor) -> Tensor:
    """Return evenly spaced entries of a tensor, or of this process's shard of it."""
    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor  # type: ignore[operator]
    flat = local.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // SAMPLED)]
