"""What a training loop asks of an algorithm, and what learners that train policies have in common.

`Learner` is all that the loop may ask, with a default for everything but `update`. Any class with
`update(groups) -> metrics` takes its place: `as_learner` gives it the defaults it lacks.
`PolicyLearner` is the base of the suite's own: a trainer for each set of weights, several optimiser
steps per update, a price, and a collector.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from laconic.learners.advantages.credit import credit as credit_named
from laconic.learners.agents.base import Policy
from laconic.learners.distributed.processes import ALONE, Processes
from laconic.learners.episode import Group, Turn
from laconic.learners.prices.schedule import Fixed, Price
from laconic.learners.rollout.collectors.base import Collector, Independent, as_collector
from laconic.learners.rollout.collectors.measures import collector_for
from laconic.learners.rollout.play import Collector as PlaysGroups
from laconic.learners.rollout.play import collect
from laconic.learners.training.objective import Objective
from laconic.learners.training.sequences import TokenSequence, Unit
from laconic.learners.training.trainer import (
    MakeOptimizer,
    Trainer,
    UpdateSettings,
    trainers_of,
)


@runtime_checkable
class Resumable(Protocol):
    """What a part has if a resumed run is to go on from its state."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs, the weights of policies among it."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from such a state."""
        ...


@runtime_checkable
class Learner(Protocol):
    """What a training loop asks of an algorithm; it is made as `learner(policies, optimizer)`."""

    price: Price = Fixed()
    """How the price of a token moves; asked before each rollout and told of it afterwards."""
    collector: Collector = Independent()
    """Plays the groups of a step."""
    resumable: bool = False
    """Whether `state_dict` holds all that a resumed run needs."""

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Learn from groups of episodes sampled by the present policies; return metrics."""
        ...

    @property
    def name(self) -> str:
        """The name of the algorithm, for messages."""
        return type(self).__name__

    def check(self, group_size: int) -> None:
        """Refuse groups of so many episodes, before any is played.

        Raises:
            SettingError: says what to change.
        """
        return None

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs, the weights of the policies among it."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from such a state."""
        return None


class Adapted(Learner):
    """A learner of a user's own, with the default for everything that it does not have.

    Args:
        learner: it has `update`; `price`, `collect`, `check`, `state_dict` and `load_state_dict`
            are used where there are any.
    """

    def __init__(self, learner: Any) -> None:
        """Take over what there is."""
        self.learner = learner
        self.resumable = isinstance(learner, Resumable)
        for name in ("price", "check", "state_dict", "load_state_dict"):
            if hasattr(learner, name):
                setattr(self, name, getattr(learner, name))
        if hasattr(learner, "collect"):
            self.collector = as_collector(learner.collect)

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Learn from groups of episodes."""
        metrics: dict[str, float] = self.learner.update(groups)
        return metrics

    @property
    def name(self) -> str:
        """The name of the user's class."""
        return type(self.learner).__name__


def as_learner(found: Any) -> Learner:
    """A `Learner` of anything with `update`; one that is complete is returned as it is."""
    return found if isinstance(found, Learner) else Adapted(found)


def without_truncated(groups: Sequence[Group]) -> list[Group]:
    """Groups in which replies that were stopped by their limit are context that no loss touches."""

    def context(turn: Turn) -> Turn:
        return replace(turn, trained=False) if turn.truncated else turn

    return [
        replace(
            group,
            episodes=tuple(
                replace(one, turns=tuple(map(context, one.turns))) for one in group.episodes
            ),
        )
        for group in groups
    ]


class PolicyLearner(Learner):
    """A learner that takes optimiser steps with policies on sequences that have advantages."""

    resumable = True

    def __init__(
        self,
        policies: Mapping[str, Policy],
        optimizer: MakeOptimizer,
        *,
        credit: str = "own",
        unit: Unit = "episode",
        objective: Objective | None = None,
        price: Price | None = None,
        collect: PlaysGroups = collect,
        warmup_updates: int = 0,
        decay_updates: int | None = None,
        minibatches: int = 4,
        max_grad_norm: float = 1.0,
        microbatch_tokens: int = 16384,
        mask_truncated: bool = False,
        seed: int = 0,
        processes: Processes = ALONE,
    ) -> None:
        """Check the settings and make one optimiser per policy.

        Args:
            policies: who speaks for each agent; equal objects share weights.
            optimizer: makes an optimiser of a policy's parameters.
            credit: name of the credit of an agent and round (`learners.advantages.credit`).
            unit: what a sequence covers, `episode` or `reply`.
            objective: the loss.
            price: how the price of a token moves.
            collect: plays the groups. A counterfactual credit adds what measures it.
            warmup_updates: see `UpdateSettings`, as for the five below.
            decay_updates: updates after which the learning rate is 0; None and 0 keep it.
            minibatches: optimiser steps per policy and update.
            max_grad_norm: gradients are scaled down to this norm.
            microbatch_tokens: most tokens, padding included, of one forward pass.
            mask_truncated: leave replies that their limit stopped out of the loss; what an agent
                says after one still counts (`overlong filtering` of DAPO, arXiv 2503.14476).
            seed: of the order in which sequences enter the minibatches.
            processes: those that learn together; each is given the groups of all.

        Raises:
            SettingError: a setting is out of range.
        """
        self.price = price or Fixed()
        self.collector = collector_for(collect, credit, unit)
        self._credit = credit_named(credit)
        self._unit: Unit = unit
        self._updates = 0
        self._processes = processes
        self._mask_truncated = mask_truncated
        self._settings = UpdateSettings(
            objective or Objective(),
            minibatches,
            microbatch_tokens,
            max_grad_norm,
            warmup_updates,
            decay_updates,
            seed,
        )
        self._trainers = trainers_of(policies, optimizer, self._settings, processes)

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
        metrics = self._learn(without_truncated(groups) if self._mask_truncated else groups)
        self._updates += 1
        return {**metrics, **self._processes.total(self.collector.metrics)}

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
            # Earlier versions kept no state of collectors that remember nothing.
            part.load_state_dict(state.get(name, {}))

    def split(self, sequences: Sequence[TokenSequence]) -> list[list[TokenSequence]]:
        """The minibatches that the next update would make of some sequences."""
        return self._settings.split(sequences, self._updates)

    def _take(self, trainer: Trainer, sequences: Sequence[TokenSequence]) -> list[dict[str, float]]:
        """The steps of one policy, one row of metrics each; of several, its own norm by name."""
        rows = trainer.update(sequences, self._updates)
        if len(self._trainers) > 1:
            name = f"grad_norm/{'+'.join(trainer.agents)}"
            rows = [row | ({name: row["grad_norm"]} if "grad_norm" in row else {}) for row in rows]
        return rows

    def _parts(self) -> dict[str, Resumable]:
        return {"price": self.price, "collect": self.collector, **self._memory()}
