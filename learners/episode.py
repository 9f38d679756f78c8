"""What a rollout hands to a learner: turns, episodes and groups, immutable and as sampled.

Token ids and log-probabilities are those of the sampling itself. Nothing here is ever turned into
text and tokenised again, because the second tokenisation may differ from what was sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from laconic.envs.errors import SettingError
from laconic.learners.agents.base import Usage


class Parts(NamedTuple):
    """What a message or an episode earned and what it cost, kept apart; reward units."""

    task: float
    """Task reward."""
    cost: float
    """Cost of words at the full price."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One agent in one round: what it read and what it said."""

    agent: str
    """Who spoke (or kept silent)."""
    round: int
    """Round of the episode, from 0."""
    message: str
    """What the environment published; empty for silence."""
    prompt_ids: tuple[int, ...] = ()
    """Tokens new to this agent's conversation before its reply. Empty for agents without tokens."""
    reply_ids: tuple[int, ...] = ()
    """Tokens as sampled, the silence word and the end token among them."""
    behaviour_logprobs: tuple[float, ...] = ()
    """Log-probability of each reply token under the policy that sampled it (natural log)."""
    tokens_said: int = 0
    """Tokens the environment charged for this message."""
    informed: bool | None = None
    """True: the agent held something useful and unsaid; False: it did not; None: not known."""
    cut: bool = False
    """True when the environment published less than the agent wrote."""
    written: str | None = None
    """What the agent wrote before the environment cut it. None: the message itself."""
    trained: bool = True
    """False for a turn that is context only: it was given to the episode, or played to see how an
    earlier one ends."""
    credit: Parts | None = None
    """Counterfactual credit (difference reward): by how much the message changed the team's task
    reward and its bills; 0 and 0 for silence. None: not measured."""
    usage: Usage | None = None
    """What the reply took of a model server. None: no server was asked."""
    read: str = ""
    """What the environment showed the agent before it spoke."""
    truncated: bool = False
    """True when the reply was stopped by its limit of tokens before it had ended itself."""
    thought: str = ""
    """What the agent thought before it spoke; no other agent reads it."""
    tokens_thought: int = 0
    """Tokens of that thought, as the environment counts them."""
    act: str = ""
    """The act of the turn, which is no part of the message (`envs.worlds`); empty without one."""
    version: int | None = None
    """Version of the weights that an engine sampled the reply with. None: there was no engine."""

    def __post_init__(self) -> None:
        """Check that every sampled token has its log-probability."""
        if len(self.reply_ids) != len(self.behaviour_logprobs):
            raise SettingError(
                f"turn of {self.agent!r} in round {self.round}: expected one log-probability per"
                f" reply token ({len(self.reply_ids)}), got {len(self.behaviour_logprobs)}"
            )


@dataclass(frozen=True, slots=True)
class Episode:
    """One play of one task, from reset to termination or truncation."""

    task: str
    """Key of the task."""
    turns: tuple[Turn, ...]
    """Turns of agents that were called, in the order of rounds."""
    rewards: Mapping[str, tuple[float, ...]]
    """Reward of each agent in each round."""
    score: float = 0.0
    """Task reward without price."""
    solved: bool | None = None
    """True when the task counts as solved. None: the environment does not tell."""
    answer: str = ""
    """The answer that was graded."""
    truncated: bool = False
    """True when the environment truncated it; environments of this suite do not."""
    tokens_said: Mapping[str, int] = field(default_factory=dict)
    """Tokens each agent said, as the environment counts them; empty where it does not."""
    tokens_read: Mapping[str, int] = field(default_factory=dict)
    """Tokens each agent read, in the same way."""
    tokens_thought: Mapping[str, int] = field(default_factory=dict)
    """Tokens each agent thought before it spoke, in the same way."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """What else the environment measured of the answers, by name."""
    task_rewards: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """What the task paid each agent in each round; with the charge taken off it is the reward.
    Empty where the environment does not report it."""
    bills: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """What each agent's own tokens cost in each round, whoever is charged for them and when.
    Empty where the environment does not report it."""
    max_reward: float = 1.0
    """The most that the task pays an agent in an episode."""
    common: bool = False
    """True where the task pays all agents the same."""
    when: str = "always"
    """When the environment charges for tokens: `always`, or in `solved` episodes only."""
    charge: str = "own"
    """Who is charged for a message: its speaker (`own`), or every agent (`team`)."""
    ended_by: str = ""
    """How it ended: `answer`, `score`, `silence`, `rounds`, `budget` or `rules`
    (`envs.dialogue.reward.Ending`). Empty where the environment does not say."""

    @property
    def cut_short(self) -> bool:
        """Whether a spent episode budget or the environment's truncation ended it."""
        return self.truncated or self.ended_by == "budget"

    @property
    def returns(self) -> dict[str, float]:
        """Undiscounted return of each agent."""
        return {agent: sum(rewards) for agent, rewards in self.rewards.items()}


@dataclass(frozen=True, slots=True)
class Group:
    """Episodes of one task under one policy version: what an advantage compares.

    Raises:
        SettingError: it has no episode, or one of another task.
    """

    task: str
    """Key of the task all members share."""
    episodes: tuple[Episode, ...]
    """Plays of the task: at least one, and for an advantage that compares them at least two."""
    own: bool = True
    """False for episodes that another run played; figures of this run leave them out."""

    def __post_init__(self) -> None:
        """Refuse groups that no learner can use."""
        if not self.episodes:
            raise SettingError(f"a group holds at least one episode; {self.task!r} got none")
        strangers = {episode.task for episode in self.episodes} - {self.task}
        if strangers:
            raise SettingError(
                f"a group holds episodes of one task; {self.task!r} also got {sorted(strangers)}"
            )
