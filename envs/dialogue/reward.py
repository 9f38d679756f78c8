"""The communication-aware reward: the task reward less a price for every token said.

    reward = task reward - price * tokens charged / normalizer

`Pay` keeps three numbers apart: what the task pays, what an agent's own tokens cost (its bill), and
what is taken off its reward (its charge). Messages are charged, and so are the thoughts before
them, by a share of the price.

Agent-GSPO (arXiv 2510.22477) charges verbosity in the reward; its formula is not public, so the
form and the settings here are a reconstruction. Knows nothing of messages or rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
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
        number("env.reward.price", self.price, lowest=0)
        number("env.reward.normalizer", self.normalizer, above=0)
        number("env.reward.thought_weight", self.thought_weight, lowest=0)
        if not math.isfinite(self.price / self.normalizer):
            raise SettingError(
                f"env.reward.price / env.reward.normalizer must be a finite number;"
                f" got {self.price!r} / {self.normalizer!r}"
            )
        choice("env.reward.charge", self.charge, ("own", "team"))
        choice("env.reward.when", self.when, ("always", "solved"))
        choice("env.reward.paid", self.paid, ("end", "round"))
        flag("env.reward.exempt_answer", self.exempt_answer)

    @property
    def rules(self) -> dict[str, str]:
        """The part of `PAY_RULES` that follows from these settings."""
        return {"when": self.when, "charge": self.charge}

    def bills(self, tokens: Mapping[str, float]) -> dict[str, float]:
        """Return what each agent's own tokens cost, at least 0 reward units, whoever pays."""
        rate = self.price / self.normalizer
        return {agent: rate * count for agent, count in tokens.items()}

    def costs(self, tokens: Mapping[str, float]) -> dict[str, float]:
        """Return what each agent is charged, at least 0 reward units, for all agents' tokens."""
        if self.charge == "team":
            rate = self.price / self.normalizer
            return dict.fromkeys(tokens, rate * sum(tokens.values()))
        return self.bills(tokens)


PAY = ("task_reward", "billed", "charged")
"""Keys of infos that say what an agent was paid in a round, of the environments that report it."""
PAY_RULES = ("reward", "when", "charge", "max_reward")
"""Keys of an environment's metadata that say how it pays: `reward` is `common` where the task pays
all agents the same, else `own`; `when` and `charge` are those of `Reward`; `max_reward` is the most
that the task pays an agent in an episode."""


@dataclass(frozen=True, slots=True)
class Pay:
    """What one agent is paid in one round, in reward units."""

    task_reward: float = 0.0
    """What the task pays."""
    billed: float = 0.0
    """What the agent's own tokens of this round cost, whoever is charged for them and when."""
    charged: float = 0.0
    """What is taken off: the agent's own bill or, with `charge=team`, the bills of all agents.
    With `when=solved` it is 0 until the last round of a solved episode."""

    @property
    def reward(self) -> float:
        """The reward: what the task pays, less the charge."""
        return self.task_reward - self.charged

    @property
    def info(self) -> dict[str, float]:
        """The pay as infos have it: `task_reward`, `billed`, `charged`."""
        return asdict(self)


Ending = Literal["", "answer", "score", "silence", "rounds", "budget", "rules"]
"""How an episode ended; empty while it goes on.

`answer`: those who answer have committed to one, or enough voters agree before the last round.
`score`: the answers are as good as `stop_at` asks. `silence`: no agent spoke in a round. `rounds`:
the last round was played. `budget`: the episode budget is spent. `rules`: the world or game is
over.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a round came to."""

    pay: dict[str, Pay]
    """What each agent is paid for the round."""
    score: Score | None
    """Of the work so far; None where it was not graded."""
    ended_by: Ending = ""
    """How the episode ended; empty while it goes on."""


def free_tokens(benchmark: Benchmark, task: Task, words: str, tokenize: Tokenize) -> int | None:
    """Tokens of a message that state its answer; None where it commits to none."""
    committed = benchmark.committed(words)
    if not committed:
        return None
    return min(len(tokenize(committed)), len(tokenize(benchmark.exempt(words, task))))


class Account:
    """The pay of one episode, round by round; charges that wait for its end are kept here."""

    def __init__(self, reward: Reward, agents: Iterable[str]) -> None:
        """Nothing is charged yet to those who earn rewards."""
        self._reward = reward
        self._owed = dict.fromkeys(agents, 0.0)

    def pay(
        self,
        tokens: Mapping[str, float],
        score: Score | None,
        *,
        over: bool = True,
        rounds_left: int = 0,
    ) -> dict[str, Pay]:
        """Pay every agent the score of the answers, less the charge, for one round.

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
        return self.settle(dict.fromkeys(tokens, value), tokens, due=due)

    def settle(
        self, earned: Mapping[str, float], tokens: Mapping[str, float], *, due: bool
    ) -> dict[str, Pay]:
        """Pay each agent what it earned in a round, less the charge for tokens.

        With `when=solved` charges are kept until they are `due`. They are due in the last round
        of a solved episode, and in no other.
        """
        bills, charges = self._reward.bills(tokens), self._reward.costs(tokens)
        if self._reward.when == "solved":
            for agent, cost in charges.items():
                self._owed[agent] += cost
            charges = dict(self._owed) if due else dict.fromkeys(charges, 0.0)
        return {
            agent: Pay(float(earned[agent]), bill, charges[agent]) for agent, bill in bills.items()
        }
