"""The learner: groups of episodes in, better policies and metrics out.

Any other algorithm takes its place by having `update(groups) -> metrics`, and `state_dict` and
`load_state_dict` if its runs are to be resumed. This one is put together from parts: credit,
advantages, objective and what a sequence covers; several minibatches per rollout make the
importance ratio and its clipping act. Log-probabilities of the behaviour policy come with the
episodes; a policy whose sampling and training passes differ may have them computed again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from envs.errors import SettingError
from learners.advantages import Advantages
from learners.agents.hf import HFPolicy
from learners.collectors.measures import fitted
from learners.credit import credit as credit_named
from learners.episode import Group
from learners.estimator import Estimator
from learners.microbatches import over_steps
from learners.objective import Objective
from learners.price import Fixed, Price
from learners.rollout import Collector, collect
from learners.sequences import TokenSequence, Unit, check_unit, sequences_of
from learners.steps import Steps, named
from learners.trainer import MakeOptimizer, Trainer, trainers_of
from learners.whitening import whitened


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
        advantages: Estimator | None = None,
        whiten: bool = False,
        objective: Objective | None = None,
        unit: Unit = "episode",
        sharing: str | None = None,
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
            whiten: bring the advantages of an update to mean 0 and variance 1 over its tokens.
            objective: the loss.
            unit: what a sequence covers, `episode` or `reply`.
            sharing: `separate` if the method is one of several agents with a policy each; other
                values and None ask for nothing.
            price: how the price of a token moves; the training loop asks it before each rollout.
            collect: plays the groups; the training loop calls it. A credit that pays by the worth
                of messages adds what measures it.
            decay_updates: the learning rate falls on a straight line to 0 over so many updates;
                None and 0 keep it.
            minibatches: optimiser steps per policy and update.
            max_grad_norm: gradients are scaled down to this norm.
            microbatch_tokens: most tokens, padding included, of one forward pass.
            seed: of the order in which sequences enter the minibatches.

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
        )
        self.price = price or Fixed()
        self.collect = fitted(collect, credit, unit)
        self._advantages = advantages or Advantages()
        check_unit(unit, self._advantages)
        self._whiten = whiten
        self._members = getattr(collect, "members", int)
        self._credit = credit_named(credit)
        self._unit: Unit = unit
        self._updates = 0
        self._trainers = trainers_of(policies, optimizer, self._steps.objective.kl > 0)
        if sharing == "separate":
            _check_separate(policies, self._trainers)

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Take `minibatches` optimiser steps with each policy.

        Args:
            groups: episodes sampled by the present policies.

        Returns:
            Means over the steps taken of what the objective reports (of ratios also the extremes)
            and of the gradient norm before clipping; counts of sequences and of steps taken and
            skipped. Several policies count as one, and the norm is there for each of them too, as
            `grad_norm/<agents>`. Without sequences, the counts of steps alone.
        """
        rows: list[dict[str, float]] = []
        learned: list[TokenSequence] = []
        for trainer in self._trainers:
            sequences = [
                sequence for group in groups for sequence in self.sequences(group, trainer.agents)
            ]
            learned += sequences
            if self._whiten:
                sequences = whitened(sequences)
            taken = self._steps.take(trainer, sequences, self._updates)
            rows += taken if len(self._trainers) == 1 else named(taken, trainer.agents)
        self._advantages.observe([one.pay for one in learned], [one.key for one in learned])
        self._updates += 1
        return {**over_steps(rows), **getattr(self.collect, "metrics", {})}

    def check(self, group_size: int) -> None:
        """Refuse groups that this learner could not compare, before any is played.

        Args:
            group_size: episodes of each task that the training loop asks for.

        Raises:
            SettingError: says what to change.
        """
        for trainer in self._trainers:
            self._advantages.check(self._members(group_size), len(trainer.agents))

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimiser states, the number of updates, and what the collector remembers."""
        return {
            "updates": self._updates,
            "collect": getattr(self.collect, "state_dict", dict)(),
            "price": self.price.state_dict(),
            "advantages": self._advantages.state_dict(),
            "trainers": [trainer.state_dict() for trainer in self._trainers],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self._updates = state["updates"]
        if hasattr(self.collect, "load_state_dict"):
            self.collect.load_state_dict(state["collect"])
        self.price.load_state_dict(state["price"])
        self._advantages.load_state_dict(state["advantages"])
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
        """The minibatches that the next update would make of some sequences."""
        return self._steps.split(sequences, self._updates)


def _check_separate(policies: Collection[str], trainers: Sequence[Trainer]) -> None:
    if len(policies) == 1:
        raise SettingError(
            "learner.sharing=separate is for methods in which several agents earn one return"
            f" together (MAGRPO); got the single agent {', '.join(policies)!r}. Add agents to"
            " env.team, or choose a learner for one (learner=grpo)"
        )
    shared = [agent for trainer in trainers if len(trainer.agents) > 1 for agent in trainer.agents]
    if shared:
        raise SettingError(
            "learner.sharing=separate needs a policy for each agent, but"
            f" {', '.join(shared)} share theirs; set agent.sharing=separate, or set"
            " learner.sharing=shared to let them share one"
        )
