"""Labels of metrics and formats of numbers for pages, pictures and terminals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from laconic.envs.dialogue.messages import printable
from laconic.learners.metrics import Interval, is_share

LABELS = {
    "accuracy": "accuracy",
    "spoke_if_informed": "spoke with something useful",
    "strict": "accuracy, strict form",
    "stated": "answers in that form",
    "score": "score",
    "reward": "task reward less bills",
    "distance_to_best": "less than the best known team",
    "task_reward": "task reward",
    "billed": "bills of all agents",
    "tokens_said": "tokens said",
    "tokens_read": "tokens read",
    "tokens_thought": "tokens thought",
    "tokens_spent": "tokens said and thought",
    "silence_rate": "silence, all turns",
    "silent_if_uninformed": "silent with nothing useful",
    "facts_told": "useful facts told",
    "listeners": "listeners of a message",
    "unheard_rate": "messages without a listener",
    "cut_rate": "messages cut",
    "truncated_replies": "replies stopped by limit",
    "truncated_rate": "episodes cut short",
    "rounds": "rounds",
}
"""Metric name -> label, in the order of tables."""
NOTHING = "–"
_OF_SAMPLES = "pass@"
"""Beginning of the names of shares over the samples of a task."""


def count(number: int, noun: str) -> str:
    """Write a number of things: `1 step`, `2 steps`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def label(name: str) -> str:
    """Return the label of a metric; an unknown metric keeps its name."""
    return LABELS.get(name, name)


def order(names: set[str]) -> list[str]:
    """Sort metric names in the order of tables, unknown ones last."""
    return [name for name in LABELS if name in names] + sorted(names - LABELS.keys())


def level(name: str, interval: Interval | None) -> str:
    """Write a mean with its interval: `81.2 % [78.7, 83.5]`; a dash for None."""
    if interval is None:
        return NOTHING
    unit = " %" if _is_share(name) else ""
    return _with_ends(name, interval, "", unit)


def split_level(name: str, interval: Interval) -> tuple[str, str]:
    """Write a mean and its interval separately: `81.2 %` and `[78.7, 83.5]`, empty if unknown."""
    mean, _, bracket = level(name, interval).partition(" [")
    return mean, bracket and f"[{bracket}"


def change(
    name: str, before: Interval | None, after: Interval | None, changed: Interval | None
) -> str:
    """Write a change: `+1.3 points [−1.1, +3.7]`, or for tokens `−21.4 [...], −62 %`.

    Args:
        name: name of the metric.
        before: its level before, for the relative change.
        after: its level after.
        changed: the change with its interval; None if unknown.
    """
    if before is None or after is None or changed is None:
        return NOTHING
    unit = " points" if _is_share(name) else ""
    text = _with_ends(name, changed, "+", unit)
    relative = share_of_before(before, after) if name.startswith("tokens") else ""
    return f"{text}, {relative}" if relative else text


def share_of_before(before: Interval, after: Interval) -> str:
    """Write a relative change in percent; empty if the metric was 0 before."""
    if before.mean == 0:
        return ""
    return _signed(f"{100 * (after.mean / before.mean - 1):+.0f}") + " %"


def text_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    whole: Literal["first", "others"],
) -> Table:
    """Make a table for a terminal, with all cells as plain text.

    The first column is left-aligned, the others right-aligned. `whole` columns never wrap.
    """
    table = Table(
        title=Text(printable(title), style="bold"),
        title_justify="left",
        header_style="dim",
        box=SIMPLE_HEAD,
    )
    for column in columns:
        first = column == columns[0]
        table.add_column(
            Text(printable(column)),
            justify="left" if first else "right",
            overflow="fold" if first else "ellipsis",
            no_wrap=first == (whole == "first"),
        )
    for row in rows:
        # As Text, because rich would read the square brackets of overrides as markup.
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def _with_ends(name: str, interval: Interval, sign: str, unit: str) -> str:
    """Write a mean and its interval, unless the interval is unknown or has no width."""
    scale = 100 if _is_share(name) else 1
    size = abs(interval.mean)
    digits = 1 if _is_share(name) or 10 <= size < 1000 else 0 if size >= 1000 else 2

    def number(value: float, digits: int) -> str:
        return _signed(f"{scale * value:{sign}.{digits}f}")

    mean = f"{number(interval.mean, digits)}{unit}"
    # More digits if the ends would otherwise look equal. NaN compares as False.
    for finer in range(digits, 10) if interval.low < interval.high else ():
        low, high = number(interval.low, finer), number(interval.high, finer)
        if low != high:
            return f"{mean} [{low}, {high}]"
    return mean


def _is_share(name: str) -> bool:
    return is_share(name) or name.startswith(_OF_SAMPLES)


def _signed(text: str) -> str:
    """Replace hyphens by minus signs, and remove the sign of zero."""
    if not text.strip("+-0."):
        return text.lstrip("+-")
    return text.replace("-", "−")
