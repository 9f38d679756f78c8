"""A world: what is played by acts, round after round, as pure functions of a state.

A world knows who may act and who may talk in a state, what each agent sees of it, which acts are
legal and what comes of them. It knows nothing of budgets, prices, silence and tokens: those are the
environment's (`envs.worlds.environment.WorldEnv`), alike for all worlds. What varies between worlds
of a kind are the fields of its dataclass, which are settings of `envs.make`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar, Generic, TypeVar

import numpy as np

from laconic.envs.task import Explained, Score, Task

State = TypeVar("State")
Act = TypeVar("Act")


@dataclass(frozen=True, slots=True)
class Turns:
    """What the agents may do in a round."""

    acting: frozenset[str] = frozenset()
    """Who may act."""
    talking: frozenset[str] = frozenset()
    """Who may say something that others hear."""
    absent: frozenset[str] = frozenset()
    """Who takes no part now, and hears nothing."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a script is shown of an agent's turn."""

    agent: str
    """Who is in turn."""
    facts: Mapping[str, float]
    """The world's facts for this agent."""
    text: str
    """What is new to the agent since its last turn."""
    spoken: bool
    """Whether it said or did anything before."""


@dataclass(frozen=True, slots=True)
class Manners:
    """How a teacher speaks and acts, by shares from 0 to 1 (`learners.agents.scripted.Teacher`)."""

    terse: float
    """Messages of the fewest words."""
    silent: float
    """Turns to talk in which it says nothing."""
    best: float
    """Acts that are the best there are, where nobody has asked for them."""
    frames: int
    """Wordings around what it says."""


Script = Callable[[Seen, Random], str]
"""What an agent does and says in a turn."""


class World(Explained, Generic[State, Act]):
    """Rules of a world; its tasks are starting states by name."""

    facts: ClassVar[Mapping[str, float]] = {}
    """Names of what can be told of a state in numbers, each with the greatest that it usually is;
    numeric agents see them as shares of that."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Most rounds of an episode."""

    @property
    @abstractmethod
    def team(self) -> Mapping[str, int]:
        """The number of agents of each role, unless `env.team` says another."""

    @property
    def counts(self) -> str:
        """What counts, and how an act is written, in a sentence or two of the rules."""
        return self.answer_form

    @abstractmethod
    def start(self, task: Task, agents: Sequence[str]) -> State:
        """The state in which an episode begins.

        Raises:
            SettingError: the world is not for so many agents.
        """

    @abstractmethod
    def turns(self, state: State) -> Turns:
        """Who may act and who may talk now."""

    @abstractmethod
    def see(self, state: State, agent: str) -> str:
        """What is new to an agent in a state; what was said to it stands before that.

        No line of it may begin as a message of an agent does (`fisher_1: `).
        """

    @abstractmethod
    def read(self, state: State, agent: str, line: str) -> Act | None:
        """The act of a line (`> catch 10`), None where it is no legal act of this agent now."""

    @abstractmethod
    def apply(
        self,
        state: State,
        acts: Mapping[str, Act],
        said: Mapping[str, str],
        generator: np.random.Generator,
    ) -> tuple[State, Mapping[str, float]]:
        """The state after a round, and what each agent gains, in reward units.

        Agents that are not among the acts did nothing legal: they get what the world has for that,
        which costs them nothing. Those that gain nothing may be left out.

        Args:
            state: before the round.
            acts: the legal act of each agent that has one.
            said: what was published of every agent; empty for silence.
            generator: of the episode, for what is left to chance.
        """

    @abstractmethod
    def over(self, state: State) -> bool:
        """Whether the episode ends in this state."""

    @abstractmethod
    def score(self, state: State) -> Score:
        """What the team has reached, without any price."""

    @abstractmethod
    def told(self, state: State, agent: str) -> Mapping[str, float]:
        """The `facts` of a state as an agent knows them, by name; those it does not know are 0."""

    @abstractmethod
    def phrases(self) -> tuple[str, ...]:
        """Acts and sentences for agents that choose by number, the same in every state."""

    @abstractmethod
    def offered(self, state: State, agent: str) -> frozenset[str]:
        """Those of the phrases that make sense now."""

    @abstractmethod
    def longest_act(self) -> str:
        """An act line of which no legal one is longer: so many tokens are kept for acts."""

    @classmethod
    @abstractmethod
    def scripts(cls) -> tuple[str, ...]:
        """Names for `script`; one with a setting ends in a colon, as in `constant:`."""

    @abstractmethod
    def script(self, name: str) -> Script:
        """A team-mate that follows a script.

        Raises:
            UnknownNameError: there is no such script.
        """

    @abstractmethod
    def teacher(self, manners: Manners) -> Script:
        """A team-mate of mixed manners, for a warm start to imitate."""
