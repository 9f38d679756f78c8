"""Several replies to one state: the candidates of AT-GRPO and the alternatives of C3.

AT-GRPO (arXiv 2510.11062, `Candidates`). In every round each agent samples `group_size` candidates
from its conversation. They are compared only with each other: one group per start, round and agent
(group advantages by task, agent and round, with `unit: reply`). Each agent then says its best
candidate, and the next round starts from there. Only candidates are trained.

A candidate's value comes from a rollout to the end, in which the other agents say their first
candidates and later rounds are decoded greedily. It is the task reward of the author from this
round on, minus the cost. Under credit `own` this is the team's reward minus the price of the
author's tokens, the paper's mix of team and local reward with weight 1.

The paper's tasks score each turn, so it needs no rollout; here the task reward comes at the end.
The paper leaves open how the other agents speak while a candidate is scored, and how ties are
broken. Here the first of equal candidates is said.

C3 (arXiv 2603.06859, `Alternatives`). Each start is played once. Then alternatives to single turns
are sampled: everything said up to that turn stays, and so do the other messages of its round. Every
alternative is played to the end by the sampling team. They are compared like candidates, with the
team's return. The paper branches again under each alternative, so its cost is a power of the number
of turns. Here alternatives branch off the first episode alone, so the cost is linear.

Agents without reply tokens, such as scripts, have their one reply as their only candidate, and no
alternatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from laconic.envs.checks import Count, Word, check_fields
from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import FORWARD_LOOKING, OF_GROUP, Credit, credit
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.rollout.collectors.base import Collector, Players
from laconic.learners.rollout.play import play, replies_of
from laconic.learners.rollout.runner import Start

Turns = Literal["all", "drawn"]


@dataclass(frozen=True, slots=True)
class Candidates(Collector):
    """Plays a tree: several candidates per agent and round, of which each agent says its best."""

    unit: ClassVar[str] = "reply"  # type: ignore[misc]
    """Unit of a sequence that the learner must use."""

    credit: Word = "own"
    """Credit that ranks candidates, the same as `learner.credit`: `own` or `team`."""
    metrics: dict[str, float] = field(default_factory=dict, init=False, compare=False)
    """`replays` of the last call: episodes played in addition to one per start."""

    def __post_init__(self) -> None:
        """Refuse a credit that needs replays or a group of episodes (`SettingError`)."""
        if credit(self.credit) in (*FORWARD_LOOKING, *OF_GROUP):
            raise SettingError(
                "candidates are compared by one rollout each, without replays or groups; choose"
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
        branches, round, replays = list(starts), 0, -len(starts)
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
            replays += len(branches) + len(resampled)
            groups += [node.group(agent) for node in nodes for agent in node.speakers]
            branches = [node.best(credit(self.credit)) for node in nodes]
            round += 1
        self.metrics["replays"] = float(replays)
        return groups


@dataclass(frozen=True, slots=True)
class Alternatives(Collector):
    """Plays one episode per start, and alternatives to its turns to the end."""

    unit: ClassVar[str] = "reply"  # type: ignore[misc]
    """Unit of a sequence that the learner must use."""
    credit: ClassVar[str] = "team"  # type: ignore[misc]
    """Credit that the learner must use: a reply is worth what the team earns and pays after it."""
    continuations: Count = 1
    """Number of times that each alternative is played to the end."""
    turns: Turns = "drawn"
    """Turns with alternatives: `all`, or one per agent and episode, `drawn` by the seed."""
    metrics: dict[str, float] = field(default_factory=dict, init=False, compare=False)
    """Counts of the last call: `replays`, the episodes played in addition to one per start;
    `alternatives`, and how many differ in their tokens, `distinct_alternatives`."""

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self, "learner.collect")

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play an episode per start, and `group_size` alternatives per chosen turn.

        Returns:
            One group per chosen turn: `group_size` x `continuations` episodes, in each of which
            that turn alone is trained.
        """
        generator = np.random.default_rng((seed, 2))
        seeds = generator.integers(2**31, size=3).tolist()
        firsts = play(*players, starts, seed=seeds[0])
        chosen = [
            (_TreeNode(start_before(start, first, turn.round), first, turn.round), turn.agent)
            for start, first in zip(starts, firsts, strict=True)
            for turn in self._chosen_turns(first, generator)
        ]
        further = range(group_size - 1)
        resampled = [node.start_without(agent) for node, agent in chosen for _ in further]
        sampled = iter(play(*players, resampled, seed=seeds[1]))
        for node, agent in chosen:
            node.others = [(agent, next(sampled)) for _ in further]
        again = [
            (node, agent, episode)
            for node, agent in chosen
            for episode in node.candidates(agent)
            for _ in range(self.continuations - 1)
        ]
        repeated = [node.start_of(episode) for node, _, episode in again]
        for (node, agent, _), episode in zip(
            again, play(*players, repeated, seed=seeds[2]), strict=True
        ):
            node.others.append((agent, episode))
        self.metrics["replays"] = float(len(resampled) + len(repeated))
        self.metrics["alternatives"] = float(len(chosen) * group_size)
        self.metrics["distinct_alternatives"] = float(
            sum(
                len({node.turn_of(agent, episode).reply_ids for episode in node.candidates(agent)})
                for node, agent in chosen
            )
        )
        return [node.group(agent) for node, agent in chosen]

    def _chosen_turns(self, episode: Episode, generator: np.random.Generator) -> list[Turn]:
        """Return the turns of an episode that get alternatives."""
        turns = [turn for turn in episode.turns if turn.reply_ids]
        if self.turns == "all":
            return turns
        by_agent: dict[str, list[Turn]] = {}
        for turn in turns:
            by_agent.setdefault(turn.agent, []).append(turn)
        return [each[int(generator.integers(len(each)))] for each in by_agent.values()]


def start_before(start: Start, episode: Episode, round: int) -> Start:
    """Return a start with the replies of an episode before one of its rounds."""
    before = replies_of(turn for turn in episode.turns if turn.round < round)
    return replace(start, replies={**start.replies, **before})


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
        return Group(
            self.first.task,
            tuple(_train_only(episode, self.round, agent) for episode in self.candidates(agent)),
        )

    def candidates(self, agent: str) -> list[Episode]:
        """Return the episodes of an agent's candidates, the first one at the front."""
        return [self.first, *(episode for author, episode in self.others if author == agent)]

    def start_of(self, episode: Episode) -> Start:
        """Return a start with everything that was said in an episode up to this round."""
        return self._start_with(turn for turn in episode.turns if turn.round == self.round)

    def turn_of(self, agent: str, episode: Episode) -> Turn:
        """Return the turn of an agent in this round of an episode."""
        return next(
            turn for turn in episode.turns if (turn.agent, turn.round) == (agent, self.round)
        )

    def best(self, credit: Credit) -> Start:
        """Return a start with the best candidate of each agent, the first of equal ones."""
        return self._start_with(self._best_of(turn.agent, credit) for turn in self._turns())

    def _best_of(self, agent: str, credit: Credit) -> Turn:
        def value(episode: Episode) -> float:
            credits = credit(episode)
            return sum(credits.task[agent][self.round :]) - sum(credits.cost[agent][self.round :])

        return self.turn_of(agent, max(self.candidates(agent), key=value))

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
