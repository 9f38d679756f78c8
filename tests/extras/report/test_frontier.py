"""The page of a folder of runs: its picture, its links and its counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from made_runs import Reader

from laconic.experiments.run_folder.runs import read_run
from laconic.extras.report.frontier import document, frontier
from laconic.extras.report.sweep import Sweep, sort_out
from laconic.learners.metrics import Interval


@pytest.fixture
def short(build_run: Callable[..., Path]) -> Callable[..., Path]:
    return lambda folder, **more: build_run(folder, steps=4, every=2, **more)


def test_without_a_finished_run_the_picture_says_so() -> None:
    picture = frontier(Sweep((), (), ()))
    assert (picture.name, picture.wide) == ("accuracy_tokens", True)
    assert picture.png.startswith(b"\x89PNG")


def test_the_caption_distinguishes_intervals_over_seeds_and_over_tasks(
    tmp_path: Path, short: Callable[..., Path]
) -> None:
    runs = [read_run(short(tmp_path / str(seed), seed=seed)) for seed in range(2)]
    assert "over seeds" in frontier(sort_out(runs)).caption
    assert "over its evaluation tasks" in frontier(sort_out(runs[:1])).caption


def test_a_run_is_linked_where_it_has_a_report_and_its_name_cannot_break_the_address(
    tmp_path: Path, short: Callable[..., Path]
) -> None:
    folders = [short(tmp_path / name, seed=seed) for seed, name in enumerate(("a#b?<c>", "plain"))]
    (folders[0] / "report.html").touch()
    runs = [read_run(folder) for folder in folders]
    page = Reader(document(tmp_path, runs, sort_out(runs))[0])
    assert [source for source in page.sources if not source.startswith("data:")] == [
        "a%23b%3F%3Cc%3E/report.html"
    ]
    assert "a#b?<c>" in page.text and "plain" in page.text


def test_runs_and_settings_are_counted(tmp_path: Path, short: Callable[..., Path]) -> None:
    runs = [read_run(short(tmp_path / str(seed), seed=seed)) for seed in range(3)]
    runs.append(read_run(short(tmp_path / "3", seed=3, upto=2)))
    page = Reader(document(tmp_path, runs, sort_out(runs))[0])
    assert "4 runs · 3 finished · 1 unfinished" in page.text
    assert "3 in the means · 1 settings" in page.text


def test_the_fewest_tokens_that_would_do_are_drawn_where_runs_recorded_them(
    tmp_path: Path, short: Callable[..., Path]
) -> None:
    folder = short(tmp_path / "run")
    plain = frontier(sort_out([read_run(folder)]))
    lines = (folder / "evaluations.jsonl").read_text().splitlines()
    rows = [json.loads(line) | {"floors": {"coded": [[0.3, 0.3], [1.7, 1.0]]}} for line in lines]
    (folder / "evaluations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = read_run(folder)
    assert run.after is not None and run.after.floors == {"coded": [(0.3, 0.3), (1.7, 1.0)]}
    assert frontier(sort_out([run])).png != plain.png
    # What cannot be read is left out.
    rows = [row | {"floors": "none"} for row in rows]
    (folder / "evaluations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_run(folder).after.floors == {}  # type: ignore[union-attr]


def test_tokens_spent_are_those_said_without_thoughts(
    tmp_path: Path, short: Callable[..., Path]
) -> None:
    after = read_run(short(tmp_path / "run")).after
    assert after is not None and after.figure("tokens_spent") == after.intervals["tokens_said"]
    assert after.figure("a metric that nobody has") is None
    more = {**after.intervals, "tokens_spent": Interval(99.0, 98.0, 100.0, 1000)}
    assert replace(after, intervals=more).figure("tokens_spent") == more["tokens_spent"]
