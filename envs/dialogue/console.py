"""A round of a dialogue printed for people, with rich."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from laconic.envs.dialogue.transcript import Message, counted, printable
from laconic.envs.task import Score


def print_round(messages: Sequence[Message], score: Score | None = None) -> None:
    """Print who said what in one round, silence included, and the score after the last one."""
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
