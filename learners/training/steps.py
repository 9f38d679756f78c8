"""The optimiser steps of one update: their learning rate, their minibatches, and which are skipped.

What learners that differ in their advantages have in common. Knows sequences with advantages and a
policy on its way through an update; where the advantages come from is not its business.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from laconic.envs.errors import SettingError
from laconic.learners.distributed.processes import ALONE, Processes
from laconic.learners.training.microbatches import joined, of_all, passes
from laconic.learners.training.objective import Objective
from laconic.learners.training.sequences import TokenSequence, collate
from laconic.learners.training.trainer import Trainer


@dataclass(frozen=True, slots=True)
class Steps:
    """How an update is cut into optimiser steps."""

    objective: Objective = field(default_factory=Objective)
    """The loss."""
    decay_updates: int | None = None
    """The learning rate falls on a straight line to 0 over so many updates; None and 0 keep it."""
    minibatches: int = 4
    """Optimiser steps per policy and update."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""
    microbatch_tokens: int = 16384
    """Most tokens, padding included, of one forward pass."""
    seed: int = 0
    """Of the order in which sequences enter the minibatches."""
    processes: Processes = ALONE
    """Those that take the steps together."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            SettingError: a setting is out of range.
        """
        check_count("minibatches", self.minibatches, 1)
        check_count("microbatch_tokens", self.microbatch_tokens, 1)
        if self.decay_updates is not None:
            check_count("decay_updates", self.decay_updates, 0)
        if not self.max_grad_norm > 0:
            raise SettingError(f"learner.max_grad_norm must be above 0; got {self.max_grad_norm!r}")

    def take(
        self, trainer: Trainer, sequences: Sequence[TokenSequence], updates: int
    ) -> list[dict[str, float]]:
        """Take all steps of one policy in one update.

        Args:
            trainer: of the policy that sampled the sequences and has not moved since.
            sequences: with their advantages, of all processes; none take no step.
            updates: done so far.

        Returns:
            Per step what the objective reports and the norm of the gradient before it was scaled,
            or that the step was skipped; for `learners.training.microbatches.over_steps`.
        """
        trainer.scale_learning_rate(self._learning_rate_factor(updates))
        ready = trainer.prepare(sequences, self.microbatch_tokens)
        return [self.step(trainer, part) for part in self.split(ready, updates)]

    def split(self, sequences: Sequence[TokenSequence], updates: int) -> list[list[TokenSequence]]:
        """Minibatches of about equal size in an order drawn from the seed and the update."""
        order = np.random.default_rng((self.seed, updates)).permutation(len(sequences))
        parts = np.array_split(order, min(self.minibatches, len(sequences)) or 1)
        return [[sequences[index] for index in part] for part in parts if len(part)]

    def step(self, trainer: Trainer, sequences: Sequence[TokenSequence]) -> dict[str, float]:
        """One optimiser step; one whose loss or gradient is not finite is skipped and counted.

        Of several processes each sees to a part of the sequences, and all know the whole outcome.
        """
        trainer.optimizer.zero_grad(set_to_none=True)
        tokens = sum(sum(one.generated) for one in sequences)
        divisor = self.objective.divisor(len(sequences), tokens)
        parts = []
        for part, factor in passes(sequences, self.microbatch_tokens, self.processes):
            batch = collate(part, trainer.policy.pad_id).to(trainer.policy.device)
            inputs = trainer.inputs(batch, divisor)
            (self.objective(inputs).loss * factor).backward()
            if factor:
                parts.append(inputs)
        metrics = self.objective(joined(of_all(parts, self.processes))).metrics
        norm = self.processes.clip(trainer.parameters, self.max_grad_norm)
        if not (math.isfinite(norm) and math.isfinite(metrics["loss"])):
            return {"skipped_steps": 1.0}
        trainer.optimizer.step()
        return {**metrics, "grad_norm": norm, "steps": 1.0}

    def _learning_rate_factor(self, updates: int) -> float:
        if not self.decay_updates:
            return 1.0
        return max(0.0, 1.0 - updates / self.decay_updates)


def named(rows: Sequence[Mapping[str, float]], agents: Collection[str]) -> list[dict[str, float]]:
    """Rows of one of several policies, with its gradient norm under the names of its agents too."""
    name = f"grad_norm/{'+'.join(agents)}"
    return [{**row, name: row["grad_norm"]} if "grad_norm" in row else dict(row) for row in rows]


def check_count(name: str, count: object, least: int) -> None:
    """Refuse a setting of a learner that is no whole number or too small.

    Args:
        name: the setting's key below `learner`.
        count: what it was set to.
        least: the smallest it may be.

    Raises:
        SettingError: names the key and its value.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < least:
        raise SettingError(
            f"learner.{name} must be a whole number of at least {least}; got {count!r}"
        )
