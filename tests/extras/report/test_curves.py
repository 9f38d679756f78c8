"""Pictures of training, and labels of points for pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from laconic.experiments.run_folder.runs import find_runs, read_run
from laconic.extras.report import sweep
from laconic.extras.report.curves import curves, of_settings, short
from laconic.extras.report.look import draw_with_points


def test_named_lines_have_points_where_the_picture_shows_them() -> None:
    def paint(axes: Any) -> None:
        axes.plot([0, 10], [0.0, 1.0], gid="mine")
        axes.plot([0, 10], [5.0, 5.0])
        axes.set(xlim=(0, 10), ylim=(0, 1))

    _, (low, high) = draw_with_points(4.0, 3.0, 1, paint)
    assert [point.at for point in (low, high)] == [(0.0, 0.0), (10.0, 1.0)]
    # Percent from the left and from the top: the second stands to the right of the first, above it.
    assert 0 < low.place[0] < 30 < 90 < high.place[0] < 100
    assert 0 < high.place[1] < 15 < 75 < low.place[1] < 100


def test_a_long_line_has_labels_for_some_of_its_points() -> None:
    _, points = draw_with_points(
        4.0, 3.0, 1, lambda axes: axes.plot(range(1000), range(1000), gid="long")
    )
    # Every ninth, since more than 120 of 1,000 would be told by every eighth.
    assert [point.at[0] for point in points[:2]] == [0.0, 9.0] and len(points) == 112


@pytest.mark.slow
def test_a_page_labels_values_at_their_steps(run: Path, report: Any) -> None:
    page = report(run)
    (accuracy,) = [picture for picture in curves(read_run(run)) if picture.name == "accuracy"]
    labels = [words for _, _, words in accuracy.points]
    value = 100 * read_run(run).metrics[7]["train/accuracy"]
    assert f"step 7: accuracy {value:.1f} %" in labels
    last = re.compile(r"step 60: accuracy \d+\.\d % \(evaluation\)")
    assert any(map(last.fullmatch, labels))
    assert labels[0] in page.text and page.tags.count("ellipse") >= len(labels)


def test_a_sweep_shows_how_its_settings_learned(tmp_path: Path, build_run: Any) -> None:
    for seed in (0, 1):
        build_run(tmp_path / str(seed), seed=seed, steps=4, every=2, overrides=["a=<b>"])
    settings = sweep.sort_out([read_run(folder) for folder in find_runs(tmp_path)])
    picture = of_settings(settings, "a world")
    assert picture is not None and picture.name == "a_world_training"
    both = [read_run(tmp_path / str(seed)).metrics[3]["train/tokens_said"] for seed in (0, 1)]
    words = f"step 3: tokens said {sum(both) / 2:.4g} (a=<b>)"
    assert words in [label for _, _, label in picture.points]
    assert of_settings(sweep.sort_out([])) is None


@pytest.mark.parametrize(
    ("label", "legend"), [("a=1, b=2", "a=1\nb=2"), ("x" * 61, "x" * 59 + "…")]
)
def test_a_label_of_a_legend_has_an_override_a_line(label: str, legend: str) -> None:
    assert short(label) == legend
