"""AT-GRPO's tree (arXiv 2510.11062): several candidates per agent and round, all from one state.

In every round each agent draws `group_size` candidates from what it has read, and they are compared
with each other alone: one group per start, round and agent (group advantages by task, agent and
round, with `unit: reply`). Each agent's best candidate is then said, and the next round begins from
there. Only candidates are trained.

A candidate is played out: the others say the first of their own candidates, later rounds are
decoded greedily, and its value is what the author earns from its round on, less the charge factor
(the pass rate of the candidates ** `charge_power`) times what that costs. Under credit `own` this
is the team's reward less the price of what the author says, the paper's mix of team and local
reward with weight 1. The paper's tasks score each turn by itself; here the task reward comes at the
end, which is why a candidate has to be played out. The paper does not say how the others speak
while a candidate is scored, nor what it does with a tie; here the first of equal candidates
continues.

Agents without reply tokens draw no candidates; theirs is what they say.
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
    """Plays a tree: candidates in every round, the best of each agent goes on."""

    unit: ClassVar[str] = "reply"  # type: ignore[misc]
    """What a sequence has to be for a learner that trains on these groups."""

    credit: str = "own"
    """By what return the best is chosen: the credit of the learner, `own` or `team`."""
    charge_power: float = 0.0
    """The learner's power of the pass rate by which costs are weighed."""

    def __post_init__(self) -> None:
        """Refuse a credit that asks for replays of its own (`SettingError`)."""
        number("learner.collect.charge_power", self.charge_power, lowest=0)
        if credit(self.credit) in FORWARD_LOOKING:
            raise SettingError(
                "candidates are compared by what follows from them; choose learner.credit=own or"
                f" learner.credit=team, got {self.credit!r}"
            )

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play the trees of all starts, round by round.

        Returns:
            One group per start, round and agent that drew candidates: the episode in which all say
            their first, and one for every further candidate of the agent.
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
            groups += [knot.group(agent) for knot in knots for agent in knot.speakers]
            lines = [knot.best(credit(self.credit), self.charge_power) for knot in knots]
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

    def group(self, agent: str) -> Group:
        """Return the candidates of an agent; nothing else in them is trained."""
        candidates = [self.first, *(episode for author, episode in self.others if author == agent)]
        return Group(
            self.first.task,
            tuple(_train_only(episode, self.round, agent) for episode in candidates),
        )

    def best(self, credit: Credit, charge_power: float) -> Start:
        """Continue with the best candidate of each agent; the first of equals."""
        return self._go_on(
            self._best_of(turn.agent, credit, charge_power) for turn in self._turns()
        )

    def _best_of(self, agent: str, credit: Credit, charge_power: float) -> Turn:
        played = [self.first, *(episode for author, episode in self.others if author == agent)]
        factor = charge_factor(played, charge_power)

        def value(episode: Episode) -> float:
            credits = credit(episode)
            task = sum(credits.task[agent][self.round :])
            return task - factor * sum(credits.cost[agent][self.round :])

        chosen = max(played, key=value)
        return next(
            turn for turn in chosen.turns if (turn.agent, turn.round) == (agent, self.round)
        )

    def _turns(self) -> list[Turn]:
        return [turn for turn in self.first.turns if turn.round == self.round]

    def _go_on(self, turns: Iterable[Turn]) -> Start:
        return replace(self.line, replies={**self.line.replies, **replies_of(turns)})


def _train_only(episode: Episode, round: int, agent: str) -> Episode:
    return replace(
        episode,
        turns=tuple(
            replace(turn, trained=turn.round == round and turn.agent == agent)
            for turn in episode.turns
        ),
    )
