"""The messages of an episode, how agents and people read them, and feedback on them.

Feedback is what the environment says to a team between two rounds about its work so far. `none`:
nothing. `plain`: the request to revise. `level`: the request, and what the benchmark found at each
level of its reward. `expert`: the request, and the words of an outside expert. An expert may quote
an agent, so further lines are indented as in messages and cannot pose as an agent's. MAGRPO (arXiv
2508.04652, section on multi-turn collaboration) uses the last three.
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
"""Takes a task and what each agent wrote; returns what each agent is told, at least for some."""
REVISE = "Revise what you wrote, or say nothing to let it stand."


@dataclass(frozen=True, slots=True)
class Message:
    """One agent's message in one round, as published."""

    agent: str
    """Name of the speaker."""
    round: int
    """Round of the episode, from 0."""
    text: str
    """Published text; empty for silence."""
    tokens: int
    """Length of the text in tokens."""
    cut: bool = False
    """Whether the agent wrote more than its budget allowed."""
    thought: int = 0
    """Tokens of the thought before the message; the thought itself is not stored."""
    act: str = ""
    """Act beside the message, which no agent hears; empty for none, and in a dialogue."""


def heard(messages: Iterable[Message], speakers: Collection[str]) -> str:
    """Return what a listener reads after a round: one line per message of those it hears.

    Further lines of a message are indented, so that no message can pose as another agent's.
    """
    lines = [
        f"{message.agent}: {indented(message.text)}"
        for message in messages
        if message.text and message.agent in speakers
    ]
    return "\n".join(lines) or SILENT_ROUND


def show(messages: Iterable[Message], closing: str = "") -> str:
    """Return the transcript as plain text, oldest message first, silence included.

    Further lines of a message are indented. `closing` is a last line, such as the score.
    """
    lines = []
    for message in messages:
        words = printable(indented(message.text)) or "(silent)"
        mark = " [cut]" if message.cut else ""
        act = f" {printable(message.act)}" if message.act else ""
        lines.append(f"[{message.round}] {message.agent} ({counted(message)}): {words}{mark}{act}")
    return "\n".join([*lines, closing] if closing else lines)


def print_round(messages: Sequence[Message], score: Score | None = None) -> None:
    """Print a table of the messages of one round, and the score after the last round."""
    # Rich takes a while to import.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    title = f"round {messages[0].round}" if messages else None
    table = Table(title=title, title_justify="left", expand=True)
    table.add_column("agent", no_wrap=True)
    table.add_column("tokens", justify="right")
    table.add_column("message", ratio=1)
    for message in messages:
        words = Text(printable(message.text)) if message.text else Text("(silent)", style="dim")
        if message.cut:
            words.append(" [cut]", style="red")
        table.add_row(message.agent, counted(message), words)
    console = Console()
    console.print(table)
    if score is not None:
        outcome = "solved" if score.solved else "not solved"
        answer = printable(score.answer) or "none"
        console.print(f"answer {answer}: {outcome}, score {score.value:g}", markup=False)


def counted(message: Message) -> str:
    """Return the tokens of a message in words: `5`, or `5 + 30 thought`."""
    return (
        f"{message.tokens} + {message.thought} thought" if message.thought else f"{message.tokens}"
    )


def printable(text: str) -> str:
    """Replace control characters, which could rewrite a terminal, by U+FFFD."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def indented(text: str) -> str:
    """Indent all lines of a text but the first."""
    return "\n  ".join(text.splitlines())


class Feedback:
    """Speaks after every round but the last."""

    def __init__(self, benchmark: Benchmark, mode: Mode, expert: Expert | None) -> None:
        """Check that the benchmark or the expert can give this kind of feedback.

        Args:
            benchmark: reports findings in mode `level`.
            mode: one of `MODES`.
            expert: asked in mode `expert`, and in no other.

        Raises:
            UnknownNameError: there is no such mode.
            SettingError: the mode needs an expert or findings, and there are none.
        """
        self._mode: Mode = choice("env.feedback", mode, MODES)
        self._benchmark, self._expert = benchmark, expert
        self.given = mode != "none"
        """Whether agents are told anything between rounds."""
        self.needs_score = mode == "level"
        """Whether the work has to be graded first."""
        if mode == "expert" and expert is None:
            raise SettingError("env.feedback=expert needs env.expert, which was not given")
        if mode == "level" and type(benchmark).findings is Benchmark.findings:
            raise SettingError(
                f"env.feedback=level needs a benchmark that grades in levels; {benchmark.name!r}"
                " does not, so choose plain or none"
            )

    def on(
        self, task: Task, written: Mapping[str, str], score: Score | None, agents: Sequence[str]
    ) -> dict[str, str]:
        """Return what each agent is told; empty in mode `none`.

        Args:
            task: the task of the episode.
            written: last message of each agent that wrote anything.
            score: score of the work so far; needed by mode `level`.
            agents: the listeners.
        """
        if self._mode == "none":
            return {}
        comments: Mapping[str, str] = {}
        if self._mode == "level" and score is not None:
            comments = self._benchmark.findings(task, score, agents)
        elif self._expert is not None:
            advice = self._expert(task, written)
            comments = {
                agent: f"Expert: {indented(text)}" for agent, text in advice.items() if text
            }
        return {agent: "\n".join(filter(None, (comments.get(agent), REVISE))) for agent in agents}
