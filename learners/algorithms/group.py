"""Learners that compare the episodes of a group: GSPO, and every method made of the same parts.

`PolicyLearner` is the base of the suite's learners: a trainer for each set of weights, several
optimizer steps per update, a price, and a collector. `GroupLearner` computes advantages by
comparison. Credit, advantages, objective and unit are chosen one by one.

The importance ratio and its clipping act from the second minibatch of a rollout on. Behavior
log-probabilities come with the episodes. A policy whose sampling and training passes differ may
have them recomputed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal, TypeGuard

from transformers import PreTrainedTokenizerBase

from laconic.envs.checks import Ceiling, Count, Whole, Word
from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import credit as credit_named
from laconic.learners.advantages.group import Advantages, Estimator, SilenceBalance
from laconic.learners.advantages.whitening import whitened
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.algorithms.base import Learner, Resumable
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.episode import Group
from laconic.learners.interfaces import Policy
from laconic.learners.prices.schedule import PassRate, Price
from laconic.learners.rollout.collectors.base import PlaysGroups, Wraps
from laconic.learners.rollout.collectors.counterfactual import collector_for
from laconic.learners.rollout.play import collect
from laconic.learners.training.correction import Correction, High, Kind, Low
from laconic.learners.training.objective import Objective, mean_over_steps
from laconic.learners.training.own_loss import Loss, as_objective
from laconic.learners.training.sequences import (
    TokenSequence,
    Unit,
    check_unit,
    rescaled,
    sequences_of,
    with_advantages,
)
from laconic.learners.training.trainer import MakeOptimizer, Trainer, UpdateSettings

Rows = list[dict[str, float]]
"""Metrics of optimizer steps, one row per step."""
Steps = dict[Trainer, Rows]
"""Optimizer steps of one update, by trainer."""


class PolicyLearner(Learner):
    """A learner that takes optimiser steps with policies on sequences that have advantages."""

    resumable = True

    def __init__(
        self,
        policies: Mapping[str, Policy],
        optimizer: MakeOptimizer,
        *,
        credit: Word = "own",
        unit: Unit = "episode",
        objective: Objective | Loss | None = None,
        price: Price | None = None,
        collect: PlaysGroups = collect,
        topology: Wraps | None = None,
        warmup_updates: Whole = 0,
        decay_updates: Whole | None = None,
        decay: Literal["linear", "cosine"] = "linear",
        minibatches: Count = 4,
        max_grad_norm: Ceiling = 1.0,
        microbatch_tokens: Count = 16384,
        mask_truncated: bool = False,
        correction: Kind = "auto",
        correction_low: Low | None = None,
        correction_high: High | None = None,
        seed: int = 0,
        processes: Processes = SINGLE_PROCESS,
    ) -> None:
        """Check the settings (`SettingError`) and make one optimizer per policy.

        Args:
            policies: policy of each agent; equal objects share weights.
            optimizer: makes an optimizer of a policy's parameters.
            credit: name of the credit (`learners.advantages.credit`).
            unit: unit of a sequence, `episode` or `reply`.
            objective: loss; one of your own is any callable (`learners.training.own_loss`).
            price: price schedule; None follows the pass rate.
            collect: plays the groups. A counterfactual credit adds its own collector.
            topology: learns who hears whom; None keeps the topology of the environment.
            warmup_updates: updates over which the learning rate rises.
            decay_updates: updates after which the learning rate is 0; None and 0 keep it.
            decay: curve on which the learning rate falls.
            minibatches: optimizer steps per policy and update.
            max_grad_norm: norm to which gradients are scaled down.
            microbatch_tokens: most tokens of one forward pass, padding included.
            mask_truncated: whether replies that their token limit stopped are left out of the loss
                (`overlong filtering` of DAPO, arXiv 2503.14476). As in TRL they still take part in
                the comparison and in the mean.
            correction: weight for an engine whose log-probabilities differ from the trainer's
                (`learners.training.correction`).
            correction_low: lower bound of that weight; None: that of the kind.
            correction_high: upper bound of that weight; None: that of the kind.
            seed: seed of the order in which sequences enter the minibatches.
            processes: processes that learn together; each receives the groups of all.
        """
        self.price = price or PassRate()
        collector = collector_for(collect, credit, unit)
        self.collector = collector if topology is None else topology.around(collector)
        self.collector.bind(self, processes.rank, processes.count)
        self._credit = credit_named(credit)
        self._unit: Unit = unit
        self._updates = 0
        self._processes = processes
        self._mask_truncated = mask_truncated
        self._settings = UpdateSettings(
            Objective() if objective is None else as_objective(objective),
            minibatches,
            microbatch_tokens,
            max_grad_norm,
            warmup_updates,
            decay_updates,
            seed,
            Correction(correction, correction_low, correction_high),
            decay,
        )
        # With frozen policies the collector may learn alone.
        alone = self.collector.learns and not any(map(is_trained, policies.values()))
        trained = {} if alone else policies
        self._trainers = trainers_of(trained, optimizer, self._settings, processes)

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Take `minibatches` optimizer steps with each policy, on groups that they sampled.

        Returns:
            Metrics of the objective and the gradient norm before clipping, averaged over steps
            (ratios also with their extremes); counts of sequences and of steps taken and skipped;
            counts of the collector and what it learns. Several policies are averaged together,
            and each has a `grad_norm/<agents>` too. Without sequences, the counts of steps alone.
        """
        steps, learned = self._learn(groups)
        self._updates += 1
        rows: Rows = []
        for trainer, trainer_rows in steps.items():
            name = f"grad_norm/{'+'.join(trainer.agents)}"
            for row in trainer_rows:
                by_agents = len(self._trainers) > 1 and "grad_norm" in row
                rows.append({**row, name: row["grad_norm"]} if by_agents else row)
        counted = self._processes.total(self.collector.metrics)
        own = self.collector.learn(groups) if self.collector.learns else {}
        taken = mean_over_steps(rows) if self._trainers else {}
        return {**taken, **learned, **counted, **own}

    @abstractmethod
    def _learn(self, groups: Sequence[Group]) -> tuple[Steps, dict[str, float]]:
        """Take the steps of each trainer; return their metrics and those of the whole update."""

    @abstractmethod
    def _memory(self) -> Mapping[str, Resumable]:
        """Return the further parts with a state, by their name in a checkpoint."""

    def state_dict(self) -> dict[str, Any]:
        """Return weights, optimizer states, the number of updates, and the state of the parts."""
        return {
            "updates": self._updates,
            "trainers": [trainer.state_dict() for trainer in self._trainers],
            **{name: part.state_dict() for name, part in self._parts().items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`."""
        self._updates = state["updates"]
        for trainer, saved in zip(self._trainers, state["trainers"], strict=True):
            trainer.load_state_dict(saved)
        for name, part in self._parts().items():
            # Earlier versions kept no state of collectors that remember nothing.
            part.load_state_dict(state.get(name, {}))

    def split(self, sequences: Sequence[TokenSequence]) -> list[list[TokenSequence]]:
        """Return the minibatches that the next update would make of sequences."""
        return self._settings.split(sequences, self._updates)

    def _parts(self) -> dict[str, Resumable]:
        collector = self.collector
        return {
            "price": self.price,
            "collect": collector,
            **collector.parts(),
            **self._memory(),
        }


class GroupLearner(PolicyLearner):
    """Group-relative policy optimization."""

    def __init__(
        self,
        policies: Mapping[str, Policy],
        optimizer: MakeOptimizer,
        *,
        advantages: Estimator | None = None,
        whiten: bool = False,
        balance_silence: bool = True,
        unit: Unit = "episode",
        sharing: Word | None = None,
        **common: Any,
    ) -> None:
        """Check the settings and make one optimizer per policy.

        Args:
            policies: see `PolicyLearner`.
            optimizer: see `PolicyLearner`.
            advantages: estimator of the advantages.
            whiten: whether the advantages of an update get mean 0 and variance 1 over its tokens.
            balance_silence: whether the total negative advantage of silent sequences is capped at
                the total positive one, in updates in which something is charged
                (`learners.advantages.group.SilenceBalance`).
            unit: unit of a sequence, `episode` or `reply`.
            sharing: `separate` for a method of several agents with a policy each; other values and
                None ask for nothing.
            **common: further settings of `PolicyLearner`.
        """
        super().__init__(policies, optimizer, unit=unit, **common)
        self._advantages = advantages or Advantages()
        self.compared: list[list[tuple[TokenSequence, ...]]] = []
        """Sequences of the last update by trainer and group, before whitening and balancing."""
        check_unit(unit, self._advantages)
        self._whiten = whiten
        self._balance = SilenceBalance() if balance_silence else None
        if sharing == "separate":
            _check_separate(policies, self._trainers)

    def check(self, group_size: int) -> None:
        """Refuse groups of a size that this learner cannot compare; see `Learner`."""
        for trainer in self._trainers:
            self._advantages.check(self.collector.members(group_size), len(trainer.agents))

    def sequences(
        self, group: Group, agents: Collection[str] | None = None
    ) -> tuple[TokenSequence, ...]:
        """Return the sequences of a group with their advantages; None for those of all agents."""
        return sequences_of(
            group,
            credit=self._credit,
            advantages=self._advantages,
            unit=self._unit,
            agents=agents,
            mask_truncated=self._mask_truncated,
        )

    def has_contrast(self, group: Group) -> bool:
        """Return whether some sequence of a group has an advantage other than 0."""
        return any(
            sequence.advantage
            for trainer in self._trainers
            for sequence in self.sequences(group, trainer.agents)
        )

    def _learn(self, groups: Sequence[Group]) -> tuple[Steps, dict[str, float]]:
        steps: Steps = {}
        learned: list[TokenSequence] = []
        factors: list[float] = []
        self.compared = []
        # Free words have no savings against which to weigh the losses of silence.
        charged = any(
            episode.price_share and any(map(any, episode.bills.values()))
            for group in groups
            for episode in group.episodes
        )
        balance = self._balance if charged else None
        for trainer in self._trainers:
            by_group = [self.sequences(group, trainer.agents) for group in groups]
            scale = self._advantages.update_scale(
                [
                    sequence.advantage
                    for group, sequences in zip(groups, by_group, strict=True)
                    for sequence in sequences
                    if group.own
                ]
            )
            if scale != 1.0:
                by_group = [tuple(rescaled(sequences, scale)) for sequences in by_group]
            self.compared.append(by_group)
            sequences = [sequence for each in by_group for sequence in each]
            learned += sequences
            advantages = [each.advantage for each in sequences]
            if self._whiten:
                advantages = whitened(advantages, [sum(each.generated) for each in sequences])
            if balance is not None:
                name = "+".join(trainer.agents)
                advantages, factor = balance(name, advantages, [each.silent for each in sequences])
                factors.append(factor)
            if self._whiten or balance is not None:
                sequences = with_advantages(sequences, advantages)
            steps[trainer] = trainer.update(sequences, self._updates)
        returns, keys = [each.return_to_go for each in learned], [each.key for each in learned]
        self._advantages.observe(returns, keys)
        balanced = {"silence_balance": fmean(factors)} if factors else {}
        return steps, {**comparison_metrics(self.compared), **balanced}

    @property
    def tokenizers(self) -> dict[str, PreTrainedTokenizerBase]:
        """Tokenizer of each trained agent."""
        return {
            agent: trainer.policy.tokenizer
            for trainer in self._trainers
            for agent in trainer.agents
        }

    def present_logprobs(self, index: int) -> list[tuple[TokenSequence, tuple[float, ...]]]:
        """Return the sequences of a group of the last update, and log-probabilities of now.

        Those are (tokens,) long, and 0 where a token was not generated. Empty with sharded weights,
        which one process cannot run alone.

        Args:
            index: index of the group in the update.
        """
        if self._processes.sharded:
            return []
        return [
            pair
            for trainer, by_group in zip(self._trainers, self.compared, strict=True)
            for pair in zip(by_group[index], trainer.logprobs(by_group[index]), strict=True)
        ]

    def _memory(self) -> Mapping[str, Resumable]:
        silence = {} if self._balance is None else {"silence": self._balance}
        return {"advantages": self._advantages, **silence}


def comparison_metrics(
    compared: Sequence[Sequence[Sequence[TokenSequence]]],
) -> dict[str, float]:
    """Describe the comparison of an update's sequences, which come by trainer and group.

    Returns:
        `groups_without_contrast`: fraction of groups all of whose advantages are 0.
        `task_advantage` and `price_advantage`: root mean square of the contributions of task and
        price to the advantages, where the estimator has them. Figures without data are missing.
    """
    groups = [sequences for groups in compared for sequences in groups if sequences]
    if not groups:
        return {}
    flat = [
        not any(sequence.advantage or any(sequence.token_advantages) for sequence in group)
        for group in groups
    ]
    parts = [
        (breakdown.task_advantage, sequence.advantage - breakdown.task_advantage)
        for group in groups
        for sequence in group
        if (breakdown := sequence.breakdown) and breakdown.task_advantage is not None
    ]
    metrics = {"groups_without_contrast": fmean(flat)}
    if parts:
        metrics["task_advantage"] = math.sqrt(fmean(task * task for task, _ in parts))
        metrics["price_advantage"] = math.sqrt(fmean(price * price for _, price in parts))
    return metrics


def is_trained(policy: Policy) -> TypeGuard[HFPolicy]:
    """Return whether a policy has weights to train; scripts and frozen weights are not trained."""
    return isinstance(policy, HFPolicy) and not policy.frozen


def trainers_of(
    policies: Mapping[str, Policy],
    optimizer: MakeOptimizer,
    settings: UpdateSettings | None = None,
    processes: Processes = SINGLE_PROCESS,
) -> list[Trainer]:
    """Make a trainer for each set of weights; scripts and frozen weights have none.

    The arguments are those of `Trainer`, with the policy of each agent; equal ones share weights.
    Trainers come in the order of their first agents; without policies there are none.

    Raises:
        SettingError: there are policies, and none of them can be trained.
    """
    by_weights: dict[int, tuple[HFPolicy, list[str]]] = {}
    for agent, policy in policies.items():
        if is_trained(policy):
            by_weights.setdefault(id(policy), (policy, []))[1].append(agent)
    if policies and not by_weights:
        kinds = ", ".join(
            f"{agent}: {'frozen' if isinstance(policy, HFPolicy) else type(policy).__name__}"
            for agent, policy in policies.items()
        )
        raise SettingError(
            f"no agent of the team has weights to train ({kinds}); choose agent=tiny or agent=hf,"
            " or set agent.frozen=false (agent.members.<name>.frozen of a mixed team)"
        )
    return [Trainer(*each, optimizer, settings, processes) for each in by_weights.values()]


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
