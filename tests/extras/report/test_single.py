"""Report of one run: complete, incomplete or broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from laconic.experiments.run_folder.runs import read_run
from laconic.extras.report import single
from laconic.extras.report.curves import smooth

PICTURES = {"accuracy", "tokens_said", "tokens_read", "silence", "learner"}


def test_a_report_is_one_file_with_its_pictures_inside_and_beside(run: Path, report: Any) -> None:
    page = report(run)
    assert {path.stem for path in (run / "report").glob("*.png")} == PICTURES
    assert len(page.sources) == len(PICTURES)
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert not {"link", "iframe", "object"} & set(page.tags)


@pytest.mark.usefixtures("without_pictures")
def test_the_table_shows_before_after_and_change_with_intervals(
    tmp_path: Path, build_run: Any, report: Any, write_rows: Any
) -> None:
    folder = build_run(tmp_path / "run")
    entries = [(0, 0.8, 0.77, 0.82, 40.0), (60, 0.85, 0.81, 0.87, 10.0)]
    rows = [
        {
            "step": step,
            "episodes": 1000,
            "intervals": {
                "accuracy": {"mean": mean, "low": low, "high": high, "count": 1000},
                "tokens_said": {"mean": t, "low": t - 3, "high": t + 4, "count": 1000},
            },
        }
        for step, mean, low, high, t in entries
    ]
    write_rows(folder / "evaluations.jsonl", rows)
    write_rows(folder / "metrics.jsonl", [{"step": 60}])
    # Accuracy: 5 points; down sqrt(4^2 + 2^2) = 4.47, up sqrt(2^2 + 3^2) = 3.61.
    # Tokens: -30; down sqrt(3^2 + 4^2) = 5, up sqrt(4^2 + 3^2) = 5; -30 / 40 = -75 %.
    assert single.rows(read_run(folder)) == [
        ("accuracy", "80.0 % [77.0, 82.0]", "85.0 % [81.0, 87.0]", "+5.0 points [+0.5, +8.6]"),
        (
            "tokens said",
            "40.0 [37.0, 44.0]",
            "10.0 [7.0, 14.0]",
            "−30.0 [−35.0, −25.0], −75 %",
        ),
    ]
    text = report(folder).text
    assert "85.0 % [81.0, 87.0]" in text
    assert "−30.0 [−35.0, −25.0], −75 %" in text


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (191.9, 20.0, ("191.9", "20.0", "−171.9, −90 %")),
        # A run of an earlier version, whose policy thought only at its start.
        (191.9, None, ("191.9", "20.0", "−171.9, −90 %")),
        (38.0, 20.0, None),
        (None, None, None),
    ],
)
def test_tokens_said_and_thought_have_a_row_where_something_was_thought(
    tmp_path: Path, build_run: Any, write_rows: Any, before: Any, after: Any, expected: Any
) -> None:
    folder = build_run(tmp_path / "run")
    rows = []
    for step, said, spent in ((0, 38.0, before), (60, 20.0, after)):
        means = {"tokens_said": said} | ({} if spent is None else {"tokens_spent": spent})
        intervals = {
            name: {"mean": mean, "low": mean, "high": mean, "count": 9}
            for name, mean in means.items()
        }
        rows.append({"step": step, "episodes": 9, "intervals": intervals})
    write_rows(folder / "evaluations.jsonl", rows)
    found = {name: tuple(texts) for name, *texts in single.rows(read_run(folder))}
    assert found.get("tokens said and thought") == expected


@pytest.mark.usefixtures("without_pictures")
def test_transcripts_of_the_same_tasks_stand_side_by_side(run: Path, report: Any) -> None:
    pairs = single.pairs(read_run(run))
    assert [(before.step, after.step) for before, after in pairs if after] == [(0, 60)] * 3
    assert all(after is not None and before.task == after.task for before, after in pairs)
    text = report(run).text
    assert "A late bus!" in text and "(silent)" in text and "nothing useful to tell" in text


@pytest.mark.usefixtures("without_pictures")
def test_tasks_carry_the_marks_by_which_they_are_filtered(
    run: Path, report: Any, write_rows: Any
) -> None:
    rows = [json.loads(line) for line in (run / "transcripts.jsonl").read_text().splitlines()]
    selected = [row for row in rows if row["step"] in (0, 60)]
    for row in selected:
        # The first is solved by training, the second lost by it, of the third nothing is told.
        after = row["step"] == 60
        task = int(row["task"][-1])
        row["solved"] = (after, not after, None)[task]
        loud = [message for message in row["messages"] if message["text"]]
        row["messages"] = row["messages"] if task == 0 and after else loud
    write_rows(run / "transcripts.jsonl", selected)
    page = report(run)
    assert page.marks == ["solved changed silent", "unsolved changed", ""]
    assert all(f"{mark}\n" in page.text or mark in page.text for mark in single.MARKS)
    read = read_run(run)
    alone = [before for before, _ in single.pairs(read)]
    assert single.marks_of(alone[1], None) == ["solved"]


def test_messages_of_agents_cannot_become_markup_of_the_page(run: Path, report: Any) -> None:
    attack = '</div><script>alert(1)</script><img src=x onerror="alert(1)">\x00\ud800 $x^{2 & <b>'
    row = json.loads((run / "transcripts.jsonl").read_text().splitlines()[0])
    row |= {"question": attack, "answer": attack, "task": attack}
    row["messages"][0] |= {"text": attack, "agent": attack}
    (run / "transcripts.jsonl").write_text(json.dumps(row) + "\n")
    (run / "config.yaml").write_text("seed: 0\nnote: '</pre><script>alert(2)</script>'\n")
    (run / "status.json").write_text(json.dumps({"state": attack, "warnings": [attack]}))
    page = report(run)
    assert page.tags.count("script") == 1 and "b" in page.tags
    assert len(page.sources) == len(PICTURES)
    assert "<script>alert(1)</script>" in page.text and "<script>alert(2)</script>" in page.text


@pytest.mark.usefixtures("without_pictures")
def test_warnings_configuration_and_glossary_are_on_the_page(run: Path, report: Any) -> None:
    (run / "status.json").write_text(json.dumps({"state": "finished", "warnings": ["collapse!"]}))
    text = report(run).text
    for split in ("collapse!", "price: 0.5", "Share of episodes whose task was solved."):
        assert split in text


def test_an_empty_run_gets_a_report_that_lists_missing_parts(tmp_path: Path, report: Any) -> None:
    (tmp_path / ".hydra").mkdir()
    text = report(tmp_path).text
    for name in ("config.yaml", "metrics.jsonl", "evaluations.jsonl", "transcripts.jsonl"):
        assert f"{name} is missing" in text
    assert "there is no evaluation after training yet" in text
    assert "nothing recorded" in text


def test_a_half_way_run_is_reported_as_such(tmp_path: Path, build_run: Any, report: Any) -> None:
    folder = build_run(tmp_path / "run", upto=10)
    assert read_run(folder).state == "unfinished (step 10 of 60)"
    text = report(folder).text
    assert "unfinished (step 10 of 60)" in text
    assert "No later evaluation yet." in text


def test_a_torn_last_line_is_ignored_and_a_broken_one_before_is_named(run: Path) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write("not json\n[1, 2]\n" + '{"step": 61, "train/accu')
    read = read_run(run)
    assert max(read.metrics) == 60
    assert read.problems == (
        "metrics.jsonl: line 62 is not a JSON object and is left out",
        "metrics.jsonl: line 63 is not a JSON object and is left out",
    )


def test_values_that_are_no_finite_numbers_are_left_out(tmp_path: Path) -> None:
    values = '{"step": 1, "a": NaN, "b": null, "c": "3", "d": true, "e": 1e999, "f": 2}'
    (tmp_path / "metrics.jsonl").write_text(values + "\n")
    assert read_run(tmp_path).metrics == {1: {"f": 2.0}}


def test_a_step_written_twice_counts_as_written_last(tmp_path: Path, write_rows: Any) -> None:
    write_rows(tmp_path / "metrics.jsonl", [{"step": 1, "a": 1}, {"step": 2}, {"step": 1, "a": 3}])
    assert read_run(tmp_path).metrics == {1: {"a": 3.0}, 2: {}}


@pytest.mark.parametrize(
    "name", ["config.yaml", "metrics.jsonl", "evaluations.jsonl", "transcripts.jsonl"]
)
def test_a_file_of_garbage_costs_its_part_and_no_more(
    run: Path, name: str, report: Any, request: pytest.FixtureRequest
) -> None:
    if name in ("config.yaml", "transcripts.jsonl"):
        # No picture is drawn of these.
        request.getfixturevalue("without_pictures")
    (run / name).write_bytes(b'\xff\x00{]: \xfe\n{"step": 1, "intervals": 3, "task": {}}\n')
    (run / "status.json").write_bytes(b"\xff[")
    assert "What the metrics mean" in report(run).text


def test_evaluations_without_intervals_come_from_the_metrics(run: Path) -> None:
    (run / "evaluations.jsonl").unlink()
    rows = {name: after for name, _, after, _ in single.rows(read_run(run))}
    assert "[" not in rows["accuracy"] and rows["rounds"] == "2.00"


def test_metrics_that_an_environment_does_not_report_are_not_drawn(
    tmp_path: Path, build_run: Any, write_rows: Any, report: Any
) -> None:
    """Of a run, and of a folder of two."""
    for number in range(2):
        run = build_run(tmp_path / str(number), seed=number)
        untold = ("accuracy", "tokens_said", "tokens_read")
        for file in ("metrics", "evaluations", "transcripts"):
            rows = [json.loads(line) for line in (run / f"{file}.jsonl").read_text().splitlines()]
            for row in rows:
                for name in untold:
                    row.pop(f"train/{name}", None), row.pop(f"eval/{name}", None)
                    row.get("intervals", {}).pop(name, None)
                row |= {"solved": None, "tokens_said": None} if file == "transcripts" else {}
            write_rows(run / f"{file}.jsonl", rows)
    page = report(tmp_path / "0")
    pictures = {path.stem for path in (tmp_path / "0" / "report").glob("*.png")}
    assert pictures == {"score", "silence", "learner"}
    assert "✓ solved" not in page.text and "not solved" not in page.text
    assert "Before training" in page.text
    assert "score" in report(tmp_path).text


def test_smoothing_is_a_running_mean() -> None:
    assert smooth([]) == []
    assert smooth([2.0]) == [2.0]
    # Half width 1: the mean of three, at the ends of two.
    assert smooth([0.0, 3.0, 3.0, 9.0]) == pytest.approx([1.5, 2.0, 5.0, 6.0], rel=1e-12)
