"""The way of an update: sequences with advantages in, optimiser steps, metrics out.

`Trainer.update` cuts the sequences of one policy into minibatches, an optimiser step each, and a
minibatch into microbatches, a forward and a backward pass each. The objective is evaluated once per
microbatch; its metrics are sums over sequences, of all microbatches and processes. Knows nothing of
where advantages come from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer
from transformers import PreTrainedModel

from laconic.envs.errors import SettingError
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.load import share_frozen
from laconic.learners.distributed.processes import ALONE, Processes
from laconic.learners.errors import memory_set_by
from laconic.learners.training.changes import Changes
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
from laconic.learners.training.settings import StepSettings

MakeOptimizer = Callable[..., Optimizer]
"""Called with parameters, and with the settings that a policy has of its own."""


@dataclass(frozen=True, slots=True)
class UpdateSettings(StepSettings):
    """How an update is cut into optimiser steps, and how large these are."""

    objective: Objective = Objective()
    """The loss."""
    correction: Correction = Correction()
    """What is done about an engine that sampled with other log-probabilities."""

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
            left = (last - updates) / (last - peak)
            return left if self.decay == "linear" else (1 - math.cos(math.pi * left)) / 2

        return factor

    def split(self, sequences: Sequence[TokenSequence], updates: int) -> list[list[TokenSequence]]:
        """Minibatches of about equal size in an order drawn from the seed and the updates done.

        The replies of a conversation stay together, because they share a row of tokens.
        """
        whole = conversations(sequences)
        drawn = np.random.default_rng((self.seed, updates)).permutation(len(whole))
        sizes = [len(whole[index]) for index in drawn]
        shares = np.array_split(np.arange(len(sequences)), min(self.minibatches, len(whole)) or 1)
        # A conversation belongs to the minibatch in whose share its first sequence would stand.
        first = np.cumsum(sizes) - sizes
        place = np.searchsorted(np.cumsum([len(one) for one in shares]), first, side="right")
        parts: list[list[TokenSequence]] = [[] for _ in shares]
        for index, part in zip(drawn, place, strict=True):
            parts[part] += whole[index]
        return [part for part in parts if part]


class Trainer:
    """One policy with its optimiser and, if there is a KL, the frozen copy it is measured from."""

    def __init__(
        self,
        policy: HFPolicy,
        agents: Collection[str],
        optimizer: MakeOptimizer,
        settings: UpdateSettings | None = None,
        processes: Processes = ALONE,
    ) -> None:
        """Make the optimiser and, with a KL, the reference: the policy as it is now.

        Args:
            policy: whose trainable parameters are trained.
            agents: who speaks by it.
            optimizer: makes an optimiser of parameters; the policy's own settings go before it.
            settings: how an update is made.
            processes: those that train it together. Weights are sharded if theirs are, but for
                adapters: their base is common to several, and stays whole.

        Raises:
            SettingError: the optimiser refuses the policy's own settings.
        """
        self.policy, self.agents = policy, tuple(agents)
        self.settings = settings or UpdateSettings()
        self._processes = processes
        self._reference: PreTrainedModel | None = None
        if self.settings.objective.kl > 0:
            self._reference = share_frozen(policy.model).requires_grad_(False)
        for model in (policy.model, self._reference):
            if model is not None and not policy.adapted:
                processes.shard(model, policy.precision.autocast)
        self.parameters = [one for one in policy.model.parameters() if one.requires_grad]
        try:
            self.optimizer = optimizer(self.parameters, **policy.optimizer)
        except (TypeError, ValueError) as error:
            if not policy.optimizer:
                raise
            raise SettingError(
                f"agent.optimizer has {dict(policy.optimizer)!r} for {', '.join(agents)}, which the"
                f" optimiser refuses: {error}"
            ) from error
        self._schedule = self.settings.schedule()
        self._learning_rates = [group["lr"] for group in self.optimizer.param_groups]

    def update(self, sequences: Sequence[TokenSequence], updates: int) -> list[dict[str, float]]:
        """Take the optimizer steps of one update; without generated tokens none.

        Args:
            sequences: with their advantages, of all processes, sampled by the policy as it is now.
            updates: done so far; the order of the sequences and the learning rate follow it.

        Returns:
            Metrics, one row per step: what the objective reports and `grad_norm`, the norm of the
            gradient before it was scaled; or that the step was skipped. In the first update the
            last row has `changed_weights`, the share of weights that it has changed.
        """
        factor = self._schedule(updates)
        for group, rate in zip(self.optimizer.param_groups, self._learning_rates, strict=True):
            group["lr"] = rate * factor
        if not any(any(sequence.generated) for sequence in sequences):
            return []
        changes = Changes(self.parameters) if updates == 0 else None
        with memory_set_by("learner.microbatch_tokens"):
            if self.policy.recompute_logprobs and self._moves_on:
                sequences = self._recomputed(sequences)
            rows = [self._step(one, changes) for one in self.settings.split(sequences, updates)]
        share = changes.share(self._processes) if changes else None
        return [*rows[:-1], {**rows[-1], "changed_weights": share}] if share is not None else rows

    def state_dict(self) -> dict[str, Any]:
        """Weights (of an adapter it alone), optimiser and reference; shards where they are such."""
        state = {"model": self.policy.weights(), "optimizer": self.optimizer.state_dict()}
        if self._reference is not None:
            state["reference"] = self.policy.weights(self._reference)
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`, with tensors whole or sharded."""
        shard_like = self._processes.shard_like
        own = [one for group in self.optimizer.param_groups for one in group["params"]]
        moments = {
            index: shard_like(values, dict.fromkeys(values, own[index]))
            for index, values in state["optimizer"]["state"].items()
        }
        self.optimizer.load_state_dict({**state["optimizer"], "state": moments})
        policy, reference = self.policy, self._reference
        policy.load_weights(shard_like(state["model"], policy.weights()))
        if reference is not None:
            sharded = shard_like(state["reference"], policy.weights(reference))
            policy.load_weights(sharded, reference)

    def _step(
        self, sequences: Sequence[TokenSequence], changes: Changes | None = None
    ) -> dict[str, float]:
        """One optimiser step; one whose loss or gradient is not finite is skipped and counted.

        Sequences that teach nothing count in the mean and are not computed; a step without others
        has a gradient of zero, which still lets weights decay and moments fade. Of several
        processes each sees to a part of the sequences, and all know the whole outcome.
        """
        objective, processes = self.settings.objective, self._processes
        self.optimizer.zero_grad(set_to_none=True)
        divisor = objective.divisor(len(sequences), sum(sum(one.generated) for one in sequences))
        learned = [one for one in sequences if self._teaches(one)]
        parts: list[Mapping[str, Tensor]] = []
        for microbatch, factor in dealt(learned, self.settings.microbatch_tokens, processes):
            outputs = objective(self._inputs(microbatch, divisor))
            (outputs.loss * factor).backward()  # type: ignore[no-untyped-call]
            if factor:
                parts.append(outputs.rows)
        if not learned:
            for one in self.parameters:
                one.grad = torch.zeros_like(one)
        metrics = metrics_of(processes.gather(parts), divisor)
        metrics["sequences"] = float(sum(any(one.generated) for one in sequences))
        norm = processes.clip(self.parameters, self.settings.max_grad_norm)
        if not (math.isfinite(norm) and math.isfinite(metrics["loss"])):
            return {"skipped_steps": 1.0}
        if changes is not None:
            changes.note_gradients()
        self.optimizer.step()
        rate = float(self.optimizer.param_groups[0]["lr"])
        return {**metrics, "grad_norm": norm, "learning_rate": rate, "steps": 1.0}

    def _inputs(self, sequences: Sequence[TokenSequence], divisor: float) -> LossInputs:
        """What the objective needs to know of a microbatch, on the policy's device."""
        policy, reference = self.policy, None
        batch = collate(sequences, policy.pad_id).to(policy.device)
        temperature = policy.speech.temperature
        # Of a policy that has not moved yet this pass is the one that would be computed again.
        own = self._moves_on or not policy.recompute_logprobs
        with policy.computing():
            if self._reference is not None:
                with torch.no_grad():
                    reference = current_logprobs(self._reference, batch, temperature)
            current = current_logprobs(policy.model, batch, temperature)
        rollout, weights = None, None
        if any(one.rollout_logprobs is not None for one in sequences):
            rollout, ratio = batch.rollout_logprobs, self.settings.objective.ratio
            weights = self.settings.correction.weights(
                batch.behaviour_logprobs, rollout, batch.generated_mask, ratio
            )
        return LossInputs(
            current_logprobs=current,
            behaviour_logprobs=batch.behaviour_logprobs if own else current.detach(),
            generated_mask=batch.generated_mask,
            advantages=batch.advantages,
            reference_logprobs=reference,
            rollout_logprobs=rollout,
            weights=weights,
            divisor=divisor,
        )

    def _teaches(self, sequence: TokenSequence) -> bool:
        """Return whether a sequence can have a gradient other than 0; a masked one has none."""
        return self.settings.objective.teaches(sequence.advantage) and any(sequence.generated)

    @property
    def _moves_on(self) -> bool:
        """Whether an update is told of a policy other than the one it computes.

        Its own from before the first of several steps, or the one that an engine sampled with.
        """
        several = self.settings.minibatches > 1 and self.settings.objective.ratio != "none"
        return several or self.policy.sampler is not None

    def _recomputed(self, sequences: Sequence[TokenSequence]) -> list[TokenSequence]:
        """The sequences; behaviour of those that teach anything is that of a training pass.

        What an engine gave them is kept apart. Weights in parts come together for a layer at a
        time: each process makes as many passes as the others.
        """
        policy, processes = self.policy, self._processes
        max_tokens, temperature = self.settings.microbatch_tokens, policy.speech.temperature
        apart = policy.sampler is not None
        taught = [one for one in sequences if self._teaches(one)]

        def again(own: Sequence[TokenSequence]) -> list[TokenSequence]:
            with policy.computing():
                return recomputed(policy.model, own, policy.pad_id, temperature, max_tokens, apart)

        if processes.sharded:
            place = {id(one): index for index, one in enumerate(taught)}
            found: list[tuple[int, TokenSequence]] = []
            for part, factor in dealt(taught, max_tokens, processes):
                new = again(part)
                if factor:
                    found += [(place[id(old)], one) for old, one in zip(part, new, strict=True)]
            made = iter([one for _, one in sorted(processes.gather(found), key=_first)])
        else:
            made = iter(
                processes.map_sharded(
                    conversations(taught), lambda own: again([one for each in own for one in each])
                )
            )
        return [next(made) if self._teaches(one) else one for one in sequences]


def _first(pair: tuple[int, TokenSequence]) -> int:
    return pair[0]


def dealt(
    sequences: Sequence[TokenSequence], max_tokens: int, processes: Processes
) -> list[tuple[list[TokenSequence], float]]:
    """The microbatches of this process out of a minibatch of all, with the factors of their losses.

    Rows of tokens are dealt out by length, each with all sequences that are read off it, so that
    each process has as many as others, and as long ones. Where weights are sharded all processes
    make the same number of passes, of which those that only keep step have the factor 0, and the
    sum of gradients is made out of their mean.
    """
    if processes.count == 1:
        return [(part, 1.0) for part in microbatches(sequences, max_tokens)]
    rows = rows_of(sequences)
    shares = []
    for rank in range(processes.count):
        given = [sequences[index] for row in rows[rank :: processes.count] for index in row]
        shares.append(microbatches(given, max_tokens))
    own = shares[processes.rank]
    if not processes.sharded:
        return [(part, 1.0) for part in own]
    idle = [([sequences[row[0]]], 0.0) for row in rows[:1]] * (max(map(len, shares)) - len(own))
    return [(part, float(processes.count)) for part in own] + idle
