"""Picture of a comparison: its panels, and placeholders without data."""

from __future__ import annotations

import io
import math

import pytest
from matplotlib.axes import Axes
from matplotlib.image import imread

from laconic.extras.compare.picture import picture
from laconic.extras.compare.rows import Row
from laconic.learners.metrics import Interval


def row(name, tokens=20.0, accuracy=0.5, score=None, script=False):
    figures = {"accuracy": Interval(accuracy, accuracy, accuracy, 4)}
    if tokens is not None:
        figures["tokens_said"] = Interval(tokens, tokens - 1, tokens + 1, 4)
    figures |= {} if score is None else {"score": Interval(score, math.nan, math.nan, 1)}
    return Row(name, "finished", figures=figures, script=script)


@pytest.fixture
def draw_rows(monkeypatch):
    """Return a function that draws rows and returns the words and the lines by label."""

    def call(rows, budget=None, **more):
        words, lines = [], {}
        text, plot, annotate = Axes.text, Axes.plot, Axes.annotate

        def record_text(self, x, y, s, **more):
            words.append(s)
            return text(self, x, y, s, **more)

        def record_note(self, s, *places, **more):
            words.append(s)
            return annotate(self, s, *places, **more)

        def record_plot(self, *places, **more):
            plotted = plot(self, *places, **more)
            lines[more.get("label")] = plotted[0]
            return plotted

        with monkeypatch.context() as patch:
            patch.setattr(Axes, "text", record_text)
            patch.setattr(Axes, "annotate", record_note)
            patch.setattr(Axes, "plot", record_plot)
            picture("title", rows, budget, **more)
        return words, lines

    return call


def width(rows):
    return imread(io.BytesIO(picture("title", rows, None).png)).shape[1]


@pytest.mark.usefixtures("usual_resolution")
def test_a_graded_score_has_its_own_panel():
    # 5.6 inches a panel and 2.2 for the legend, 150 dots an inch.
    assert width([row("a", score=0.5)]) == 1170
    assert width([row("a", score=2.5)]) == 2010


def test_without_finished_rows_or_tokens_the_picture_has_a_placeholder(draw_rows):
    assert "no finished entry yet" in draw_rows([Row("a", "failed", ("why",))])[0]
    words, _ = draw_rows([row("a", tokens=None)])
    assert any("does not report the tokens said" in text for text in words)


def test_scripts_are_hollow_and_the_others_filled_with_colors_of_their_own(draw_rows):
    _, lines = draw_rows([row("a"), row("oracle", script=True), row("b")])
    assert lines["oracle"].get_markerfacecolor() == "white"
    colors = [lines[name].get_markerfacecolor() for name in "ab"]
    assert len({*colors, "white"}) == 3


def test_marks_that_would_hide_others_are_larger_than_those_drawn_over_them(draw_rows):
    _, lines = draw_rows([row("under"), row("over"), row("apart", tokens=60.0)])
    sizes = {name: line.get_markersize() for name, line in lines.items()}
    assert sizes == {"under": 13.0, "over": 8.5, "apart": 8.5}


def test_a_budget_is_drawn_where_it_is_not_far_off(draw_rows):
    # The upper end of the tokens is 21; twice that is 42.
    assert "budget" in draw_rows([row("a")], budget=42)[0]
    assert "budget" not in draw_rows([row("a")], budget=43)[0]


def test_the_fewest_tokens_are_drawn_where_accuracy_is(draw_rows):
    floors = {"coded": [(0.0, 0.25), (0.75, 1.0)], "verbatim": [(0.0, 0.0), (9.0, 1.0)]}
    _, lines = draw_rows([row("team")], floors=floors)
    assert lines["fewest, coded"].get_xdata().tolist() == [0.0, 0.75]
    assert lines["fewest, verbatim"].get_ydata().tolist() == [0.0, 1.0]
    assert not [label for label in draw_rows([row("team")])[1] if label and "fewest" in label]


def test_thoughts_count_where_there_are_any(draw_rows):
    thinking = row("b", tokens=20.0)
    spent = {**thinking.figures, "tokens_spent": Interval(50.0, 45, 55, 4)}
    _, lines = draw_rows([row("a"), Row("b", "finished", figures=spent)])
    assert [float(lines[name].get_xdata()[0]) for name in "ab"] == [20.0, 50.0]


def test_exact_figures_without_intervals_are_drawn(draw_rows):
    figures = {
        name: Interval(mean, math.nan, math.nan, 9)
        for name, mean in (("accuracy", 0.8), ("tokens_said", 3.0))
    }
    _, lines = draw_rows([Row("a", "finished", figures=figures), row("b", tokens=2.0)])
    assert lines
