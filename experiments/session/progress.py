"""Show the progress of a run: a live display in a terminal, plain lines anywhere else.

Every method accepts metrics that lack some or all of the displayed ones. A thread watches the
clock, so a step of minutes shows which part of it runs, for how long, and how long it took the last
time.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Mapping

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from laconic.envs.dialogue.messages import printable

SHOWN = {
    "accuracy": ("accuracy", "{:.0f} %"),
    "own_accuracy": ("the policy itself solves", "{:.0f} %"),
    "score": ("score", "{:.2f}"),
    "tokens_said": ("tokens", "{:.1f}"),
    "silence_rate": ("silence", "{:.0f} %"),
    "price": ("price", "{:.3g}"),
    "loss": ("loss", "{:.4g}"),
    # Last, so that a step without thoughts moves no other value.
    "tokens_spent": ("with thoughts", "{:.1f}"),
}
"""Last part of a metric's name -> its label and format, in the order of the display. Shares are in
percent, as in reports. The score stands where no accuracy is known, and thoughts where there are
any."""


_RARE = "own_accuracy"
"""Name of `SHOWN` that is measured every few steps; between them it stands with its step."""


class Progress:
    """Shows the progress of a run while it is open as a context."""

    def __init__(
        self,
        total_steps: int,
        description: str,
        *,
        first_step: int = 0,
        every_seconds: float = 5.0,
        phase: Callable[[], tuple[str, float]] = lambda: ("", 0.0),
        left: Callable[[], float] = lambda: math.inf,
        life_seconds: float = 60.0,
        hidden: Collection[str] = (),
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the display.

        Args:
            total_steps: step at which the run is done.
            description: name of the program, in a word or two.
            first_step: steps of earlier parts of a resumed run.
            every_seconds: minimum time between two plain lines, except the first and the last.
            phase: returns the current part of a step and its start by `clock`; called by a thread.
            left: returns the seconds until a time limit ends the run.
            life_seconds: time without a plain line after which one names the current part.
            hidden: names of `SHOWN` that are left out.
            console: console of the display; None is the standard output.
            clock: returns seconds that never decrease.
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
        self._phase, self._left, self._life_seconds = phase, left, life_seconds
        self._hidden = hidden
        self._measured: tuple[float, int] | None = None
        self._durations: dict[str, float] = {}
        self._closed = threading.Event()
        terminal = self.console.is_terminal and not self.console.is_dumb_terminal
        self._live = Live(console=self.console, get_renderable=self._render) if terminal else None

    def __enter__(self) -> Progress:
        self._started = self._updated = self._clock()
        if self._live is not None:
            self._live.start()
        else:
            threading.Thread(target=self._print_life, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closed.set()
        if self._live is not None:
            self._live.stop()

    def update(self, step: int, metrics: Mapping[str, float]) -> None:
        """Show that `step` steps are done, with their metrics that `SHOWN` names, and no others."""
        self.step = step
        self._updated = self._clock()
        if step <= self.first_step:
            # An evaluation before the first step does not count as a step's time.
            self._started = self._updated
        # What an earlier step had would be read as a value of this one.
        self._values = self._shown(metrics)
        self._durations |= {name.removeprefix("time/"): value for name, value in metrics.items()}
        if self._live is not None:
            self._live.refresh()
        elif (
            self._last_line is None
            or step >= self.total_steps
            or self._updated - self._last_line >= self.every_seconds
        ):
            self._last_line = self._updated
            self._print(self.line())

    def begin(self, part: str) -> None:
        """Name the current part, in a program that passes no `phase`."""
        now = self._clock()
        self._phase = lambda: (part, now)

    def note(self, text: str) -> None:
        """Print a note, which also stays under the live display."""
        self._note = " ".join(text.split())
        self._print(text, style="yellow")

    def line(self) -> str:
        """Return the present state as one plain line."""
        values = [f"{label} {value}" for label, value in self._values.items()]
        if (steps := self.step - self.first_step) > 0:
            seconds = (self._updated - self._started) / steps
            rest = seconds * (self.total_steps - self.step) - (self._clock() - self._updated)
            # A last step has no time left, whatever a limit would allow.
            rest = min(rest, self._left()) if self.step < self.total_steps else 0.0
            values += [f"{pace(seconds)}/step", f"left {duration(rest)}"]
        return "  ".join([f"step {self.step}/{self.total_steps}", *values])

    def part(self) -> tuple[str, float, float | None]:
        """Return the current part: its name, seconds so far, and seconds of the last time.

        The last time is the metric `time/<name>`; None for a part that never ended.
        """
        name, since = self._phase()
        return name, self._clock() - since, self._durations.get(name)

    def life(self) -> str:
        """Return the current part as a text; empty if it has no name."""
        name, seconds, last = self.part()
        about = f" of about {duration(last)}" if last is not None and last >= 1.0 else ""
        return f"{name} {duration(seconds)}{about}" if name else ""

    def _shown(self, metrics: Mapping[str, float]) -> dict[str, str]:
        """Return labels and values of a step; a rare metric keeps its last value and its step."""
        rare = [value for name, value in metrics.items() if name.rpartition("/")[2] == _RARE]
        if rare:
            self._measured = rare[0], self.step
        if self._measured is None:
            return shown(metrics, self._hidden)
        value, step = self._measured
        values = shown({**metrics, _RARE: value}, self._hidden)
        if step < self.step:
            values[SHOWN[_RARE][0]] += f" (step {step})"
        return values

    def _print_life(self) -> None:
        """Print plain lines during a long step."""
        while not self._closed.wait(self._life_seconds):
            since = self._clock() - (self._last_line or self._started)
            if since >= self._life_seconds and (text := self.life()):
                # The work after the last step belongs to it.
                step = min(self.step + 1, self.total_steps)
                self._print(f"step {step}/{self.total_steps}  {text}")

    def _print(self, text: str, style: str = "") -> None:
        """Print one message, without wrapping it in a file."""
        message = Text(printable(text), style=style)
        self.console.print(message, soft_wrap=self._live is None, highlight=False)
        if self._live is None:
            self.console.file.flush()

    def _render(self) -> Group:
        passed = self._clock() - self._started
        in_time = passed / max(passed + self._left(), 1e-9)
        done = max(self.step / max(self.total_steps, 1), in_time)
        bar = ProgressBar(total=1.0, completed=done)
        rows = [_row(Text(self.description, style="bold"), bar), Text(self.line())]
        name, seconds, last = self.part()
        if name:
            # A part without a last time has no known length, so its bar pulses.
            elapsed = min(seconds, last or 0.0)
            bar = ProgressBar(total=last or 1.0, completed=elapsed, pulse=last is None)
            rows.append(_row(Text(self.life(), style="dim"), bar))
        if self._note:
            rows.append(Text(self._note, style="yellow", overflow="ellipsis", no_wrap=True))
        return Group(*rows)


def _row(text: Text, bar: ProgressBar) -> Table | Text:
    """Return a text with a bar beside it over the rest of the width."""
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(no_wrap=True)
    row.add_column(ratio=1)
    row.add_row(text, bar)
    return row


def shown(metrics: Mapping[str, float], hidden: Collection[str] = ()) -> dict[str, str]:
    """Return the labels and formatted values of the metrics in `SHOWN`, the first of each name."""
    values: dict[str, float] = {}
    for name, value in metrics.items():
        values.setdefault(name.rpartition("/")[2], value)
    if not values.keys().isdisjoint(("accuracy", "own_accuracy")):
        values.pop("score", None)
    if values.get("tokens_spent") == values.get("tokens_said"):
        values.pop("tokens_spent", None)
    return {
        label: form.format(values[name] * (100 if form.endswith("%") else 1))
        for name, (label, form) in SHOWN.items()
        if name in values and name not in hidden
    }


def pace(seconds: float) -> str:
    """Return the seconds of one step as `0.52 s`, `12 s` or `2:05`."""
    return f"{seconds:.2g} s" if seconds < 99.5 else duration(seconds)


def duration(seconds: float) -> str:
    """Return seconds as `2:05` or `1:02:05`; never below zero."""
    minutes, rest = divmod(max(round(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
