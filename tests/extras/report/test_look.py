"""Pictures: their size, their marks, and that they leave no trace."""

from __future__ import annotations

import io
import math

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from PIL import Image

from laconic.extras.report.look import (
    INK,
    PALETTE,
    against_tokens,
    draw,
    in_percent,
    mark,
    marks,
    placeholder,
)
from laconic.learners.metrics import Interval


@pytest.fixture
def axes() -> Axes:
    return Figure().subplots()


def test_a_fraction_is_shown_in_percent_and_ink_is_the_last_of_the_palette(axes: Axes) -> None:
    in_percent(axes.yaxis)
    assert axes.yaxis.get_major_formatter()(0.5) == "50 %"
    assert PALETTE[-1] == INK


def test_the_first_49_marks_differ() -> None:
    assert len(set(marks(49))) == 49
    assert marks(50)[49] == marks(1)[0]
    assert marks(0) == []


@pytest.mark.usefixtures("usual_resolution")
def test_a_picture_has_the_size_it_was_asked_for_and_its_panels() -> None:
    counts: list[int] = []
    png = draw(4.0, 2.0, 3, lambda *panels: counts.append(len(panels)))
    # 150 dots an inch.
    assert imread(io.BytesIO(png)).shape[:2] == (300, 600)
    assert counts == [3]


def test_drawing_leaves_the_settings_of_the_library_alone_and_is_the_same_each_time() -> None:
    before = dict(matplotlib.rcParams)
    pictures = {
        draw(2.0, 1.0, 1, lambda axes: placeholder(axes, "nothing $x^{2 yet")) for _ in range(2)
    }
    assert len(pictures) == 1
    assert dict(matplotlib.rcParams) == before


@pytest.mark.usefixtures("usual_resolution")
def test_a_picture_of_few_colors_keeps_the_palette_and_its_resolution() -> None:
    """Thin lines of every colour: none may be merged into what covers more."""

    def paint(axes: Axes) -> None:
        for place, colour in enumerate(PALETTE):
            axes.plot([0, 1], [place, place], color=colour, linewidth=1)

    png = Image.open(io.BytesIO(draw(3.0, 2.0, 1, paint)))
    assert png.mode == "P" and png.info["dpi"] == pytest.approx((150, 150), abs=0.1)
    pixels = np.asarray(png.convert("RGB")).reshape(-1, 3).astype(int)
    for colour in PALETTE:
        expected = 255 * np.array(to_rgb(colour))
        assert np.abs(pixels - expected).max(axis=1).min() < 12, colour


def test_a_mark_stands_at_its_means_with_bars_as_far_as_they_are_known(axes: Axes) -> None:
    certain, uncertain = Interval(0.5, 0.25, 1.0, 9), Interval(3.0, math.nan, math.nan, 1)
    mark(axes, (uncertain, certain), ("red", "o"), "mine")
    (bars,) = axes.containers
    assert (bars.has_xerr, bars.has_yerr) == (False, True)
    (segment,) = bars.lines[2][0].get_segments()
    assert segment.tolist() == [[3.0, 0.25], [3.0, 1.0]]
    assert axes.get_legend_handles_labels()[1] == ["mine"]


@pytest.mark.parametrize(("goal", "words"), [("accuracy", "tasks solved"), ("score", "score of")])
def test_the_axes_name_the_better_direction_and_the_metric(
    axes: Axes, goal: str, words: str
) -> None:
    against_tokens(axes, goal)
    assert "fewer is better" in axes.get_xlabel() and words in axes.get_ylabel()
    assert ("%" in axes.yaxis.get_major_formatter()(0.5)) is (goal == "accuracy")
