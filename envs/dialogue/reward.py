"""The communication-aware reward: the task reward less a price for every token said.

    reward = task reward - price * tokens charged / normalizer

Charged are the tokens of messages and, as much of a price as is set, those of the thoughts before.

Agent-GSPO (arXiv 2510.22477) charges verbosity in the reward; its formula is not public, so the
form and the settings here are a reconstruction. Knows nothing of messages or rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from laconic.envs.checks import choice, flag, number
from laconic.envs.dialogue.budget import Tokenize
from laconic.envs.errors import SettingError
from laconic.envs.task import Benchmark, Score, Task


@dataclass(frozen=True, slots=True)
class Reward:
    """What a token costs, who is charged, and when."""

    price: float = 0.0
    """Reward units that `normalizer` tokens cost; 0 gives the plain task reward."""
    normalizer: float = 100.0
    """Number of tokens that cost one `price`."""
    charge: Literal["own", "team"] = "own"
    """`own`: a message is charged to its speaker. `team`: it is charged to every agent in full."""
    when: Literal["always", "solved"] = "always"
    """`always`: in the round of the message. `solved`: at the end, and only in solved episodes."""
    paid: Literal["end", "round"] = "end"
    """`end`: the task reward is that of the last answers. `round`: that of the answers so far is
    earned in every round (MAGRPO, arXiv 2508.04652: a return is the sum over turns); a team that
    ends an episode by its answer or by silence earns the last score for the rounds left, too."""
    exempt_answer: bool = True
    """Whether the tokens that state the answer are free of charge (they use up budget): of what
    commits to it no more than its plain statement takes, and once an episode for each agent."""

    thought_weight: float = 1.0
    """How much of the price a token costs that is thought: 1 as one that is said, 0 nothing. No
    thought is exempt."""
    multiply_by: str | None = None
    """A measure of the answers that the benchmark's score is multiplied by, such as
    `source_overlap` of `tldr` and `arxiv`; None for none. What counts as solved stays."""

    def __post_init__(self) -> None:
        """Raise SettingError for a number out of its range, UnknownNameError for other words."""
        number("reward.price", self.price, lowest=0)
        number("reward.normalizer", self.normalizer, above=0)
        number("reward.thought_weight", self.thought_weight, lowest=0)
        if not math.isfinite(self.price / self.normalizer):
            raise SettingError(
                f"reward.price / reward.normalizer must be a finite number;"
                f" got {self.price!r} / {self.normalizer!r}"
            )
        choice("reward.charge", self.charge, ("own", "team"))
        choice("reward.when", self.when, ("always", "solved"))
        choice("reward.paid", self.paid, ("end", "round"))
        flag("reward.exempt_answer", self.exempt_answer)

    def costs(self, tokens: Mapping[str, float]) -> dict[str, float]:
        """What each agent is charged, at least 0 reward units, for the tokens of all agents."""
        rate = self.price / self.normalizer
        if self.charge == "team":
            return dict.fromkeys(tokens, rate * sum(tokens.values()))
        return {agent: rate * count for agent, count in tokens.items()}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a round came to."""

    rewards: dict[str, float]
    """Of each agent, charges taken off."""
    score: Score | None
    """Of the work so far; None where it was not graded."""
    terminated: bool = False
    """Whether the episode has come to its end."""
    truncated: bool = False
    """Whether it ends because the episode budget is spent."""


def free_tokens(benchmark: Benchmark, task: Task, words: str, tokenize: Tokenize) -> int | None:
    """Tokens of a message that state its answer; None where it commits to none."""
    committed = benchmark.committed(words)
    if not committed:
        return None
    return min(len(tokenize(committed)), len(tokenize(benchmark.exempt(words, task))))


class Account:
    """The rewards of one episode, round by round; charges that wait for its end are kept here."""

    def __init__(self, reward: Reward, agents: Iterable[str]) -> None:
        """Nothing is charged yet to those who earn rewards."""
        self._reward = reward
        self._owed = dict.fromkeys(agents, 0.0)

    def rewards(
        self,
        tokens: Mapping[str, float],
        score: Score | None,
        *,
        over: bool = True,
        rounds_left: int = 0,
    ) -> dict[str, float]:
        """The reward of each agent for one round.

        Args:
            tokens: charged tokens of each agent in this round.
            score: the score of the answers so far; None where they were not graded.
            over: whether this round was the last one.
            rounds_left: rounds that the team did without, by its answer, by silence or by a score
                that is good enough; where every round earns the score, these earn the last one, so
                that it never pays to put an end off.
        """
        graded = score if over or self._reward.paid == "round" else None
        value = graded.value if graded else 0.0
        if self._reward.paid == "round":
            value *= 1 + rounds_left
        due = over and score is not None and score.solved
        return self.net(dict.fromkeys(tokens, value), tokens, due=due)

    def net(
        self, earned: Mapping[str, float], tokens: Mapping[str, float], *, due: bool
    ) -> dict[str, float]:
        """What each agent earned in a round, less what it is charged for its tokens.

        With `when=solved` charges are kept until they are `due`, which they are in the last round
        of a solved episode, and in no other.
        """
        costs = self._reward.costs(tokens)
        if self._reward.when == "always":
            return {agent: earned[agent] - cost for agent, cost in costs.items()}
        for agent, cost in costs.items():
            self._owed[agent] += cost
        return {agent: earned[agent] - (self._owed[agent] if due else 0.0) for agent in costs}
