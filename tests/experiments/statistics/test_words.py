"""Formats of numbers, and tables of text."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from laconic.experiments.statistics.words import (
    change,
    count,
    label,
    level,
    order,
    share_of_before,
    split_level,
    text_table,
)
from laconic.learners.metrics import Interval


def test_numbers_are_written_for_people() -> None:
    assert level("accuracy", None) == "–"
    assert level("accuracy", Interval(0.5, math.nan, math.nan, 1)) == "50.0 %"
    assert level("reward", Interval(-0.25, -0.5, 0.0, 9)) == "−0.25 [−0.50, 0.00]"


def test_an_interval_is_never_shown_without_width() -> None:
    same = Interval(0.0, 0.0, 0.0, 9)
    assert change("tokens_said", same, same, same) == level("tokens_said", same) == "0.00"
    assert split_level("accuracy", Interval(0.99, 0.99, 0.99, 9)) == ("99.0 %", "")
    # Ends that would read the same get more digits, up to where they differ.
    assert level("reward", Interval(0.81, 0.8101, 0.8112, 9)) == "0.81 [0.810, 0.811]"
    assert level("accuracy", Interval(0.99, 0.98999, 0.99001, 9)) == "99.0 % [98.999, 99.001]"
    narrow = Interval(33.0, 33.0, math.nextafter(33.0, 34.0), 9)
    assert level("tokens_said", narrow) == "33.0"


def test_a_level_comes_apart_into_its_mean_and_its_interval() -> None:
    assert split_level("accuracy", Interval(0.5, 0.25, 0.75, 9)) == ("50.0 %", "[25.0, 75.0]")
    assert split_level("rounds", Interval(2.0, math.nan, math.nan, 1)) == ("2.00", "")


def test_large_numbers_have_fewer_digits() -> None:
    unknown = Interval(math.nan, math.nan, math.nan, 1)
    written = {9.994: "9.99", 10.0: "10.0", 999.9: "999.9", 1234.5: "1234"}
    for mean, text in written.items():
        assert level("tokens_said", Interval(mean, unknown.low, unknown.high, 1)) == text


def test_zero_has_no_relative_change() -> None:
    nothing, some = Interval(0.0, 0.0, 0.0, 3), Interval(5.0, 4.0, 6.0, 3)
    assert share_of_before(nothing, some) == ""
    assert share_of_before(some, nothing) == "−100 %"
    assert change("tokens_said", None, some, None) == "–"


def test_known_metrics_come_in_a_fixed_order_and_unknown_ones_last() -> None:
    assert order({"zeal", "tokens_said", "accuracy", "age"}) == [
        "accuracy",
        "tokens_said",
        "age",
        "zeal",
    ]
    assert (label("tokens_said"), label("zeal")) == ("tokens said", "zeal")


@pytest.mark.parametrize(("whole", "text"), [("first", "a long name"), ("others", "1 [0, 2]")])
def test_a_table_that_is_too_narrow_keeps_the_columns_that_are_to_stay_whole(
    whole: str, text: str
) -> None:
    console = Console(width=18, file=io.StringIO(), record=True)
    table = text_table("", ("entry", "n"), [("a long name", "1 [0, 2]")], whole)  # type: ignore[arg-type]
    console.print(table)
    assert text in console.export_text()


def test_square_brackets_are_text_in_a_table() -> None:
    console = Console(width=60, file=io.StringIO(), record=True)
    console.print(text_table("[bold]t", ("entry", "n"), [("[/red]", "[i]")], "first"))
    text = console.export_text()
    assert "[bold]t" in text and "[/red]" in text and "[i]" in text


def test_a_single_thing_has_a_noun_without_s() -> None:
    assert [count(number, "step") for number in (0, 1, 2)] == ["0 steps", "1 step", "2 steps"]


def test_a_share_over_samples_is_in_percent() -> None:
    assert level("pass@4", Interval(0.5, 0.25, 0.75, 9)) == "50.0 % [25.0, 75.0]"
