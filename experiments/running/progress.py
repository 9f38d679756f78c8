"""How far a run is: a live display in a terminal, plain lines anywhere else.

It knows names of metrics but not what they mean. Every method is safe to call with metrics that
lack some or all of the shown ones. A thread looks at the clock, so that a step of minutes shows
life: which part of it goes on, for how long, and how long it took the last time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from laconic.envs.dialogue.transcript import printable

SHOWN = {
    "accuracy": ("accuracy", "{:.2f}"),
    "own_accuracy": ("the policy itself solves", "{:.0%}"),
    "tokens_said": ("tokens", "{:.1f}"),
    "tokens_spent": ("with thoughts", "{:.1f}"),
    "silence_rate": ("silence", "{:.2f}"),
    "price": ("price", "{:.3g}"),
    "loss": ("loss", "{:.4g}"),
}
"""Last part of a metric's name -> the word and format it is shown with, in this order."""


class Progress:
    """Shows the progress of a run while it is open as a context."""

    def __init__(
        self,
        total_steps: int,
        description: str,
        *,
        first_step: int = 0,
        every_seconds: float = 5.0,
        doing: Callable[[], tuple[str, float]] = lambda: ("", 0.0),
        life_seconds: float = 60.0,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the display.

        Args:
            total_steps: step at which the run is done.
            description: a word or two for what is running.
            first_step: steps done before, by the part of the run that is now resumed.
            every_seconds: least time between two plain lines; the first and the last always come.
            doing: the part of a step that goes on, in a word, and since when by the clock; asked
                by a thread of its own.
            life_seconds: time without a plain line after which one says what goes on.
            console: where to show it; None is the standard output.
            clock: seconds that only grow.
        """
        self.total_steps = total_steps
        self.description = description
        self.first_step = first_step
        self.every_seconds = every_seconds
        self.console = console or Console()
        self.step = first_step
        self._clock = clock
        self._started = self._updated = clock()
        self._last_line: float | None = None
        self._values: dict[str, str] = {}
        self._note = ""
        self._doing, self._life_seconds = doing, life_seconds
        self._took: dict[str, float] = {}
        self._ended = threading.Event()
        terminal = self.console.is_terminal and not self.console.is_dumb_terminal
        self._live = Live(console=self.console, get_renderable=self._picture) if terminal else None

    def __enter__(self) -> Progress:
        self._started = self._updated = self._clock()
        if self._live is not None:
            self._live.start()
        else:
            threading.Thread(target=self._say_life, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._live is not None:
            self._live.stop()

    def update(self, step: int, metrics: Mapping[str, float]) -> None:
        """Show that so many steps are done.

        Metrics named in `SHOWN` are shown, with or without a group and slash, the first of each.
        """
        self.step = step
        self._updated = self._clock()
        if step <= self.first_step:
            # What is done before the first step (an evaluation) does not count as a step's time.
            self._started = self._updated
        self._values |= shown(metrics)
        self._took |= {name.removeprefix("time/"): value for name, value in metrics.items()}
        if self._live is not None:
            self._live.refresh()
        elif self._line_is_due():
            self._last_line = self._updated
            self._print(self.line())

    def begin(self, part: str) -> None:
        """Say what goes on from now on, in a program that tells it itself."""
        now = self._clock()
        self._doing = lambda: (part, now)

    def note(self, text: str) -> None:
        """Say something that stays visible: it scrolls by once and stays under the figures."""
        self._note = " ".join(text.split())
        self._print(text, style="yellow")

    def line(self) -> str:
        """The present state as one plain line."""
        values = [f"{word} {value}" for word, value in self._values.items()]
        seconds = self._seconds_per_step()
        if seconds is not None:
            left = seconds * (self.total_steps - self.step) - (self._clock() - self._updated)
            values += [f"{pace(seconds)}/step", f"left {duration(left)}"]
        return "  ".join([f"step {self.step}/{self.total_steps}", *values])

    def part(self) -> tuple[str, float, float | None]:
        """What goes on: its name, its seconds so far, and what it took the last time (None: new).

        The last time is that of the metric `time/<name>`.
        """
        name, since = self._doing()
        return name, self._clock() - since, self._took.get(name)

    def life(self) -> str:
        """What goes on, in words; empty where nobody says."""
        name, seconds, last = self.part()
        about = f" of about {duration(last)}" if last is not None and last >= 1.0 else ""
        return f"{name} {duration(seconds)}{about}" if name else ""

    def _say_life(self) -> None:
        """Plain lines while a step lasts."""
        while not self._ended.wait(self._life_seconds):
            since = self._clock() - (self._last_line or self._started)
            if since >= self._life_seconds and (words := self.life()):
                # What follows the last step belongs to it.
                step = min(self.step + 1, self.total_steps)
                self._print(f"step {step}/{self.total_steps}  {words}")

    def _line_is_due(self) -> bool:
        return (
            self._last_line is None
            or self.step >= self.total_steps
            or self._updated - self._last_line >= self.every_seconds
        )

    def _seconds_per_step(self) -> float | None:
        """Mean over the steps of this process; None before the first."""
        steps = self.step - self.first_step
        return (self._updated - self._started) / steps if steps > 0 else None

    def _print(self, text: str, style: str | None = None) -> None:
        """One message, unwrapped when it goes to a file."""
        self.console.print(
            Text(printable(text), style=style or ""), soft_wrap=self._live is None, highlight=False
        )
        if self._live is None:
            self.console.file.flush()

    def _picture(self) -> Group:
        head = Table.grid(padding=(0, 1), expand=True)
        head.add_column(no_wrap=True)
        head.add_column(ratio=1)
        bar = ProgressBar(total=max(self.total_steps, 1), completed=self.step)
        head.add_row(Text(self.description, style="bold"), bar)
        rows: list[Table | Text] = [head, Text(self.line())]
        name, seconds, last = self.part()
        if name:
            inner = Table.grid(padding=(0, 1), expand=True)
            inner.add_column(no_wrap=True)
            inner.add_column(ratio=1)
            # Without a last time nobody knows how long it is; the bar runs to and fro.
            inner.add_row(
                Text(self.life(), style="dim"),
                ProgressBar(
                    total=last or 1.0, completed=min(seconds, last or 0.0), pulse=last is None
                ),
            )
            rows.append(inner)
        if self._note:
            rows.append(Text(self._note, style="yellow", overflow="ellipsis", no_wrap=True))
        return Group(*rows)


def shown(metrics: Mapping[str, float]) -> dict[str, str]:
    """Words and formatted values of the metrics that a display has room for, in fixed order."""
    values: dict[str, float] = {}
    for name, value in metrics.items():
        values.setdefault(name.rpartition("/")[2], value)
    return {
        word: form.format(values[name]) for name, (word, form) in SHOWN.items() if name in values
    }


def pace(seconds: float) -> str:
    """Seconds of one step as `0.52 s`, `12 s` or `2:05`."""
    return f"{seconds:.2g} s" if seconds < 99.5 else duration(seconds)


def duration(seconds: float) -> str:
    """Seconds as `2:05` or `1:02:05`; never below zero."""
    minutes, rest = divmod(max(round(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
