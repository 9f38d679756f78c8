"""World: a game played by acts, as pure functions of a state.

A world has rules (`start`, `observe`, `apply`), legal acts (`acts`) and an outcome (`score`).
Everything else has a default. `envs.worlds.environment.WorldEnv` adds budgets, prices, silence and
tokens, the same for every world. The fields of a world's dataclass are settings of `envs.make`.

The last line of a message is an act if it begins with `>`; the rest is speech:

    I think 10 each is sustainable.
    > catch 10

Other agents do not hear the act. A world's observations reveal as much of it as the rules say. Any
other line that begins with `>` is speech. Quoted messages are indented or begin with a name, so a
quote is never an act.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from laconic.envs.benchmarks.generation import Candidate, draw_different
from laconic.envs.checks import check_names
from laconic.envs.errors import UnknownNameError
from laconic.envs.task import PromptedTask, Score, Split, Task

State = TypeVar("State")
Act = TypeVar("Act")

MARK = ">"
"""First character of an act line."""


def split_act(message: str) -> tuple[str, str]:
    """Split a message into speech and act line; either may be empty.

    Blank lines after the act are dropped.
    """
    speech, _, last = message.rstrip().rpartition("\n")
    if not last.startswith(MARK):
        return message, ""
    return speech.rstrip(), last


def join_act(speech: str, act: str) -> str:
    """Join speech and act line into a message, the inverse of `split_act`."""
    return "\n".join(filter(None, (speech, act)))


def act_line(act: str) -> str:
    """Write an act as a line of a message (`catch 10` as `> catch 10`)."""
    return f"{MARK} {act}"


@dataclass(frozen=True, slots=True)
class TurnView:
    """An agent's turn, as a script sees it."""

    agent: str
    """Name of the agent."""
    facts: Mapping[str, float]
    """The world's facts for this agent, by name."""
    text: str
    """Text that is new to the agent since its last turn."""
    has_spoken: bool
    """True if the agent said or did anything before."""
    offered: Sequence[str] = ()
    """Act lines and phrases that make sense now (`World.offered`)."""
    earlier: str = ""
    """Text that the agent read before its last turn."""
    round: int = 0
    """Round of the episode, from 0."""
    said: Sequence[str] = ()
    """Messages that the agent wrote in its turns before, the first one first; empty for silence."""


@dataclass(frozen=True, slots=True)
class TeacherStyle:
    """How a teacher speaks and acts (`learners.agents.scripted.Teacher`)."""

    terse: float
    """Fraction of messages in the fewest words, 0 to 1."""
    silent: float
    """Fraction of turns to talk that the teacher skips, 0 to 1."""
    best: float
    """Fraction of acts that are optimal although no teammate asked for them, 0 to 1."""
    frames: int
    """Number of wordings for a wordy message, at least 1."""


Script = Callable[[TurnView, Random], str]
"""Maps a turn to a message, drawing from the generator."""


class World(PromptedTask, Generic[State, Act]):
    """Rules of a game.

    A subclass defines `name`, `goal`, `acts`, `team`, `rounds` and four functions: `start`,
    `observe`, `apply` and `score`. The defaults suit a game in which all agents act and talk in
    every round. For alternating moves, `legal_acts` returns nothing to the agents that wait.
    """

    acts: Sequence[str] = ()
    """Acts that agents choose from, without the mark (`catch 10`). Numeric agents choose from these
    alone. A world whose acts are too many to list has a `parse_act` of its own."""
    phrases: Sequence[str] = ()
    """Messages that numeric agents choose from."""
    only_phrases: ClassVar[bool] = False
    """True if agents hear a message only if it is one of `phrases`, whole. Any other words are
    illegal: charged and unheard."""
    facts: ClassVar[Mapping[str, float]] = {}
    """Name of each number that describes a state, with its usual maximum. Numeric agents observe
    each fact as a fraction of that."""
    script_names: ClassVar[Sequence[str]] = ()
    """Names that `script` takes; one with a setting ends in a colon (`constant:`). A world's own
    `silent` or `random` is played in place of the usual one."""
    defaults: ClassVar[Mapping[str, Any]] = {"budget": {"message": 48}}
    common_reward: ClassVar[bool] = False
    """True if all agents gain the same in every round."""
    verdict: ClassVar[bool] = True
    """True if an episode is solved or not. False: `Score.solved` is None in all of them."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Maximum number of rounds in an episode."""

    @property
    @abstractmethod
    def team(self) -> Mapping[str, int]:
        """Number of agents of each role; `env.team` overrides it."""

    @abstractmethod
    def start(self, task: Task, agents: Sequence[str], generator: np.random.Generator) -> State:
        """Return the first state of an episode.

        Args:
            task: task of the episode.
            agents: all agents, in order.
            generator: generator of the episode, for what agents see by chance. Equal seeds draw
                equally, so the episodes of a group begin alike.

        Raises:
            SettingError: the world does not take this number of agents.
        """

    @abstractmethod
    def observe(self, state: State, agent: str) -> str:
        """Return the text that is new to an agent in this state; messages it heard come first.

        No line may begin like another agent's message (`fisher_1: `).
        """

    @abstractmethod
    def apply(
        self,
        state: State,
        acts: Mapping[str, Act],
        messages: Mapping[str, str],
        generator: np.random.Generator,
    ) -> tuple[State, Mapping[str, float]]:
        """Play a round; return the next state and each agent's gain in reward units.

        An agent without a legal act is missing from `acts` and gets the world's default, which must
        not cost it reward. Agents without a gain may be left out.

        Args:
            state: state before the round.
            acts: legal act of each agent that has one.
            messages: published message of each agent; empty for silence.
            generator: generator of the episode, for random outcomes.
        """

    @abstractmethod
    def score(self, state: State) -> Score:
        """Return the team's result at the end of an episode, prices aside."""

    def is_over(self, state: State) -> bool:
        """Return True if the episode ends before its last round."""
        return False

    def legal_acts(self, state: State, agent: str) -> Collection[str]:
        """Return the acts open to an agent now, without the mark; empty if it is not its turn."""
        return self.acts

    def parse_act(self, state: State, agent: str, text: str) -> Act | None:
        """Parse an act without its mark; None if it is not legal for this agent now.

        The default returns the text itself if it is one of `legal_acts`.
        """
        act: Any = text.strip()
        return act if act in self.legal_acts(state, agent) else None

    def may_talk(self, state: State, agent: str) -> bool:
        """Return True if other agents hear this agent's messages now."""
        return True

    def is_present(self, state: State, agent: str) -> bool:
        """Return True if the agent takes part now; an absent one hears nothing."""
        return True

    def facts_for(self, state: State, agent: str) -> Mapping[str, float]:
        """Return the value of every fact as the agent knows it; 0 for unknown ones."""
        return {}

    def longest_acts(self) -> Collection[str]:
        """Return acts that no legal one exceeds in tokens; a turn reserves room for the longest."""
        return self.acts

    def menu(self) -> tuple[str, ...]:
        """Return every act line and phrase, the same in all states."""
        return (*map(act_line, self.acts), *self.phrases)

    def offered(self, state: State, agent: str) -> tuple[str, ...]:
        """Return the part of the menu that makes sense for an agent now."""
        if not self.is_present(state, agent):
            return ()
        legal = frozenset(self.legal_acts(state, agent))
        acts = tuple(act_line(act) for act in self.acts if act in legal) if legal else ()
        return acts + (tuple(self.phrases) if self.may_talk(state, agent) else ())

    def script(self, name: str) -> Script:
        """Return a scripted teammate.

        Raises:
            UnknownNameError: no script has this name.
        """
        raise UnknownNameError("agent.script", name, self.script_names)

    def teacher(self, style: TeacherStyle) -> Script:
        """Return the teammate that a warm start imitates; by default one that plays at random."""
        return RandomPlay(style.silent)

    def generate(
        self, seed: int, count: int, *, split: Split = "train", **settings: Any
    ) -> tuple[Task, ...]:
        """Enumerate the episodes of a split; see `PromptedTask.generate`.

        A world whose episodes start in different states has a generator of its own.
        """
        check_names("setting of env.generator", settings, ("seed",))

        def draw(random: Random, key: str) -> Candidate[Task]:
            number = str(random.randrange(10**9))
            return Candidate(number, lambda: Task(key, f"{self.name} {number}", (), ""))

        return draw_different(draw, seed, count, split, "episodes")

    def all_tasks(self, agents: Sequence[str]) -> tuple[Task, ...]:
        """Return every state in which an episode may start, as a task with its probability.

        An evaluation of all tasks (`evaluation.tasks=null`) then plays these and is exact. Empty,
        the default, where they cannot be listed: it plays generated tasks.

        Args:
            agents: all agents, in order.
        """
        return ()

    def best_reward(self, agents: Sequence[str], price: float, round_price: float) -> float | None:
        """Return what the best team that is known earns in the mean; None where none is known.

        Args:
            agents: all agents, in order.
            price: task reward that the cheapest phrase costs its speaker.
            round_price: task reward that a round costs the team.
        """
        return None

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """Roles of the team."""
        return tuple(self.team)

    @property
    def duties(self) -> Mapping[str, str]:  # type: ignore[override]
        """Description of each role; by default how to act."""
        return dict.fromkeys(self.team, self.answer_form)

    @property
    def answer_form(self) -> str:  # type: ignore[override]
        """Explanation of how an act is written, and of the words that are heard."""
        lines = ", ".join(f"`{act_line(act)}`" for act in self.acts)
        parts = [f"To act, end your message with one of these lines: {lines}."] if lines else []
        if self.only_phrases:
            words = ", ".join(f"`{phrase}`" for phrase in self.phrases)
            parts.append(f"No other words than one of these are heard: {words}.")
        return " ".join(parts)

    @property
    def aim(self) -> str:
        """Sentence of the rules about the goal."""
        who = "the team gains" if self.common_reward else "you gain"
        return f"What counts is what {who} in all rounds together."


@dataclass(frozen=True, slots=True)
class RandomPlay:
    """A script that plays random legal acts and says random phrases."""

    silent: float
    """Fraction of turns to talk without a phrase, 0 to 1."""

    def __call__(self, turn: TurnView, random: Random) -> str:
        """Return an act that is legal now, if there is any, after a phrase or silence."""
        acts = [line for line in turn.offered if line.startswith(MARK)]
        phrases = [line for line in turn.offered if not line.startswith(MARK)]
        says = phrases and random.random() >= self.silent
        return join_act(random.choice(phrases) if says else "", random.choice(acts) if acts else "")
