"""Records that a rollout hands to a learner: turns, episodes and groups.

Token ids and log-probabilities are those of the sampling itself. Nothing is turned into text and
tokenized again, because that may give other tokens than were sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from laconic.envs.errors import SettingError
from laconic.learners.interfaces import Usage

Graph = tuple[Mapping[str, tuple[str, ...]], ...]
"""Agents that each agent hears, by round; the cycle starts again when it ends. Agents that are left
out hear none."""


class Parts(NamedTuple):
    """Earnings and cost of a message or an episode; reward units."""

    task: float
    """Task reward."""
    cost: float
    """Cost of words, at the part of the price that the update charges."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One agent in one round: its observation and its reply."""

    agent: str
    """Agent that spoke (or kept silent)."""
    round: int
    """Round of the episode, from 0."""
    message: str
    """Message as published; empty for silence."""
    prompt_ids: tuple[int, ...] = ()
    """Tokens new to this agent's conversation before its reply. Empty for agents without tokens."""
    reply_ids: tuple[int, ...] = ()
    """Tokens as sampled, the silence word and the end token included."""
    behavior_logprobs: tuple[float, ...] = ()
    """Natural log-probability of each reply token under the policy that sampled it."""
    tokens_said: int = 0
    """Tokens that the environment charged for this message."""
    informed: bool | None = None
    """True: the agent held something useful and unsaid; False: it did not; None: not known."""
    cut: bool = False
    """True when the environment published less than the agent wrote."""
    written: str | None = None
    """Text of the agent before the environment cut it. None: the message itself."""
    trained: bool = True
    """False for a turn that is context only: it was provided to the episode, or played to find out
    how an earlier one ends."""
    credit: Parts | None = None
    """Counterfactual credit (difference reward): the message's effect on the team's task reward and
    bills; 0 and 0 for silence. None: not measured."""
    usage: Usage | None = None
    """Tokens and requests that the reply took from a model server. None: no server was asked."""
    read: str = ""
    """Text that the environment showed the agent before it spoke."""
    truncated: bool = False
    """True when the token limit stopped the reply before it ended itself."""
    thought: str = ""
    """Thought of the agent before it spoke; no other agent reads it."""
    tokens_thought: int = 0
    """Tokens of that thought, as the environment counts them."""
    act: str = ""
    """Act of the turn, which is no part of the message (`envs.worlds`); empty without one."""
    version: int | None = None
    """Version of the weights with which an engine sampled the reply. None: there was no engine."""
    feedback: str = ""
    """Comment of the environment on the turn; empty without one."""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What features added to the reply (`Reply.extra`)."""

    def __post_init__(self) -> None:
        """Check that each sampled token has its log-probability (`SettingError`)."""
        if len(self.reply_ids) != len(self.behavior_logprobs):
            raise SettingError(
                f"turn of {self.agent!r} in round {self.round}: expected one log-probability per"
                f" reply token ({len(self.reply_ids)}), got {len(self.behavior_logprobs)}"
            )


@dataclass(frozen=True, slots=True)
class Episode:
    """One play of one task, from reset to termination or truncation."""

    task: str
    """Key of the task."""
    turns: tuple[Turn, ...]
    """Turns of the agents that were called, in the order of rounds."""
    rewards: Mapping[str, tuple[float, ...]]
    """Reward of each agent in each round."""
    score: float = 0.0
    """Task reward without prices, that of time included."""
    solved: bool | None = None
    """True when the task counts as solved. None: the environment does not say."""
    answer: str = ""
    """Answer that was graded."""
    truncated: bool = False
    """True when the environment truncated it; environments of this suite do not."""
    tokens_said: Mapping[str, int] = field(default_factory=dict)
    """Tokens that each agent said, as the environment counts them; empty where it does not."""
    tokens_read: Mapping[str, int] = field(default_factory=dict)
    """Tokens that each agent read, in the same way."""
    tokens_thought: Mapping[str, int] = field(default_factory=dict)
    """Tokens that each agent thought before it spoke, in the same way."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """Further measures of the answers by the environment, by name."""
    task_rewards: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Task reward of each agent in each round, before the charge is taken off; the price of time
    is off already. Empty where the environment does not report it."""
    bills: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Cost of each agent's own tokens in each round, and of those that it heard where reading has a
    price, whichever agents are charged, and when. Empty where the environment does not report
    it."""
    max_reward: float | None = None
    """Largest task reward of an agent in an episode. None where the environment declares none."""
    graded: bool = False
    """True where the task may pay a part of `max_reward`."""
    common: bool = False
    """True where the task pays all agents the same."""
    when: str = "always"
    """Episodes in which tokens are charged: `always`, or `solved` ones only."""
    charge: str = "own"
    """Agents that are charged for a message: its speaker (`own`), or every agent (`team`)."""
    ended_by: str = ""
    """Reason of the end: `answer`, `score`, `silence`, `rounds`, `budget` or `rules`
    (`envs.dialogue.reward.Ending`). Empty where the environment does not say."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Text that the environment showed each agent after its last turn; empty for nothing."""
    topology: Graph = ()
    """Graph that its start set; empty for the topology of the environment."""
    price_share: float = 1.0
    """Part of its bills that a learner charges (`learners.prices`)."""
    weight: float = 1.0
    """Weight in the means of an evaluation."""
    chance: float = 0.0
    """Share of the tasks that luck solves."""

    @property
    def cut_short(self) -> bool:
        """True when a spent episode budget or the environment's truncation ended it."""
        return self.truncated or self.ended_by == "budget"

    @property
    def returns(self) -> dict[str, float]:
        """Undiscounted return of each agent."""
        return {agent: sum(rewards) for agent, rewards in self.rewards.items()}


@dataclass(frozen=True, slots=True)
class Group:
    """Episodes of one task under one policy version, which an advantage compares."""

    task: str
    """Key of the task that all members share."""
    episodes: tuple[Episode, ...]
    """Plays of the task: at least one, and for an advantage that compares them at least two."""
    own: bool = True
    """False for episodes that another run played; figures of this run leave them out."""

    def __post_init__(self) -> None:
        """Refuse a group without episodes, or with one of another task (`SettingError`)."""
        if not self.episodes:
            raise SettingError(f"a group holds at least one episode; {self.task!r} got none")
        others = {episode.task for episode in self.episodes} - {self.task}
        if others:
            raise SettingError(
                f"a group holds episodes of one task; {self.task!r} also got {sorted(others)}"
            )
