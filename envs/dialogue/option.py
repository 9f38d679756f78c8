"""Options of a team: settings that change who hears whom, what arrives, what agents say or know.

An environment asks its options at fixed places, in a fixed order, and names none of them. So a new
one is a class that overrides some methods of `Option`, and an entry in `envs.dialogue.chosen`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from laconic.envs.dialogue.budget import Tokenize
from laconic.envs.dialogue.messages import Message
from laconic.envs.dialogue.reward import Reward
from laconic.envs.dialogue.roster import Hearing, Shares
from laconic.envs.task import Task

AnyOption = TypeVar("AnyOption", bound="Option")


class Team(Protocol):
    """What an option sees of its environment."""

    possible_agents: list[str]
    """All agents."""
    agents: list[str]
    """The same while the episode runs, and none after its end."""
    answering: tuple[str, ...]
    """Agents whose messages are graded."""
    hearing: Sequence[Hearing]
    """Topology of the settings, by round."""
    topology: Sequence[Hearing]
    """Topology of the episode, by round."""
    tokenize: Tokenize
    """Function that cuts text into tokens."""
    task: Task
    """Task of the episode."""
    messages: list[Message]
    """Messages of the episode, in the order of rounds and agents."""
    latest: dict[str, Message]
    """Messages of the round."""
    silent: set[str]
    """Agents that could have spoken in the round and did not."""
    links: Hearing
    """Agents that each agent is linked to in the round; the deaf may be missing."""
    heard: Hearing
    """Agents of which each agent hears the message of the round."""

    @property
    def reward(self) -> Reward:
        """Price of a token."""
        ...

    def loses(self, message: Message, listener: str) -> bool:
        """Return whether a message is lost on its way to a listener."""
        ...


class Option:
    """An option of an environment. A method that takes a value passes it on, here unchanged."""

    settings: Any
    """Settings, as the user chose them."""
    on: bool = True
    """False where the settings change nothing."""
    rule: str = ""
    """Sentence of the rules that agents read, after a space."""
    chosen: str = ""
    """Words for the answer that counts, with the field `names` of those that answer; empty: the one
    that most of them give."""
    prefix: str = ""
    """Setting by which a message begins with further words; empty for none."""
    delivers: bool = True
    """False where a message may not reach all that are linked to its speaker."""
    team: Team

    def start(self, team: Team, generator: np.random.Generator) -> bool:
        """Begin an episode; return whether the option takes part in it.

        Its task is drawn and not dealt yet. Options draw from generators that they spawn here, so
        tasks and deals are those without them.
        """
        self.team = team
        return True

    def brief(
        self, parts: dict[str, tuple[str, str]], shares: Shares
    ) -> dict[str, tuple[str, str]]:
        """Return the knowledge and the question that each agent reads at first."""
        return parts

    def act(self, actions: Mapping[str, str], free: dict[str, int]) -> Mapping[str, str]:
        """Return the actions of a round; add to `free` the tokens that are not an agent's own."""
        return actions

    def link(self, linked: Hearing) -> Hearing:
        """Return whom each agent is linked to in a round."""
        return linked

    def hear(self, hears: Hearing) -> Hearing:
        """Return whom each agent hears in a round."""
        return hears

    def loses(self, message: Message, listener: str) -> bool:
        """Return whether a message is lost on its way to a listener."""
        return False

    def deliver(self, texts: dict[str, str]) -> dict[str, str]:
        """Return what each agent reads of the messages of a round."""
        return texts

    def choose(self, answers: dict[str, str], committed: Collection[str]) -> dict[str, str]:
        """Return the messages to grade, of all those that state the answer of an agent.

        Args:
            answers: message of each agent that answers.
            committed: agents that commit to theirs.
        """
        return answers

    def knows(self, agent: str, share: tuple[int, ...], told: bool) -> tuple[tuple[int, ...], bool]:
        """Return the true statements that an agent reads, and whether it has told the others."""
        return share, told

    def reaches(self, message: Message) -> bool:
        """Return whether a message passes on the statements in it."""
        return True

    def info(self, agent: str) -> Mapping[str, Any]:
        """Return further entries of an agent's info."""
        return {}

    def measures(self) -> Mapping[str, float]:
        """Return measures of the episode so far, by name."""
        return {}


def option_of(environment: object, kind: type[AnyOption]) -> AnyOption | None:
    """Return the option of a class that an environment has; None for none."""
    options = getattr(environment, "options", ())
    found = (each for each in options if isinstance(each, kind))
    return next(found, None) if isinstance(options, tuple) else None
