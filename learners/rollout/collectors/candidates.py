"""AT-GRPO's tree (arXiv 2510.11062): several candidates per agent and round, all from one state.

In every round each agent draws `group_size` candidates from what it has read, and they are compared
with each other alone: one group per start and round, one comparison per agent (group advantages by
task, agent and round, with `unit: reply`). Each agent's best candidate is then said, and the next
round begins from there. Nothing but candidates is trained.

A candidate is played out: the others say the first of their own candidates, later rounds are
decoded greedily, and its value is the author's return from its round on. Under credit `own` this is
the team's reward less the price of what the author says, the paper's mix of team and local reward
with weight 1. The paper's tasks score each turn by itself; here the task reward comes at the end,
which is why a candidate has to be played out. How the paper has the others speak while a candidate
is scored, and what it does with a tie, is not known; here the first of equal candidates continues.

Agents without reply tokens draw no candidates; theirs is what they say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import WHOLE, Credit, credit
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.rollout.collectors.base import Collector, Players
from laconic.learners.rollout.play import play, replies_of
from laconic.learners.rollout.runner import Start


@dataclass(frozen=True, slots=True)
class Candidates(Collector):
    """Plays a tree: candidates in every round, the best of each agent goes on."""

    unit: ClassVar[str] = "reply"  # type: ignore[misc]
    """What a sequence has to be for a learner that trains on these groups."""

    credit: str = "own"
    """By what return the best is chosen: the credit of the learner, `own` or `team`."""

    def __post_init__(self) -> None:
        """Refuse a credit that asks for replays of its own (`SettingError`)."""
        if credit(self.credit) in WHOLE:
            raise SettingError(
                "candidates are compared by what follows from them; choose learner.credit=own or"
                f" learner.credit=team, got {self.credit!r}"
            )

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play the trees of all starts, round by round.

        One group per start and round in which somebody drew candidates: an episode in which all
        say their first, and one for every further candidate.
        """
        groups: list[Group] = []
        lines, round = list(starts), 0
        while lines:
            seeds = np.random.default_rng((seed, round)).integers(2**31, size=2).tolist()
            firsts = play(*players, lines, seed=seeds[0], greedy_from=round + 1)
            knots = [
                _Knot(line, first, round)
                for line, first in zip(lines, firsts, strict=True)
                if any(len(rewards) > round for rewards in first.rewards.values())
            ]
            askings = [
                knot.asking(agent)
                for knot in knots
                for agent in knot.speakers
                for _ in range(group_size - 1)
            ]
            others = play(*players, askings, seed=seeds[1], greedy_from=round + 1)
            drawn = iter(others)
            for knot in knots:
                knot.others = [
                    (agent, next(drawn)) for agent in knot.speakers for _ in range(group_size - 1)
                ]
            groups += [knot.group() for knot in knots if knot.speakers]
            lines = [knot.best(credit(self.credit)) for knot in knots]
            round += 1
        return groups


@dataclass(slots=True)
class _Knot:
    """One round of one tree, where candidates branch off."""

    line: Start
    """What was said before."""
    first: Episode
    """The episode in which everybody says the first of its candidates."""
    round: int
    others: list[tuple[str, Episode]] = field(default_factory=list)
    """Further candidates: whose, and the episode in which it is said."""

    @property
    def speakers(self) -> list[str]:
        """The agents that draw candidates."""
        return [turn.agent for turn in self._turns() if turn.reply_ids]

    def asking(self, agent: str) -> Start:
        """From here, with the first candidates of all but one agent."""
        return self._go_on(turn for turn in self._turns() if turn.agent != agent)

    def group(self) -> Group:
        """All candidates of the round; nothing else is trained."""
        episodes = [_train_only(self.first, self.round, self.speakers)]
        episodes += [_train_only(other, self.round, [agent]) for agent, other in self.others]
        return Group(self.first.task, tuple(episodes))

    def best(self, credit: Credit) -> Start:
        """From here, with everybody's best candidate; the first of equals."""
        return self._go_on(self._best_of(turn.agent, credit) for turn in self._turns())

    def _best_of(self, agent: str, credit: Credit) -> Turn:
        played = [self.first, *(other for whose, other in self.others if whose == agent)]
        chosen = max(played, key=lambda episode: sum(credit(episode)[agent][self.round :]))
        return next(
            turn for turn in chosen.turns if (turn.agent, turn.round) == (agent, self.round)
        )

    def _turns(self) -> list[Turn]:
        return [turn for turn in self.first.turns if turn.round == self.round]

    def _go_on(self, turns: Iterable[Turn]) -> Start:
        return replace(self.line, given={**self.line.given, **replies_of(turns)})


def _train_only(episode: Episode, round: int, agents: Collection[str]) -> Episode:
    return replace(
        episode,
        turns=tuple(
            replace(turn, trained=turn.round == round and turn.agent in agents)
            for turn in episode.turns
        ),
    )
