"""What a training loop asks of an algorithm, and what learners that train policies have in common.

Any algorithm takes its place by having `update(groups) -> metrics`, and `state_dict` and
`load_state_dict` if its runs are to be resumed. `PolicyLearner` is the base of the suite's own: a
trainer for each set of weights, several optimiser steps per update, a price, and a collector.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from laconic.learners.advantages.credit import credit as credit_named
from laconic.learners.agents.base import Policy
from laconic.learners.distributed.processes import ALONE, Processes
from laconic.learners.episode import Group
from laconic.learners.prices.schedule import Fixed, Price
from laconic.learners.rollout.collectors.measures import collector_for
from laconic.learners.rollout.play import Collector, collect
from laconic.learners.training.objective import Objective
from laconic.learners.training.sequences import TokenSequence, Unit
from laconic.learners.training.steps import Steps, named
from laconic.learners.training.trainer import MakeOptimizer, Trainer, trainers_of


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


class PolicyLearner(ABC):
    """A learner that takes optimiser steps with policies on sequences that have advantages."""

    def __init__(
        self,
        policies: Mapping[str, Policy],
        optimizer: MakeOptimizer,
        *,
        credit: str = "own",
        unit: Unit = "episode",
        objective: Objective | None = None,
        price: Price | None = None,
        collect: Collector = collect,
        decay_updates: int | None = None,
        minibatches: int = 4,
        max_grad_norm: float = 1.0,
        microbatch_tokens: int = 16384,
        seed: int = 0,
        processes: Processes = ALONE,
    ) -> None:
        """Check the settings and make one optimiser per policy.

        Args:
            policies: who speaks for each agent; equal objects share weights.
            optimizer: makes an optimiser of a policy's parameters.
            credit: name of the pay of an agent and round (`learners.advantages.credit`).
            unit: what a sequence covers, `episode` or `reply`.
            objective: the loss.
            price: how the price of a token moves; the training loop asks it before each rollout.
            collect: plays the groups; the training loop calls it. A credit that pays by the worth
                of messages adds what measures it.
            decay_updates: the learning rate falls on a straight line to 0 over so many updates;
                None and 0 keep it.
            minibatches: optimiser steps per policy and update.
            max_grad_norm: gradients are scaled down to this norm.
            microbatch_tokens: most tokens, padding included, of one forward pass.
            seed: of the order in which sequences enter the minibatches.
            processes: those that learn together; each is given the groups of all.

        Raises:
            SettingError: a setting is out of range.
        """
        self._steps = Steps(
            objective=objective or Objective(),
            decay_updates=decay_updates,
            minibatches=minibatches,
            max_grad_norm=max_grad_norm,
            microbatch_tokens=microbatch_tokens,
            seed=seed,
            processes=processes,
        )
        self.price = price or Fixed()
        self.collect = collector_for(collect, credit, unit)
        self._credit = credit_named(credit)
        self._unit: Unit = unit
        self._updates = 0
        self._processes = processes
        needs_reference = self._steps.objective.kl > 0
        self._trainers = trainers_of(policies, optimizer, needs_reference, processes)

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Take `minibatches` optimiser steps with each policy.

        Args:
            groups: episodes sampled by the present policies.

        Returns:
            Means over the steps taken of what the objective reports (of ratios also the extremes)
            and of the gradient norm before clipping; counts of sequences and of steps taken and
            skipped; what the collector counted. Several policies count as one, and the norm is
            there for each of them too, as `grad_norm/<agents>`. Without sequences, the counts of
            steps alone.
        """
        metrics = self._learn(groups)
        self._updates += 1
        return {**metrics, **self._processes.total(getattr(self.collect, "metrics", {}))}

    @abstractmethod
    def _learn(self, groups: Sequence[Group]) -> dict[str, float]:
        """Give the sequences of the groups their advantages, and take the steps."""

    @abstractmethod
    def _memory(self) -> Mapping[str, Resumable]:
        """What this kind of learner remembers besides, by the name it has in a checkpoint."""

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimiser states, the number of updates, and what the parts remember."""
        return {
            "updates": self._updates,
            "trainers": [trainer.state_dict() for trainer in self._trainers],
            **{name: part.state_dict() for name, part in self._parts().items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self._updates = state["updates"]
        for trainer, saved in zip(self._trainers, state["trainers"], strict=True):
            trainer.load_state_dict(saved)
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def split(self, sequences: Sequence[TokenSequence]) -> list[list[TokenSequence]]:
        """The minibatches that the next update would make of some sequences."""
        return self._steps.split(sequences, self._updates)

    def _take(self, trainer: Trainer, sequences: Sequence[TokenSequence]) -> list[dict[str, float]]:
        """The steps of one policy, one row of metrics each."""
        rows = self._steps.take(trainer, sequences, self._updates)
        return rows if len(self._trainers) == 1 else named(rows, trainer.agents)

    def _parts(self) -> dict[str, Resumable]:
        collector = {"collect": self.collect} if isinstance(self.collect, Resumable) else {}
        return {"price": self.price, **collector, **self._memory()}
