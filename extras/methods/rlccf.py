"""RLCCF: a learner whose policies are paid for the answer that they elect together.

Every agent answers alone, in one round, with a policy of its own. The vote of
`extras.methods.collective` takes the place of the reference answer, and the token price stays.
With `consistency` a task is played in several wordings, and equal answers are paid (PS-GRPO). Each
policy then learns as in GRPO. Scores and metrics of episodes stay those of the reference answer;
no update reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, ClassVar

import numpy as np

from laconic.envs.checks import Word
from laconic.envs.errors import SettingError
from laconic.envs.task import Benchmark, Score, Task, named_tasks
from laconic.extras.methods.collective import (
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
from laconic.learners.prices.steering import AccuracyFloor
from laconic.learners.rollout.collectors.base import Collector, Players, PlaysGroups
from laconic.learners.rollout.play import collect as independent
from laconic.learners.rollout.play import play
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
        collect: PlaysGroups = independent,
        sharing: Word = "separate",
        **common: Any,
    ) -> None:
        """Check the settings and make one optimizer per policy.

        Args:
            policies: policy of each agent; no two share weights.
            optimizer: see `PolicyLearner`.
            collective: answers that are paid.
            collect: must play independent episodes.
            sharing: must be `separate`.
            **common: further settings of `GroupLearner`.

        Raises:
            SettingError: two agents share weights, there is one agent, or a setting would need the
                reference answers.
        """
        if collect is not independent:
            raise SettingError(
                "learner.collective pays whole groups of independent episodes; got learner.collect"
                f" ({type(collect).__name__}): set learner/collect=null"
            )
        ballots = Votes(collective or Collective())
        super().__init__(policies, optimizer, collect=ballots, **common)
        if isinstance(self.price, AccuracyFloor):
            raise SettingError(
                f"learner/price ({type(self.price).__name__}) follows the solved episodes, which"
                " takes reference answers; set learner/price=pass_rate, fixed or"
                " target_tokens"
            )
        own = len(policies) != 1 and all(len(trainer.agents) == 1 for trainer in self._trainers)
        check_separate(
            own and sharing == "separate",
            f"{len({*map(id, policies.values())})} policies of {len(policies)} agents,"
            f" learner.sharing={sharing}",
        )


@dataclass(frozen=True, slots=True)
class Votes(Collector):
    """Plays independent episodes, and pays every agent by the vote or for consistency."""

    credit: ClassVar[str] = "own"  # type: ignore[misc]
    """Credit that the learner must use: what others earn is no pay of an agent's own answer."""
    collective: Collective = field(default_factory=Collective)
    """Answers that are paid."""

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play one group per start, and exchange the task rewards of its episodes.

        Raises:
            SettingError: the environment has no tasks, its agents do not answer alone, or it has no
                other wordings to be consistent in.
        """
        environment: Any = players.environments[0]
        check_voters(environment)
        benchmark, tasks = environment.benchmark, named_tasks(environment)
        wordings = [self._wordings(benchmark, tasks, start) for start in starts]
        # Play k of a task is in wording k, and in the first one again after the last.
        repeated = [
            replace(start, task=each[number % len(each)])
            for start, each in zip(starts, wordings, strict=True)
            for number in range(group_size)
        ]
        episodes = play(*players, repeated, seed=seed)
        groups = [
            episodes[place : place + group_size] for place in range(0, len(episodes), group_size)
        ]
        graded = [
            [grade_alone(benchmark, tasks[each.task], each) for each in group] for group in groups
        ]
        tables = [
            [[scores[agent].answer for scores in group] for agent in group[0]] for group in graded
        ]
        entropies = {
            "answer_entropy": answer_entropy(
                answer for table in tables for row in table for answer in row
            ),
            "elected_entropy": answer_entropy(map(self.collective.elect, tables)),
        }
        generator = np.random.default_rng((seed, 3))
        return [
            self._paid(group, scores, answers, len(each), entropies, generator)
            for group, scores, answers, each in zip(groups, graded, tables, wordings, strict=True)
        ]

    def _wordings(
        self, benchmark: Benchmark, tasks: Mapping[str, Task], start: Start
    ) -> Sequence[str | Task | None]:
        """Return the task of a start in all wordings that its plays take turns in."""
        if not self.collective.consistency:
            return (start.task,)
        task = start.task if isinstance(start.task, Task) else tasks[str(start.task)]
        others = benchmark.paraphrases(task)
        if not others:
            raise SettingError(
                f"learner.collective.consistency={self.collective.consistency} compares answers to"
                f" several wordings of a task, and {benchmark.name} has one for {task.key}; choose"
                " an environment with several, or set learner.collective.consistency=0"
            )
        return (task, *others)

    def _paid(
        self,
        episodes: Sequence[Episode],
        graded: Sequence[Mapping[str, Score]],
        answers: Table,
        wordings: int,
        entropies: Mapping[str, float],
        generator: np.random.Generator,
    ) -> Group:
        """Return the plays of a task as a group whose agents are paid by their answers."""
        agents = list(graded[0])
        numbers = [place % wordings for place in range(len(episodes))]
        pays = self.collective.pays(answers, numbers, generator)
        figures = {**entropies, "effective_voters": effective_voters(answers)}
        return Group(
            episodes[0].task,
            tuple(
                relabel_rewards(
                    episode,
                    dict(zip(agents, pay, strict=True)),
                    {
                        **figures,
                        "agreement": fmean(pay),
                        "voter_accuracy": fmean(bool(score.solved) for score in scores.values()),
                    },
                )
                for episode, pay, scores in zip(
                    episodes, zip(*pays, strict=True), graded, strict=True
                )
            ),
        )


def grade_alone(benchmark: Benchmark, task: Task, episode: Episode) -> dict[str, Score]:
    """Grade the answer of each agent by itself; silence has none."""
    messages = dict.fromkeys(episode.rewards, "")
    messages |= {turn.agent: turn.message for turn in episode.turns}
    return {
        agent: benchmark.score(task, {agent: message} if message else {})
        for agent, message in messages.items()
    }


def relabel_rewards(
    episode: Episode, pay: Mapping[str, float], measures: Mapping[str, float]
) -> Episode:
    """Return an episode of one round that pays each agent another task reward; charges stay.

    Args:
        episode: episode as it was played.
        pay: task reward of each agent.
        measures: further measures of the episode.
    """
    earned = episode.task_rewards or episode.rewards
    return replace(
        episode,
        rewards={
            agent: (reward - earned[agent][0] + pay[agent],)
            for agent, (reward,) in episode.rewards.items()
        },
        task_rewards={agent: (pay[agent],) for agent in episode.rewards},
        measures={**episode.measures, **measures},
        # Agents are paid one by one, so the pass rate is 1 and no label enters a price.
        common=False,
        max_reward=1.0,
        graded=False,
    )
