"""Draw a training group for the terminal: episodes side by side, tokens in color."""

from __future__ import annotations

from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from laconic.extras.report.group_view import (
    COLORINGS,
    LEGENDS,
    ShownEpisode,
    ShownGroup,
    ShownTurn,
)

LEAST_WIDTH = 38
"""Minimum width of an episode, columns of the terminal."""
_BELOW_TO_ABOVE = (
    "#ffffff on #8a3a00",
    "#ffffff on #6b3d1c",
    "default on #4a3323",
    "",
    "default on #16384a",
    "#ffffff on #0f4d73",
    "#ffffff on #0065a0",
)
STYLES = {
    **dict(zip(("l0", "l1", "l2", "l3"), ("", *_BELOW_TO_ABOVE[2::-1]), strict=True)),
    "l4": "bold #ffffff on #a83c00",
    **{f"r{place}": style for place, style in enumerate(_BELOW_TO_ABOVE)},
    **{f"a{place}": style for place, style in enumerate(_BELOW_TO_ABOVE)},
    "m1": "#ffffff on #005a42",
    "m0": "strike dim",
}
"""Class of a color -> its style in the terminal."""


def draw(group: ShownGroup | None, coloring: str, width: int) -> RenderableType:
    """Return a group, with as many episodes beside each other as the width allows."""
    if group is None:
        return Text(
            "no training group yet; learners that compare groups write one every ten updates"
        )
    beside = max(width // LEAST_WIDTH, 1)
    head = Text(f"update {group.step}, task {group.task}: {len(group.episodes)} episodes\n")
    head.append(f"color: {COLORINGS[coloring]} ", style="bold")
    for color, meaning in LEGENDS[coloring]:
        head.append(f" {meaning} ", style=STYLES[color] or "default")
    parts: list[RenderableType] = [head]
    for first in range(0, len(group.episodes), beside):
        grid = Table.grid(expand=True, padding=(0, 2, 1, 0))
        row = group.episodes[first : first + beside]
        for _ in range(beside):
            grid.add_column(ratio=1)
        cells = [_episode(each, first + place, coloring) for place, each in enumerate(row)]
        grid.add_row(*cells)
        parts.append(grid)
    return Stack(*parts)


def _episode(shown: ShownEpisode, index: int, coloring: str) -> Text:
    verdict, color = {
        True: ("solved", "green"),
        False: ("not solved", "red"),
        None: ("verdict unknown", "yellow"),
    }[shown.episode.solved]
    text = Text(f"\nepisode {index}: {verdict}\n", style=f"bold {color}")
    text.append(f"{'agent':<12}{'T':>6}{'C':>6}{'X':>6}{'A':>7}\n", style="not bold dim default")
    for each in shown.sequences:
        name = each.agent if each.round is None else f"{each.agent}/{each.round + 1}"
        numbers = (_number(each.task), _number(each.cost), _number(each.value))
        cells = "".join(f"{cell:>6}" for cell in numbers)
        line = f"{name[:12]:<12}{cells}{_number(each.advantage):>7}\n"
        text.append(line, style="not bold default")
    for turn in shown.turns:
        text.append_text(_turn(turn, coloring))
    return text


def _turn(shown: ShownTurn, coloring: str) -> Text:
    turn = shown.turn
    text = Text(f"\n{turn.agent}", style="bold default")
    left_out = ", left out of the loss" if turn.learned is False else ""
    text.append(f"  round {turn.round + 1}{left_out}\n", style="not bold dim")
    for token in shown.tokens:
        style = STYLES.get(token.classes.get(coloring, ""), "")
        text.append(token.text, style=f"not bold {style}")
    if not shown.tokens:
        text.append(turn.message or "(silent)", style="not bold")
    if shown.left_out:
        text.append(f" … {shown.left_out} more tokens", style="not bold dim")
    return text.append("\n")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
