"""Tree sampling of AT-GRPO (arXiv 2510.11062): several candidates per agent and round.

In every round each agent samples `group_size` candidates from its conversation. They are compared
only with each other: one group per start, round and agent (group advantages by task, agent and
round, with `unit: reply`). Each agent then says its best candidate, and the next round starts from
there. Only candidates are trained.

A candidate's value comes from a rollout to the end, in which the other agents say their first
candidates and later rounds are decoded greedily. It is the task reward of the author from this
round on, minus the charge factor (pass rate of the candidates ** `charge_power`) times the cost.
Under credit `own` this is the team's reward minus the price of the author's tokens, the paper's mix
of team and local reward with weight 1.

The paper's tasks score each turn, so it needs no rollout; here the task reward comes at the end.
The paper leaves open how the other agents speak while a candidate is scored, and how ties are
broken. Here the first of equal candidates is said.

Agents without reply tokens, such as scripts, have their one reply as their only candidate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from laconic.envs.checks import number
from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import FORWARD_LOOKING, Credit, charge_factor, credit
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.rollout.collectors.base import Collector, Players
from laconic.learners.rollout.play import play, replies_of
from laconic.learners.rollout.runner import Start


@dataclass(frozen=True, slots=True)
class Candidates(Collector):
    """Plays a tree: several candidates per agent and round, of which each agent says its best."""

    unit: ClassVar[str] = "reply"  # type: ignore[misc]
    """Unit of a sequence that the learner must use."""

    credit: str = "own"
    """Credit that ranks candidates, the same as `learner.credit`: `own` or `team`."""
    charge_power: float = 0.0
    """Power of the pass rate that weighs costs, the same as `learner.charge_power`."""

    def __post_init__(self) -> None:
        """Refuse a credit that needs replays of its own (`SettingError`)."""
        number("learner.collect.charge_power", self.charge_power, lowest=0)
        if credit(self.credit) in FORWARD_LOOKING:
            raise SettingError(
                "candidates are compared by their rollouts, not by replays; choose"
                f" learner.credit=own or learner.credit=team, got {self.credit!r}"
            )

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play the trees of all starts, round by round.

        Returns:
            One group per start, round and agent that sampled candidates. It holds the episode of
            all agents' first candidates, and one episode per further candidate of the agent.
        """
        groups: list[Group] = []
        branches, round = list(starts), 0
        while branches:
            seeds = np.random.default_rng((seed, round)).integers(2**31, size=2).tolist()
            firsts = play(*players, branches, seed=seeds[0], greedy_from=round + 1)
            nodes = [
                _TreeNode(branch, first, round)
                for branch, first in zip(branches, firsts, strict=True)
                if any(len(rewards) > round for rewards in first.rewards.values())
            ]
            resampled = [
                node.start_without(agent)
                for node in nodes
                for agent in node.speakers
                for _ in range(group_size - 1)
            ]
            further = iter(play(*players, resampled, seed=seeds[1], greedy_from=round + 1))
            for node in nodes:
                node.others = [
                    (agent, next(further)) for agent in node.speakers for _ in range(group_size - 1)
                ]
            groups += [node.group(agent) for node in nodes for agent in node.speakers]
            branches = [node.best(credit(self.credit), self.charge_power) for node in nodes]
            round += 1
        return groups


@dataclass(slots=True)
class _TreeNode:
    """One round of one tree, with the candidates of all agents."""

    start: Start
    """Start of the episode, with the replies of earlier rounds."""
    first: Episode
    """Episode in which every agent says its first candidate."""
    round: int
    """Round of the node, from 0."""
    others: list[tuple[str, Episode]] = field(default_factory=list)
    """Author and episode of each further candidate."""

    @property
    def speakers(self) -> list[str]:
        """Agents that sample candidates."""
        return [turn.agent for turn in self._turns() if turn.reply_ids]

    def start_without(self, agent: str) -> Start:
        """Return a start with the first candidates of all agents except one, which is asked."""
        return self._start_with(turn for turn in self._turns() if turn.agent != agent)

    def group(self, agent: str) -> Group:
        """Return the candidates of an agent as a group; only their replies are trained."""
        candidates = [self.first, *(episode for author, episode in self.others if author == agent)]
        return Group(
            self.first.task,
            tuple(_train_only(episode, self.round, agent) for episode in candidates),
        )

    def best(self, credit: Credit, charge_power: float) -> Start:
        """Return a start with the best candidate of each agent, the first of equal ones."""
        return self._start_with(
            self._best_of(turn.agent, credit, charge_power) for turn in self._turns()
        )

    def _best_of(self, agent: str, credit: Credit, charge_power: float) -> Turn:
        played = [self.first, *(episode for author, episode in self.others if author == agent)]
        factor = charge_factor(played, charge_power)

        def value(episode: Episode) -> float:
            credits = credit(episode)
            task = sum(credits.task[agent][self.round :])
            return task - factor * sum(credits.cost[agent][self.round :])

        best = max(played, key=value)
        return next(turn for turn in best.turns if (turn.agent, turn.round) == (agent, self.round))

    def _turns(self) -> list[Turn]:
        return [turn for turn in self.first.turns if turn.round == self.round]

    def _start_with(self, turns: Iterable[Turn]) -> Start:
        return replace(self.start, replies={**self.start.replies, **replies_of(turns)})


def _train_only(episode: Episode, round: int, agent: str) -> Episode:
    """Return an episode in which one turn is trained and the others are context."""
    return replace(
        episode,
        turns=tuple(
            replace(turn, trained=turn.round == round and turn.agent == agent)
            for turn in episode.turns
        ),
    )
