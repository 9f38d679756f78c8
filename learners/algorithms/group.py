"""Learners that compare the episodes of a group: GSPO, and every method made of the same parts.

Credit, advantages, objective and what a sequence covers are chosen one by one; several minibatches
per rollout make the importance ratio and its clipping act. Log-probabilities of the behaviour
policy come with the episodes; a policy whose sampling and training passes differ may have them
computed again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from laconic.envs.errors import SettingError
from laconic.learners.advantages.estimator import Estimator
from laconic.learners.advantages.group import Advantages
from laconic.learners.advantages.whitening import whitened
from laconic.learners.agents.base import Policy
from laconic.learners.algorithms.base import PolicyLearner, Resumable
from laconic.learners.episode import Group
from laconic.learners.training.sequences import TokenSequence, Unit, check_unit, sequences_of
from laconic.learners.training.trainer import MakeOptimizer, Trainer, mean_over_steps


class GroupLearner(PolicyLearner):
    """Group-relative policy optimisation."""

    def __init__(
        self,
        policies: Mapping[str, Policy],
        optimizer: MakeOptimizer,
        *,
        advantages: Estimator | None = None,
        whiten: bool = False,
        unit: Unit = "episode",
        sharing: str | None = None,
        **common: Any,
    ) -> None:
        """Check the settings and make one optimiser per policy.

        Args:
            policies: who speaks for each agent; equal objects share weights.
            optimizer: makes an optimiser of a policy's parameters.
            advantages: how sequences are compared.
            whiten: bring the advantages of an update to mean 0 and variance 1 over its tokens.
            unit: what a sequence covers, `episode` or `reply`.
            sharing: `separate` if the method is one of several agents with a policy each; other
                values and None ask for nothing.
            **common: further settings of `PolicyLearner`.

        Raises:
            SettingError: a setting is out of range.
        """
        super().__init__(policies, optimizer, unit=unit, **common)
        self._advantages = advantages or Advantages()
        check_unit(unit, self._advantages)
        self._whiten = whiten
        if sharing == "separate":
            _check_separate(policies, self._trainers)

    def check(self, group_size: int) -> None:
        """Refuse groups that this learner could not compare, before any is played.

        Args:
            group_size: episodes of each task that the training loop asks for.

        Raises:
            SettingError: says what to change.
        """
        for trainer in self._trainers:
            self._advantages.check(self.collector.members(group_size), len(trainer.agents))

    def sequences(
        self, group: Group, agents: Collection[str] | None = None
    ) -> tuple[TokenSequence, ...]:
        """The sequences of a group with their advantages; None for those of all agents."""
        return sequences_of(
            group, credit=self._credit, advantages=self._advantages, unit=self._unit, agents=agents
        )

    def _learn(self, groups: Sequence[Group]) -> dict[str, float]:
        rows: list[dict[str, float]] = []
        learned: list[TokenSequence] = []
        for trainer in self._trainers:
            sequences = [
                sequence for group in groups for sequence in self.sequences(group, trainer.agents)
            ]
            learned += sequences
            rows += self._take(trainer, whitened(sequences) if self._whiten else sequences)
        self._advantages.observe(
            [one.return_to_go for one in learned], [one.key for one in learned]
        )
        return mean_over_steps(rows)

    def _memory(self) -> Mapping[str, Resumable]:
        return {"advantages": self._advantages}


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
