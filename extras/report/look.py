"""Draw the pictures of reports: colors, frame and marks.

matplotlib and pillow come with the extra `pictures`. Without them no picture is drawn.

The palette is that of M. Okabe and K. Ito, "Color universal design" (2008): its colors can be told
apart with every common form of color blindness. Marks also differ in shape.
"""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from laconic.envs.errors import install
from laconic.experiments.command_line.echo import echo
from laconic.learners.metrics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = ["INK", "draw", "in_percent", "mark", "marks"]

LEFT_OUT = f"left out, because matplotlib or pillow is missing; {install('pictures')} brings them"
"""Message for the user if pictures cannot be drawn."""
INK, MUTED, RULE = "#1b2430", "#687385", "#d9dee5"
"""Colors of text and lines, of labels, and of the grid."""
BLUE, RED, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PINK, SKY, GREY = "#CC79A7", "#56B4E9", "#7b8490"
PALETTE = (BLUE, RED, GREEN, ORANGE, PINK, SKY, INK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_MOST_POINTS = 120
"""Maximum number of labeled points per line."""
_COLORS = 128
"""Number of colors of a picture: the palette and shades that smooth the edges."""
_REACHED = {"accuracy": "tasks solved", "score": "score of an episode"}

_STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": RULE,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "figure.dpi": 150,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "grid.color": "#e9ecf0",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handletextpad": 0.5,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    # Overrides are plain text: a dollar sign does not begin a formula.
    "text.parse_math": False,
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelsize": 8.5,
    "xtick.major.size": 3,
    "ytick.color": MUTED,
    "ytick.labelsize": 8.5,
    "ytick.major.size": 0,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished picture."""

    name: str
    """File name without its ending."""
    caption: str
    """Caption of one or two sentences; also the text for screen readers."""
    png: bytes
    """Picture as PNG; empty if the extra `pictures` is missing."""
    wide: bool = False
    """True if the picture needs the whole width of a page."""
    points: tuple[tuple[float, float, str], ...] = ()
    """Labels of points for a page: percent from the left, percent from the top, text."""

    def save(self, folder: Path) -> None:
        """Write the picture into a folder; print a note if it could not be drawn."""
        if self.png:
            (folder / f"{self.name}.png").write_bytes(self.png)
        else:
            echo(f"picture: {LEFT_OUT}")


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a line that has a name (`gid`)."""

    place: tuple[float, float]
    """Position in the picture, percent from the left and from the top."""
    name: str
    """Name of the line."""
    at: tuple[float, float]
    """Coordinates in the data."""


@functools.cache
def can_draw() -> bool:
    """Return whether the extra `pictures` is installed."""
    return all(find_spec(name) for name in ("matplotlib", "PIL"))


def draw(
    width: float, height: float, panels: int, paint: Callable[..., None], *, rows: int = 1
) -> bytes:
    """Draw a picture as `draw_with_points` does, and return only the PNG."""
    return draw_with_points(width, height, panels, paint, rows=rows)[0]


def draw_with_points(
    width: float, height: float, panels: int, paint: Callable[..., None], *, rows: int = 1
) -> tuple[bytes, list[Point]]:
    """Draw a picture in the style of reports, without a window or global state of matplotlib.

    Args:
        width: width, inches.
        height: height, inches.
        panels: number of axes that `paint` gets.
        paint: function that draws on the axes.
        rows: number of rows of axes; it divides `panels`.

    Returns:
        The picture as PNG, and at most `_MOST_POINTS` points of each named line. Both are empty
        if the extra `pictures` is missing.
    """
    if not can_draw():
        return b"", []
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with matplotlib.rc_context(_STYLE):
        layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1)
        figure = Figure(figsize=(width, height), layout=layout, facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, panels // rows, squeeze=False).ravel()
        paint(*axes)
        return _png(figure), [point for panel in axes for point in _points(panel, figure)]


def _png(figure: Figure) -> bytes:
    """Save a figure as PNG with few colors, a third of the size; equal runs give equal files."""
    from PIL import Image

    buffer, small = io.BytesIO(), io.BytesIO()
    figure.savefig(buffer, format="png")
    whole = Image.open(buffer)
    reduced = whole.convert("RGB").quantize(
        _COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )
    reduced.save(small, "PNG", optimize=True, dpi=whole.info["dpi"])
    return small.getvalue()


def _points(axes: Axes, figure: Figure) -> Iterator[Point]:
    """Yield the points of a panel's named lines, after the layout."""
    for line in axes.lines:
        if name := line.get_gid():
            xs, ys = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
            every = -(-len(xs) // _MOST_POINTS) or 1
            for x, y in zip(xs[::every], ys[::every], strict=True):
                across, up = axes.transData.transform((x, y)) / figure.bbox.size
                yield Point((100 * across, 100 * (1 - up)), name, (float(x), float(y)))


def placeholder(axes: Axes, words: str) -> None:
    """Write words on axes that have no data."""
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=MUTED)


def marks(count: int) -> list[tuple[str, str]]:
    """Return this number of pairs of color and shape; the first 49 differ."""
    # The shape changes at another pace than the color.
    return [
        (PALETTE[i % len(PALETTE)], MARKERS[(i + i // len(PALETTE)) % len(MARKERS)])
        for i in range(count)
    ]


def mark(
    axes: Axes,
    at: tuple[Interval, Interval],
    look: tuple[str, str],
    name: str,
    *,
    size: float = 9.0,
    hollow: bool = False,
    **more: Any,
) -> None:
    """Draw one point with horizontal and vertical bars for its intervals.

    A `hollow` mark is white inside; `more` are arguments for both calls of matplotlib.
    """
    (color, shape), (x, y) = look, at
    bars: Any = {"fmt": "none", "ecolor": color, "elinewidth": 1.4, "capsize": 3, "zorder": 4}
    axes.errorbar(x.mean, y.mean, xerr=_reach(x), yerr=_reach(y), **bars, **more)
    axes.plot(
        x.mean,
        y.mean,
        linestyle="none",
        marker=shape,
        color=color,
        markersize=size,
        markerfacecolor="white" if hollow else color,
        markeredgecolor=color if hollow else "white",
        markeredgewidth=1.6 if hollow else 1.0,
        zorder=5,
        label=name,
        **more,
    )


def floors(axes: Axes, lines: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Draw frontiers, the fewest tokens at each accuracy: name -> (tokens, accuracy) corners."""
    for (name, corners), dash in zip(lines.items(), ((1, 1.5), (3, 2), (6, 2)), strict=False):
        x, y = zip(*corners, strict=True)
        style: Any = {"color": MUTED, "linewidth": 1.3, "linestyle": (0, dash), "zorder": 2}
        axes.plot(x, y, label=f"fewest, {name}", **style)


def against_tokens(axes: Axes, goal: str, thinking: bool = False) -> None:
    """Label the axes of a picture of accuracy or score against tokens."""
    tokens = "tokens said and thought" if thinking else "tokens said"
    axes.set(xlabel=f"{tokens} in an episode (fewer is better)", ylabel=_REACHED[goal])
    ticks(axes.yaxis, 8)
    if goal == "accuracy":
        in_percent(axes.yaxis)
    axes.grid(True, axis="both")


def ticks(axis: Axis, count: int, integer: bool = False) -> None:
    """Put about `count` round numbers on an axis."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(count, steps=[1, 2, 5, 10], integer=integer))


def in_percent(*axes: Axis) -> None:
    """Show the fractions on axes in percent."""
    from matplotlib.ticker import PercentFormatter

    for axis in axes:
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))


def _reach(interval: Interval) -> NDArray[np.float64] | None:
    """Return the lengths of an interval below and above its mean, (2, 1); None if unknown."""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return None
    low, high = interval.mean - interval.low, interval.high - interval.mean
    return np.array([[max(low, 0.0)], [max(high, 0.0)]])
