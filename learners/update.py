"""The learner: groups of episodes in, better policies and metrics out.

Any other algorithm takes its place by having `update(groups) -> metrics`, and `state_dict` and
`load_state_dict` if its runs are to be resumed. This one is put together from parts: credit,
advantages, objective and what a sequence covers; several minibatches per rollout make the
importance ratio and its clipping act. Log-probabilities of the behaviour policy come with the
episodes and are never computed again.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer
from transformers import PreTrainedModel

from envs.errors import SettingError
from learners.advantages import Advantages
from learners.agents.hf import HFPolicy
from learners.credit import credit as credit_named
from learners.episode import Group
from learners.logprobs import current_logprobs
from learners.microbatches import joined, microbatches, over_steps
from learners.objective import LossInputs, Objective
from learners.price import Fixed, Price
from learners.rollout import Collector, collect
from learners.sequences import Batch, TokenSequence, Unit, check_unit, collate, sequences_of

MakeOptimizer = Callable[[Iterable[Tensor]], Optimizer]


class Learner(Protocol):
    """What a training loop asks of an algorithm; it is made as `learner(policies, optimizer)`."""

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Learn from groups of episodes sampled by the present policies; return metrics."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """What an algorithm has besides, if its runs are to be checkpointed and resumed."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs, the weights of the policies among it."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from such a state."""
        ...


class GroupLearner:
    """Group-relative policy optimisation: GSPO, and every method made of the same parts."""

    def __init__(
        self,
        policies: Mapping[str, HFPolicy],
        optimizer: MakeOptimizer,
        *,
        credit: str = "own",
        advantages: Advantages | None = None,
        objective: Objective | None = None,
        unit: Unit = "episode",
        price: Price | None = None,
        collect: Collector = collect,
        decay_updates: int | None = None,
        minibatches: int = 4,
        max_grad_norm: float = 1.0,
        microbatch_tokens: int = 16384,
        seed: int = 0,
    ) -> None:
        """Check the settings and make one optimiser per policy.

        Args:
            policies: who speaks for each agent; equal objects share weights.
            optimizer: makes an optimiser of a policy's parameters.
            credit: name of the pay of an agent and round (`learners.credit`).
            advantages: how sequences are compared.
            objective: the loss.
            unit: what a sequence covers, `episode` or `reply`.
            price: how the price of a token moves; the training loop asks it before each rollout.
            collect: plays the groups; the training loop calls it.
            decay_updates: the learning rate falls on a straight line to 0 over so many updates;
                None and 0 keep it.
            minibatches: optimiser steps per policy and update.
            max_grad_norm: gradients are scaled down to this norm.
            microbatch_tokens: most tokens, padding included, of one forward pass.
            seed: of the order in which sequences enter the minibatches.

        Raises:
            SettingError: a setting is out of range.
        """
        _check_count("minibatches", minibatches, 1)
        _check_count("microbatch_tokens", microbatch_tokens, 1)
        if decay_updates is not None:
            _check_count("decay_updates", decay_updates, 0)
        if not max_grad_norm > 0:
            raise SettingError(f"learner.max_grad_norm must be above 0; got {max_grad_norm!r}")
        self.price = price or Fixed()
        self.collect = collect
        self._advantages = advantages or Advantages()
        self._objective = objective or Objective()
        check_unit(unit, self._advantages)
        self._credit = credit_named(credit)
        self._unit: Unit = unit
        self._decay_updates = decay_updates
        self._minibatches = minibatches
        self._max_grad_norm = max_grad_norm
        self._microbatch_tokens = microbatch_tokens
        self._seed = seed
        self._updates = 0
        needs_reference = self._objective.kl > 0
        self._trainers = [
            _Trainer(policy, agents, optimizer, needs_reference)
            for policy, agents in _by_policy(policies)
        ]

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Take `minibatches` optimiser steps with each policy.

        Args:
            groups: episodes sampled by the present policies.

        Returns:
            Means over the steps taken of what the objective reports (of ratios also the extremes)
            and of the gradient norm before clipping; counts of sequences and of steps taken and
            skipped. Several policies count as one. Without sequences, the counts of steps alone.
        """
        rows: list[dict[str, float]] = []
        for trainer in self._trainers:
            trainer.scale_learning_rate(self._learning_rate_factor())
            sequences = [
                sequence for group in groups for sequence in self.sequences(group, trainer.agents)
            ]
            rows += [self._step(trainer, part) for part in self.split(sequences)]
        self._updates += 1
        return over_steps(rows)

    def _learning_rate_factor(self) -> float:
        if not self._decay_updates:
            return 1.0
        return max(0.0, 1.0 - self._updates / self._decay_updates)

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimiser states and the number of updates."""
        return {
            "updates": self._updates,
            "trainers": [trainer.state_dict() for trainer in self._trainers],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self._updates = state["updates"]
        for trainer, saved in zip(self._trainers, state["trainers"], strict=True):
            trainer.load_state_dict(saved)

    def sequences(
        self, group: Group, agents: Collection[str] | None = None
    ) -> tuple[TokenSequence, ...]:
        """The sequences of a group with their advantages; None for those of all agents."""
        return sequences_of(
            group,
            credit=self._credit,
            advantages=self._advantages,
            unit=self._unit,
            agents=agents,
        )

    def split(self, sequences: Sequence[TokenSequence]) -> list[list[TokenSequence]]:
        """Minibatches of about equal size in an order drawn from the seed and the update."""
        order = np.random.default_rng((self._seed, self._updates)).permutation(len(sequences))
        parts = np.array_split(order, min(self._minibatches, len(sequences)) or 1)
        return [[sequences[index] for index in part] for part in parts if len(part)]

    def _step(self, trainer: _Trainer, sequences: Sequence[TokenSequence]) -> dict[str, float]:
        """One optimiser step; one whose loss or gradient is not finite is skipped and counted."""
        trainer.optimizer.zero_grad(set_to_none=True)
        divisor = self._divisor(sequences)
        parts = []
        for part in microbatches(sequences, self._microbatch_tokens):
            batch = collate(part, trainer.policy.pad_id).to(trainer.policy.device)
            inputs = trainer.inputs(batch, divisor)
            self._objective(inputs).loss.backward()  # type: ignore[no-untyped-call]
            parts.append(inputs)
        metrics = self._objective(joined(parts)).metrics
        norm = float(torch.nn.utils.clip_grad_norm_(trainer.parameters, self._max_grad_norm))
        if not (math.isfinite(norm) and math.isfinite(metrics["loss"])):
            return {"skipped_steps": 1.0}
        trainer.optimizer.step()
        return {**metrics, "grad_norm": norm, "steps": 1.0}

    def _divisor(self, sequences: Sequence[TokenSequence]) -> float:
        if self._objective.average == "sequence":
            return float(len(sequences))
        return float(max(sum(sum(sequence.generated) for sequence in sequences), 1))


class _Trainer:
    """One policy with its optimiser and, if asked for, the frozen copy its KL is measured from."""

    def __init__(
        self,
        policy: HFPolicy,
        agents: Collection[str],
        optimizer: MakeOptimizer,
        needs_reference: bool,
    ) -> None:
        self.policy = policy
        self.agents = agents
        self.parameters = [p for p in policy.model.parameters() if p.requires_grad]
        self.optimizer = optimizer(self.parameters)
        self._learning_rates = [group["lr"] for group in self.optimizer.param_groups]
        self._reference: PreTrainedModel | None = None
        if needs_reference:
            self._reference = copy.deepcopy(policy.model).requires_grad_(False)

    def scale_learning_rate(self, factor: float) -> None:
        for group, rate in zip(self.optimizer.param_groups, self._learning_rates, strict=True):
            group["lr"] = rate * factor

    def inputs(self, batch: Batch, divisor: float) -> LossInputs:
        temperature = self.policy.speech.temperature
        reference = None
        if self._reference is not None:
            with torch.no_grad():
                reference = current_logprobs(self._reference, batch, temperature)
        return LossInputs(
            current_logprobs=current_logprobs(self.policy.model, batch, temperature),
            behaviour_logprobs=batch.behaviour_logprobs,
            generated_mask=batch.generated_mask,
            advantages=batch.advantages,
            reference_logprobs=reference,
            divisor=divisor,
        )

    def state_dict(self) -> dict[str, Any]:
        state = {
            "model": self.policy.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        if self._reference is not None:
            state["reference"] = self._reference.state_dict()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.policy.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self._reference is not None:
            self._reference.load_state_dict(state["reference"])


def _check_count(name: str, count: object, least: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < least:
        raise SettingError(
            f"learner.{name} must be a whole number of at least {least}; got {count!r}"
        )


def _by_policy(policies: Mapping[str, HFPolicy]) -> list[tuple[HFPolicy, tuple[str, ...]]]:
    found: dict[int, tuple[HFPolicy, list[str]]] = {}
    for agent, policy in policies.items():
        if not isinstance(policy, HFPolicy):
            raise SettingError(
                f"agent {agent!r} speaks by {type(policy).__name__}, which has no weights to train;"
                " choose agent=tiny or agent=hf"
            )
        found.setdefault(id(policy), (policy, []))[1].append(agent)
    return [(policy, tuple(agents)) for policy, agents in found.values()]
