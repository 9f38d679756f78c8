"""Table of a comparison, on the console and in its files."""

from __future__ import annotations

import csv
import io
import json
import math

from rich.console import Console

from laconic.extras.compare.rows import Row
from laconic.extras.compare.table import markdown, metrics_of, show, write
from laconic.learners.metrics import Interval

NAN = math.nan
SOLVED = {"accuracy": Interval(0.5, 0.25, 0.75, 4), "score": Interval(0.5, 0.25, 0.75, 4)}
ROWS = [
    Row("a|b", "finished", ("slow", "dear"), 4, figures=SOLVED),
    Row("c", "finished", ("slow",), 4, 2, figures={"seconds": Interval(0.012345, NAN, NAN, 1)}),
    Row("d", "failed", ("no such model",)),
    Row("e", "left out", ("makes no sense",)),
]


def test_a_score_that_only_repeats_the_accuracy_is_no_column():
    assert metrics_of(ROWS) == ["accuracy", "seconds"]
    more = Row("f", "finished", figures={**SOLVED, "score": Interval(2.5, 2, 3, 4)})
    assert metrics_of([*ROWS, more]) == ["accuracy", "score", "seconds"]


def test_without_any_figure_all_columns_may_come():
    assert metrics_of([])[:3] == ["accuracy", "spoke_if_informed", "tokens_said"]
    assert metrics_of([])[4] == "tokens_thought"


def test_markdown_has_failed_rows_as_such_and_leaves_others_to_the_notes():
    assert markdown("title", ROWS).splitlines() == [
        "title",
        "",
        "| entry | accuracy | s / episode |",
        "| --- | ---: | ---: |",
        "| a\\|b | 50.0 % [25.0, 75.0] | – |",
        "| c | – | 0.0123 |",
        "| d | failed | – |",
        "",
        "- a|b, c: slow",
        "- a|b: dear",
        "- d: failed: no such model",
        "- e: left out: makes no sense",
    ]
    assert markdown("title", []).endswith("---: |\n")


def test_the_console_keeps_names_and_numbers_whole():
    console = Console(file=io.StringIO(), record=True, width=40)
    show("title [x]", ROWS, console)
    text = console.export_text()
    assert "title [x]" in text and "[25.0, 75.0]" in text and "e: left out: makes" in text


def test_the_files_hold_every_row_and_no_number_that_json_does_not_know(tmp_path):
    write(tmp_path, "title", {"seed": 3}, ROWS)
    comparison = json.loads((tmp_path / "comparison.json").read_text())
    assert comparison["seed"] == 3
    assert [entry["name"] for entry in comparison["entries"]] == ["a|b", *"cde"]
    with open(tmp_path / "comparison.csv", newline="") as file:
        rows = {row["entry"]: row for row in csv.DictReader(file)}
    assert rows["a|b"]["accuracy_low"] == "0.25" and rows["a|b"]["notes"] == "slow; dear"
    assert (rows["c"]["votes"], rows["c"]["seconds_mean"]) == ("2", "0.012345")
    assert rows["c"]["seconds_low"] == rows["d"]["accuracy_mean"] == ""
