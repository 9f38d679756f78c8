"""What was said in an episode, how it is shown to agents and to people, and feedback on it.

Feedback is what the environment says to a team between two rounds, about what it has written so
far. `none`: nothing. `plain`: the request to revise. `level`: that, and what the benchmark found at
each level of its reward. `expert`: the request, and the words of an outside expert, who may quote
an agent: further lines are indented as in messages, so that none can pose as an agent's. MAGRPO
(arXiv 2508.04652, section on multi-turn collaboration) uses the last three.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from laconic.envs.checks import choice
from laconic.envs.errors import SettingError
from laconic.envs.task import Benchmark, Score, Task

SILENT_ROUND = "Nobody spoke."
Mode = Literal["none", "plain", "level", "expert"]
MODES: tuple[Mode, ...] = ("none", "plain", "level", "expert")
Expert = Callable[[Task, Mapping[str, str]], Mapping[str, str]]
"""From a task and what each agent wrote to what each agent is told; an agent may be left out."""
REVISE = "Revise what you wrote, or say nothing to let it stand."


@dataclass(frozen=True, slots=True)
class Message:
    """One agent's words in one round, as published."""

    agent: str
    """Who spoke."""
    round: int
    """Round of the episode, from 0."""
    text: str
    """What was published; empty for silence."""
    tokens: int
    """Length of the text in tokens."""
    cut: bool = False
    """True when the agent wrote more than its budget allowed."""
    thought: int = 0
    """Tokens of what it thought before; the thought itself is kept nowhere."""
    act: str = ""
    """What it did beside speaking, which nobody hears; empty where nothing, or in a dialogue."""


def heard(messages: Iterable[Message], speakers: Collection[str]) -> str:
    """What a listener reads after a round: one line per message of those it hears.

    Further lines of a message are indented, so that no message can pose as another agent's.
    """
    lines = [
        f"{message.agent}: {indented(message.text)}"
        for message in messages
        if message.text and message.agent in speakers
    ]
    return "\n".join(lines) or SILENT_ROUND


def show(messages: Iterable[Message], closing: str = "") -> str:
    """The transcript as plain text, oldest first, silence included, further lines indented too.

    `closing` is a last line, such as the score; left out when empty.
    """
    lines = []
    for message in messages:
        words = printable(indented(message.text)) or "(silent)"
        mark = " [cut]" if message.cut else ""
        act = f" {printable(message.act)}" if message.act else ""
        lines.append(f"[{message.round}] {message.agent} ({counted(message)}): {words}{mark}{act}")
    return "\n".join([*lines, closing] if closing else lines)


def counted(message: Message) -> str:
    """The tokens of a message in words: `5`, or `5 + 30 thought`."""
    return (
        f"{message.tokens} + {message.thought} thought" if message.thought else f"{message.tokens}"
    )


def printable(text: str) -> str:
    """The text for people: control characters, which could rewrite a terminal, become U+FFFD."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def indented(text: str) -> str:
    """The text with all lines but the first indented."""
    return "\n  ".join(text.splitlines())


class Feedback:
    """Speaks after every round but the last."""

    def __init__(self, benchmark: Benchmark, mode: Mode, expert: Expert | None) -> None:
        """Check that there is somebody who can say something.

        Args:
            benchmark: knows what it found.
            mode: one of `MODES`.
            expert: asked in mode `expert`, and in no other.

        Raises:
            UnknownNameError: there is no such mode.
            SettingError: the mode needs an expert or findings, and there are none.
        """
        self._mode: Mode = choice("env.feedback", mode, MODES)
        self._benchmark, self._expert = benchmark, expert
        if mode == "expert" and expert is None:
            raise SettingError("env.feedback=expert needs env.expert, which was not given")
        if mode == "level" and type(benchmark).findings is Benchmark.findings:
            raise SettingError(
                f"env.feedback=level needs a benchmark that grades in levels; {benchmark.name!r}"
                " does not, so choose plain or none"
            )

    @property
    def is_none(self) -> bool:
        """Whether nothing is ever said."""
        return self._mode == "none"

    @property
    def needs_score(self) -> bool:
        """Whether what was written has to be graded first."""
        return self._mode == "level"

    def on(
        self, task: Task, written: Mapping[str, str], score: Score | None, agents: Sequence[str]
    ) -> dict[str, str]:
        """What each agent is told; in mode `none` nobody is told anything.

        Args:
            task: what they work at.
            written: what each agent wrote last, where it wrote anything.
            score: of what was written; asked for by mode `level`.
            agents: who listens.
        """
        if self._mode == "none":
            return {}
        found: Mapping[str, str] = {}
        if self._mode == "level" and score is not None:
            found = self._benchmark.findings(task, score, agents)
        elif self._expert is not None:
            said = self._expert(task, written)
            found = {agent: f"Expert: {indented(text)}" for agent, text in said.items() if text}
        return {agent: "\n".join(filter(None, (found.get(agent), REVISE))) for agent in agents}
