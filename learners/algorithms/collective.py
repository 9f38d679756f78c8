"""RLCCF: a learner whose policies are paid for the answer that they elect together.

Every agent answers alone, in one round, with a policy of its own. The vote of
`learners.advantages.collective` takes the place of the reference answer, and the token price stays.
Each policy then learns as in GRPO. Scores and metrics of episodes stay those of the reference
answer, and no update reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, ClassVar

from laconic.envs.errors import SettingError
from laconic.envs.task import Benchmark, Score, Task, named_tasks
from laconic.learners.advantages.collective import (
    Collective,
    Table,
    answer_entropy,
    check_separate,
    check_voters,
    effective_voters,
)
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group
from laconic.learners.interfaces import Policy
from laconic.learners.prices.schedule import PassRate
from laconic.learners.prices.steering import AccuracyFloor
from laconic.learners.rollout.collectors.base import Collector, Players, PlaysGroups
from laconic.learners.rollout.play import collect as play_groups
from laconic.learners.rollout.runner import Start
from laconic.learners.training.trainer import MakeOptimizer


class CollectiveLearner(GroupLearner):
    """Group-relative policy optimization of several policies, without labels."""

    def __init__(
        self,
        policies: Mapping[str, Policy],
        optimizer: MakeOptimizer,
        *,
        collective: Collective | None = None,
        collect: PlaysGroups = play_groups,
        charge_power: float = 0.0,
        sharing: str = "separate",
        **common: Any,
    ) -> None:
        """Check the settings and make one optimizer per policy.

        Args:
            policies: policy of each agent; no two share weights.
            optimizer: see `PolicyLearner`.
            collective: vote.
            collect: must play independent episodes.
            charge_power: must be 0.
            sharing: must be `separate`.
            **common: further settings of `GroupLearner`.

        Raises:
            SettingError: two agents share weights, there is one agent, or a setting would need the
                reference answers.
        """
        if collect is not play_groups:
            raise SettingError(
                "learner.collective pays whole groups of independent episodes; got learner.collect"
                f" ({type(collect).__name__}): set learner/collect=null"
            )
        if charge_power:
            raise SettingError(
                "learner.charge_power above 0 weighs costs by the share of solved episodes, which"
                f" takes reference answers, and learner.collective has none; got {charge_power!r}:"
                " set learner.charge_power=0"
            )
        ballots = Ballots(collective or Collective())
        super().__init__(policies, optimizer, collect=ballots, charge_power=0.0, **common)
        if isinstance(self.price, PassRate | AccuracyFloor):
            raise SettingError(
                f"learner/price ({type(self.price).__name__}) follows the solved episodes, which"
                " takes reference answers; set learner/price=fixed, ramp or target_tokens"
            )
        own = len(policies) != 1 and all(len(trainer.agents) == 1 for trainer in self._trainers)
        check_separate(
            own and sharing == "separate",
            f"{len({*map(id, policies.values())})} policies of {len(policies)} agents,"
            f" learner.sharing={sharing}",
        )


@dataclass(frozen=True, slots=True)
class Ballots(Collector):
    """Plays independent episodes, and pays every agent for the elected answer."""

    credit: ClassVar[str] = "own"  # type: ignore[misc]
    """Credit that the learner must use: what others earn is no pay of an agent's own answer."""
    collective: Collective = field(default_factory=Collective)
    """Vote."""

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play one group per start, and exchange the task rewards of its episodes.

        Raises:
            SettingError: the environment has no tasks, or its agents do not answer alone.
        """
        environment: Any = players.environments[0]
        check_voters(environment)
        benchmark, tasks = environment.benchmark, named_tasks(environment)
        groups = play_groups(*players, starts, group_size, seed=seed)
        graded = [
            [grade_alone(benchmark, tasks[group.task], episode) for episode in group.episodes]
            for group in groups
        ]
        tables = [
            [[scores[agent].answer for scores in plays] for agent in environment.possible_agents]
            for plays in graded
        ]
        entropy = answer_entropy(answer for table in tables for row in table for answer in row)
        return [
            replace(group, episodes=tuple(self._paid(group, plays, table, entropy)))
            for group, plays, table in zip(groups, graded, tables, strict=True)
        ]

    def _paid(
        self, group: Group, plays: Sequence[Mapping[str, Score]], answers: Table, entropy: float
    ) -> Iterator[Episode]:
        """Yield the episodes of a group, whose agents are paid for the elected answer."""
        elected, voters = self.collective.elect(answers), effective_voters(answers)
        for episode, scores in zip(group.episodes, plays, strict=True):
            pay = {
                agent: float(elected != "" and score.answer == elected)
                for agent, score in scores.items()
            }
            measures = {
                "agreement": fmean(pay.values()),
                "voter_accuracy": fmean(score.solved for score in scores.values()),
                "answer_entropy": entropy,
                "effective_voters": voters,
            }
            yield pay_instead(replace(episode, measures={**episode.measures, **measures}), pay)


def grade_alone(benchmark: Benchmark, task: Task, episode: Episode) -> dict[str, Score]:
    """Grade the answer of each agent by itself; silence has none."""
    messages = dict.fromkeys(episode.rewards, "")
    messages |= {turn.agent: turn.message for turn in episode.turns}
    return {
        agent: benchmark.score(task, {agent: message} if message else {})
        for agent, message in messages.items()
    }


def pay_instead(episode: Episode, pay: Mapping[str, float]) -> Episode:
    """Return an episode of one round that pays each agent another task reward; charges stay."""
    earned = episode.task_rewards or episode.rewards
    return replace(
        episode,
        rewards={
            agent: (reward - earned[agent][0] + pay[agent],)
            for agent, (reward,) in episode.rewards.items()
        },
        task_rewards={agent: (pay[agent],) for agent in episode.rewards},
        # Agents are paid one by one, so no pass rate of the group weighs their costs.
        common=False,
        max_reward=1.0,
    )
