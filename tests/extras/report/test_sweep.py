"""Report of a folder of runs: means, runs left out, order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from laconic.experiments.run_folder.runs import find_runs, read_run
from laconic.extras.report import sweep
from laconic.extras.report.write import write_report


def test_a_multirun_is_grouped_by_its_overrides_except_the_seed(
    tmp_path: Path, build_multirun: Any, report: Any
) -> None:
    folder = build_multirun(tmp_path / "multirun")
    page = report(folder)
    pictures = sorted(path.name for path in (folder / "report").iterdir())
    assert pictures == ["accuracy_tokens.png", "training.png"]
    groups = sweep.sort_out([read_run(path) for path in find_runs(folder)])
    assert [(setting.label, len(setting.runs)) for setting in groups.settings] == [
        ("env.reward.price=0.0", 3),
        ("env.reward.price=0.5", 3),
    ]
    assert groups.left_out == ()
    assert "env.reward.price=0.5" in page.text and "before training" in page.text


@pytest.mark.slow
def test_where_work_is_scored_by_degrees_the_score_comes_first(
    tmp_path: Path, build_run: Any, report: Any, write_rows: Any
) -> None:
    for number in range(2):
        folder = build_run(tmp_path / "sweep" / str(number), seed=number)
        rows = (folder / "evaluations.jsonl").read_text().splitlines()
        evaluations = [json.loads(row) for row in rows]
        for evaluation in evaluations:
            score = {"mean": 2.5 + number, "low": 2.4, "high": 4, "count": 9}
            evaluation["intervals"]["score"] = score
        write_rows(folder / "evaluations.jsonl", evaluations)
    single, together = report(tmp_path / "sweep" / "0"), report(tmp_path / "sweep")
    assert (tmp_path / "sweep" / "0" / "report" / "score.png").exists()
    pictures = {path.name for path in (tmp_path / "sweep" / "report").iterdir()}
    assert "score_tokens.png" in pictures and "accuracy_tokens.png" not in pictures
    assert single.text.index("score") < single.text.index("accuracy")
    groups = sweep.sort_out([read_run(tmp_path / "sweep" / name) for name in "01"])
    heads = ("score", "spoke with something useful", "tokens said", "vs before", "accuracy")
    assert sweep.columns(groups)[2:7] == heads
    # Mean of 2.5 and 3.5. Seeds: Student's 12.706 times their standard error of 0.5 is 6.353.
    # Tasks: the mean distances to the ends are 0.6 and 1.0. Together 6.381 and 6.431.
    assert sweep.rows(groups)[1][2] == "3.00 [−3.38, 9.43]" and "3.00 [−3.38" in together.text


def test_the_mean_of_a_setting_is_over_seeds_with_students_interval(
    tmp_path: Path, build_run: Any, write_rows: Any
) -> None:
    for seed, tokens in enumerate((10.0, 20.0)):
        folder = build_run(tmp_path / str(seed), seed=seed)
        interval = {"mean": tokens, "low": tokens - 1, "high": tokens + 1, "count": 1000}
        row = {"step": 60, "episodes": 1000, "intervals": {"tokens_said": interval}}
        write_rows(folder / "evaluations.jsonl", [row])
    groups = sweep.sort_out([read_run(path) for path in find_runs(tmp_path)])
    after = groups.settings[0].after("tokens_said")
    # Mean 15, standard error 5, t with one degree of freedom 12.7062: 63.531; over tasks 1.
    # sqrt(63.531^2 + 1) = 63.539, and no team says fewer than 0 tokens.
    assert after is not None
    assert (after.mean, after.low, after.high) == pytest.approx((15, 0, 78.539), abs=1e-3)


def test_one_policy_before_training_counts_once(
    tmp_path: Path, build_run: Any, write_rows: Any
) -> None:
    for number, (price, tokens) in enumerate([(0.0, 40), (0.0, 40), (0.5, 40), (0.5, 30)]):
        folder = build_run(tmp_path / str(number), seed=number, price=price)
        means = {"tokens_said": tokens, "accuracy": 0.5, "reward": 0.5 - price}
        rows = [
            {"step": step, "episodes": 9, "intervals": {
                name: {"mean": mean, "low": mean - 0.1, "high": mean + 0.1, "count": 9}
                for name, mean in means.items()
            }}
            for step in (0, 60)
        ]  # fmt: skip
        write_rows(folder / "evaluations.jsonl", rows)
    runs = [read_run(path) for path in find_runs(tmp_path)]
    # Three runs begin with 40 tokens and one, of other weights, with 30: two starts.
    assert len(sweep.starts(runs)) == 2
    tokens_said = sweep.before(runs, "tokens_said")
    assert tokens_said and (tokens_said.mean, tokens_said.count) == (35, 2)
    # The price makes another reward of the same start: 0.5 of two equal runs, 0 of two others.
    assert sweep.before(runs, "reward") is None
    free = sweep.before(runs[:2], "reward")
    assert free and (free.mean, free.low, free.high) == pytest.approx((0.5, 0.4, 0.6))
    groups = sweep.sort_out(runs)
    (start,) = [row for row in sweep.rows(groups) if row[0].startswith("before")]
    named = dict(zip(sweep.columns(groups), start, strict=True))
    assert named["seeds"] == "2" and named["task reward less bills"] == "–"
    assert named["accuracy"].startswith("50.0 % [")


def test_two_games_have_a_row_before_training_each(tmp_path: Path, build_run: Any) -> None:
    for number in range(4):
        build_run(
            tmp_path / str(number),
            seed=number % 2,
            overrides=[f"env.rounds={2 + number // 2}", f"seed={number % 2}"],
        )
    groups = sweep.sort_out([read_run(path) for path in find_runs(tmp_path)])
    assert [row[:2] for row in sweep.rows(groups)] == [
        ("before training, env.rounds=2", "2"),
        ("before training, env.rounds=3", "2"),
        ("env.rounds=2", "2"),
        ("env.rounds=3", "2"),
    ]


def test_equal_seeds_show_the_interval_over_their_tasks(
    tmp_path: Path, build_run: Any, write_rows: Any
) -> None:
    for seed in range(2):
        folder = build_run(tmp_path / str(seed), seed=seed)
        interval = {"mean": 0.99, "low": 0.9455, "high": 0.9982, "count": 100}
        rounds = {"mean": 2.0, "low": 2.0, "high": 2.0, "count": 100}
        row = {"step": 60, "episodes": 100, "intervals": {"accuracy": interval, "rounds": rounds}}
        write_rows(folder / "evaluations.jsonl", [row])
    groups = sweep.sort_out([read_run(path) for path in find_runs(tmp_path)])
    # The bootstrap sees no spread in rounds, and nor do the seeds: no interval is shown.
    assert sweep.level("accuracy", groups.settings[0].after("accuracy")) == "99.0 % [94.5, 99.8]"
    assert sweep.level("rounds", groups.settings[0].after("rounds")) == "2.00"


def test_one_seed_keeps_the_interval_over_its_tasks(run: Path) -> None:
    read = read_run(run)
    assert read.after is not None
    groups = sweep.sort_out([read])
    assert groups.settings[0].after("accuracy") == read.after.intervals["accuracy"]


def test_runs_that_failed_or_are_unfinished_are_named_and_left_out(
    tmp_path: Path, build_run: Any, report: Any
) -> None:
    build_run(tmp_path / "a" / "0", seed=0)
    build_run(tmp_path / "a" / "1", seed=1, upto=30)
    (tmp_path / "a" / "2" / ".hydra").mkdir(parents=True)
    (tmp_path / "a" / "2" / ".hydra" / "overrides.yaml").write_text("[seed=2]")
    build_run(tmp_path / "b" / "0", seed=3)
    (tmp_path / "b" / "0" / "status.json").write_text('{"state": "failed", "step": 9}')
    build_run(tmp_path / "b" / "10", seed=0)
    runs = [read_run(path) for path in find_runs(tmp_path)]
    groups = sweep.sort_out(runs)
    reasons = {run.folder.relative_to(tmp_path).as_posix(): why for run, why in groups.left_out}
    assert reasons == {
        "a/0": "10 repeats its setting and seed 0",
        "a/1": "unfinished (step 30 of 60), last evaluated at step 20",
        "a/2": "nothing recorded",
        "b/0": "failed (step 60 of 60), last evaluated at step 60",
    }
    assert [run.folder.name for run in groups.settings[0].runs] == ["10"]
    text = report(tmp_path).text
    assert "a/1: unfinished (step 30 of 60)" in text


def test_environments_have_a_panel_and_a_table_each_and_no_mean_together(
    tmp_path: Path, build_run: Any, report: Any
) -> None:
    for number, name in enumerate(("gsm8k", "gsm8k", "tl/dr", "tl/dr")):
        folder = build_run(
            tmp_path / str(number), seed=number % 2, steps=4, every=2, overrides=[f"env={name}"]
        )
        config = f"seed: {number % 2}\nenv:\n  name: {name}\n"
        (folder / "config.yaml").write_text(config)
    groups = sweep.sort_out([read_run(path) for path in find_runs(tmp_path)])
    worlds = groups.environments
    assert {name: len(world.runs) for name, world in worlds.items()} == {"gsm8k": 2, "tl/dr": 2}
    assert [len(sweep.rows(world)) for world in worlds.values()] == [2, 2]
    page = report(tmp_path)
    pictures = sorted(path.name for path in (tmp_path / "report").iterdir())
    ends = ("accuracy_tokens.png", "training.png")
    assert pictures == [f"{name}_{end}" for name in ("gsm8k", "tl_dr") for end in ends]
    assert page.tags.count("figure") == 4
    assert page.tags.count("table") == page.tags.count("h3") == 2


def test_equal_overrides_in_two_environments_are_two_settings(
    tmp_path: Path, build_run: Any
) -> None:
    for number, name in enumerate(("gsm8k", "tldr")):
        folder = build_run(tmp_path / str(number), steps=4, every=2, overrides=["seed=0"])
        (folder / "config.yaml").write_text(f"env:\n  name: {name}\n")
    groups = sweep.sort_out([read_run(path) for path in find_runs(tmp_path)])
    assert (len(groups.settings), groups.left_out) == (2, ())


def test_runs_of_unknown_overrides_are_never_pooled(tmp_path: Path, build_run: Any) -> None:
    for number in range(2):
        folder = build_run(tmp_path / str(number), seed=number)
        (folder / ".hydra" / "overrides.yaml").unlink()
    groups = sweep.sort_out([read_run(path) for path in find_runs(tmp_path)])
    assert [len(setting.runs) for setting in groups.settings] == [1, 1]


def test_a_folder_of_nothing_but_failed_runs_still_has_a_report(
    tmp_path: Path, report: Any
) -> None:
    (tmp_path / "0" / ".hydra").mkdir(parents=True)
    assert "nothing recorded" in report(tmp_path).text


def test_run_folders_come_in_natural_order(tmp_path: Path) -> None:
    for name in ("10", "2", "1"):
        (tmp_path / name / ".hydra").mkdir(parents=True)
    assert [path.name for path in find_runs(tmp_path)] == ["1", "2", "10"]


def test_square_brackets_in_overrides_survive_the_terminal(tmp_path: Path, build_run: Any) -> None:
    for number, schedule in enumerate(("[helper,solver]", "[/bold]")):
        overrides = [f"seed={number}", f"'env.schedule={schedule}'"]
        build_run(tmp_path / str(number), seed=number, overrides=overrides)
    console = Console(width=250, record=True, file=(tmp_path / "out").open("w"))
    write_report(tmp_path, console)
    assert "env.schedule=[/bold]" in console.export_text()


def test_two_settings_are_compared_by_paired_outcomes(
    tmp_path: Path, build_run: Any, write_rows: Any, report: Any
) -> None:
    tokens = {"0.0": {1: (10, 20, 30), 2: (12, 20, 34)}, "0.5": {1: (8, 17, 26), 3: (1, 1, 1)}}
    for price, seeds in tokens.items():
        for seed, told in seeds.items():
            name = f"{price}-{seed}"
            folder = build_run(tmp_path / name, price=float(price), seed=seed)
            mean = sum(told) / 3
            figure = {"mean": mean, "low": mean - 9, "high": mean + 9, "count": 3}
            outcomes = {"tokens_said": {"sums": told, "counts": (1, 1, 1)}}
            row = {"step": 60, "episodes": 3, "tasks": "same", "outcomes": outcomes}
            row["intervals"] = {"tokens_said": figure}
            write_rows(folder / "evaluations.jsonl", [row])
    groups = sweep.sort_out([read_run(path) for path in find_runs(tmp_path)])
    # Seed 1 alone has both: changes of -2, -3 and -4 tokens, t(2) / sqrt(3) = 2.48.
    (line,) = sweep.compared(groups)
    assert line[:2] == ("env.reward.price=0.5", "1")
    assert line[3] == "−3.00 [−5.48, −0.52], −15 %"
    assert "Change from the first setting" in report(tmp_path).text
