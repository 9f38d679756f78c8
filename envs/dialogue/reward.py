"""The communication-aware reward: the task reward less a price for every token.

    reward = task reward - price * tokens charged / normalizer

The task reward is what the task pays, less `round_price` for each round that is played: the price
of time, the same for every agent.

`Pay` keeps three numbers apart: the task reward, the cost of an agent's own tokens (its bill), and
the deduction from its reward (its charge). Messages are charged, and the thoughts before them at a
weight of their own. With `charge=listeners` a message costs its tokens once for each agent that
hears it, and `read_price` also charges those who hear it.

Agent-GSPO (arXiv 2510.22477) charges verbosity in the reward. Its formula is not public, so the
form and the settings here are a reconstruction. This module knows nothing of messages or rounds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from laconic.envs.checks import Bound, NotNegative, Positive, Word, check_fields
from laconic.envs.dialogue.budget import Tokenize
from laconic.envs.errors import SettingError
from laconic.envs.task import Benchmark, Score, Task

DEAREST = 1e6
"""Bound of the cost of a token, of a round and of a weight, far above any use: sums of numbers near
the largest one are infinite."""


@dataclass(frozen=True, slots=True)
class Reward:
    """Price of a token, who is charged, and when."""

    price: NotNegative = 0.0
    """Reward units that `normalizer` tokens cost; 0 gives the plain task reward."""
    normalizer: Positive = 100.0
    """Number of tokens that cost one `price`."""
    charge: Literal["own", "team", "listeners"] = "own"
    """`own`: a message is charged to its speaker. `team`: it is charged to every agent in full.
    `listeners`: its speaker is charged once for each agent that hears it, and once if no agent
    does. No agent hears the messages of the last round, since the episode is over."""
    when: Literal["always", "solved"] = "always"
    """`always`: in the round of the message. `solved`: at the end, and only in solved episodes."""
    paid: Literal["end", "round"] = "end"
    """`end`: the task reward is that of the last answers. `round`: every round pays the score of
    the answers so far (MAGRPO, arXiv 2508.04652: a return is the sum over turns). A team that ends
    an episode by its answer or by silence also earns the last score for the rounds left."""
    exempt_answer: bool = True
    """Do not charge the tokens that state the answer; they still count against the budget. Only the
    plain statement of the answer is free, once per episode for each agent."""

    read_price: NotNegative = 0.0
    """Reward units that `normalizer` tokens cost an agent that hears them. No message token is
    exempt here; names of speakers and texts of the environment are free."""
    thought_weight: Annotated[float, Bound(ge=0, le=DEAREST)] = 1.0
    """Price of a thought token as a share of the price of a message token; 0 is free. No part of a
    thought is exempt."""
    round_price: Annotated[float, Bound(ge=0, le=DEAREST)] = 0.0
    """Reward units that each played round takes off the task reward of every agent, also in silence
    and in failed episodes; the score stays without it. Only where all agents are paid alike."""
    multiply_by: Word | None = None
    """Measure of the answers that multiplies the benchmark's score, such as `source_overlap` of
    `tldr` and `arxiv`; None for none. Whether a task counts as solved does not change."""
    measure: Word | None = None
    """Measure that pays in place of the score, as a control: `stated` pays for the form of an
    answer alone. None: the score pays. Whether a task counts as solved does not change."""

    def __post_init__(self) -> None:
        """Raise SettingError for a number out of its range, UnknownNameError for other words."""
        check_fields(self, "env.reward")
        for key in ("price", "read_price"):
            if not getattr(self, key) / self.normalizer <= DEAREST:
                raise SettingError(
                    f"env.reward.{key} / env.reward.normalizer must be at most {DEAREST:,.0f};"
                    f" got {getattr(self, key)!r} / {self.normalizer!r}"
                )
        if self.measure is not None and self.multiply_by is not None:
            raise SettingError(
                "expected one of env.reward.measure and env.reward.multiply_by; got"
                f" {self.measure} and {self.multiply_by}"
            )

    def bills_and_charges(
        self, tokens: Mapping[str, float], tokens_heard: Mapping[str, int] | None = None
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return the bill and the charge of each agent, at least 0 reward units.

        Args:
            tokens: tokens of each agent that cost; with `charge=listeners` once for each listener.
            tokens_heard: tokens that each agent heard at `read_price`; None for none.
        """
        rate = self.price / self.normalizer
        bills = {agent: rate * count for agent, count in tokens.items()}
        total = rate * sum(tokens.values())
        if tokens_heard:
            read_rate = self.read_price / self.normalizer
            bills = {agent: cost + read_rate * tokens_heard[agent] for agent, cost in bills.items()}
            total += read_rate * sum(tokens_heard.values())
        return bills, dict.fromkeys(tokens, total) if self.charge == "team" else bills


PAY = ("task_reward", "billed", "charged")
"""Keys of infos for the pay of an agent in a round, of the environments that report it."""
PAY_RULES = ("reward", "when", "charge", "round_price", "max_reward", "graded", "chance")
"""Keys of an environment's metadata that say how it pays. `reward` is `common` where the task pays
all agents the same, else `own`; `when`, `charge` and `round_price` are those of `Reward`;
`max_reward` is the most that the task pays an agent in an episode, the price of time aside, and
`graded` is true if it may pay a part of that. `chance` is the share of tasks that luck solves."""


@dataclass(frozen=True, slots=True)
class Pay:
    """Pay of one agent in one round, in reward units."""

    task_reward: float = 0.0
    """Reward of the task, less the price of the round."""
    billed: float = 0.0
    """Cost of the agent's own tokens of this round, even if they are charged to others or later,
    and of the tokens that it heard where `read_price` is above 0."""
    charged: float = 0.0
    """Amount taken off: the agent's own bill or, with `charge=team`, the bills of all agents.
    With `when=solved` it is 0 until the last round of a solved episode."""

    @property
    def reward(self) -> float:
        """Reward of the agent: the task reward less the charge."""
        return self.task_reward - self.charged

    @property
    def info(self) -> dict[str, float]:
        """Entries of an info: `task_reward`, `billed`, `charged`."""
        return {
            "task_reward": self.task_reward,
            "billed": self.billed,
            "charged": self.charged,
        }


Ending = Literal["", "answer", "score", "silence", "rounds", "budget", "rules"]
"""Reason why an episode ended; empty while it runs.

`answer`: the answering agents have committed, or enough voters agree before the last round.
`score`: the score has reached `stop_at`. `silence`: no agent spoke in a round. `rounds`:
the last round was played. `budget`: the episode budget is spent. `rules`: the world or game is
over.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a round."""

    pay: dict[str, Pay]
    """Pay of each agent for the round."""
    score: Score | None
    """Score of the work so far; None if it was not graded."""
    ended_by: Ending = ""
    """Reason why the episode ended; empty while it runs."""
    comments: Mapping[str, str] = field(default_factory=dict)
    """Text of the environment itself for each agent, below the messages; may be empty."""


def free_tokens(benchmark: Benchmark, task: Task, words: str, tokenize: Tokenize) -> int | None:
    """Return the number of tokens of a message that state its answer; None for no answer."""
    committed = benchmark.committed(words)
    if not committed:
        return None
    return min(len(tokenize(committed)), len(tokenize(benchmark.exempt(words, task))))


@dataclass(slots=True)
class Account:
    """The pay of one episode, round by round, and the charges that wait for its end."""

    reward: Reward
    """Price and rules."""
    owed: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Charges of each agent that are not due yet, in reward units."""

    def pay(
        self,
        tokens: Mapping[str, float],
        score: Score | None,
        *,
        tokens_heard: Mapping[str, int] | None = None,
        over: bool = True,
        rounds_left: int = 0,
    ) -> dict[str, Pay]:
        """Pay every agent the score of the answers, less the charge, for one round.

        Args:
            tokens: charged tokens of each agent in this round.
            score: the score of the answers so far; None where they were not graded.
            tokens_heard: tokens that each agent heard at a price; None for none.
            over: whether this round was the last one.
            rounds_left: rounds that were not played because of an answer, silence or a sufficient
                score. Where every round earns the score, these earn the last one, so that it never
                pays to delay the end.
        """
        by_round = self.reward.paid == "round"
        value = score.value if score is not None and (over or by_round) else 0.0
        if by_round:
            value *= 1 + rounds_left
        due = over and score is not None and bool(score.solved)
        return self.settle(dict.fromkeys(tokens, value), tokens, tokens_heard=tokens_heard, due=due)

    def settle(
        self,
        earned: Mapping[str, float],
        tokens: Mapping[str, float],
        *,
        tokens_heard: Mapping[str, int] | None = None,
        due: bool,
    ) -> dict[str, Pay]:
        """Pay each agent its earnings of a round, less the price of the round and the charge.

        Time comes off the earnings and is no charge: it is due whatever `when` says, and no bill
        has a part of it. So all that reads task rewards takes it in.

        With `when=solved` charges are kept until they are `due`. They are due in the last round
        of a solved episode, and in no other.
        """
        bills, charges = self.reward.bills_and_charges(tokens, tokens_heard)
        if self.reward.when == "solved":
            for agent, cost in charges.items():
                self.owed[agent] += cost
            charges = dict(self.owed) if due else dict.fromkeys(charges, 0.0)
        return {
            agent: Pay(float(earned[agent]) - self.reward.round_price, bill, charges[agent])
            for agent, bill in bills.items()
        }
