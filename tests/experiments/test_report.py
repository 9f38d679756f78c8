"""Reports of made-up runs: whole ones, half-way ones, broken ones, and folders of many."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from experiments.report import main, write_report
from experiments.reporting import single, sweep
from experiments.reporting.curves import smooth
from experiments.reporting.page import safe
from experiments.reporting.runs import read_run
from experiments.reporting.words import change, level
from learners.metrics import Interval

PICTURES = {"accuracy", "tokens_said", "tokens_read", "silence", "learner"}
STATEMENTS = ["Ann has 3 apples.", "Ben has 4 times as many.", "The bus was late."]


def build_run(
    folder: Path,
    *,
    seed: int = 0,
    price: float = 0.5,
    steps: int = 60,
    upto: int | None = None,
    every: int = 20,
    overrides: list[str] | None = None,
) -> Path:
    """A plausible run folder: tokens fall with the price, accuracy holds.

    Args:
        upto: the step at which the run stopped; None is its end.
        overrides: what Hydra recorded; None is the seed and the price.
    """
    generator = np.random.default_rng((seed, round(100 * price)))
    upto = steps if upto is None else upto
    (folder / ".hydra").mkdir(parents=True)
    given = [f"seed={seed}", f"env.reward.price={price}"] if overrides is None else overrides
    (folder / ".hydra" / "overrides.yaml").write_text("".join(f"- {one}\n" for one in given))
    config = f"seed: {seed}\ntrain:\n  steps: {steps}\nenv:\n  reward:\n    price: {price}\n"
    (folder / "config.yaml").write_text(config)
    metrics, evaluations, transcripts = [], [], []
    for step in range(upto + 1):
        level = _level(step / steps, price, generator)
        row: dict[str, float] = {"step": step}
        if step:
            noise = generator.normal(0, 0.03, len(level))
            noisy = {
                f"train/{name}": float(
                    np.clip(value * (1 + e), 0, 1) if value <= 1 else value + 40 * e
                )
                for (name, value), e in zip(level.items(), noise, strict=True)
            }
            row |= noisy | _learner(step / steps, price, generator)
        if step % every == 0 or step == steps:
            row |= {f"eval/{name}": value for name, value in level.items()}
            evaluations.append(_evaluation(step, level))
            transcripts += [_transcript(step, task, wordy=step == 0) for task in range(3)]
        metrics.append(row)
    _write(folder / "metrics.jsonl", metrics)
    _write(folder / "evaluations.jsonl", evaluations)
    _write(folder / "transcripts.jsonl", transcripts)
    if upto == steps:
        status = {"state": "finished", "step": steps, "warnings": []}
        (folder / "status.json").write_text(json.dumps(status))
    return folder


def _level(part: float, price: float, generator: np.random.Generator) -> dict[str, float]:
    learned = (1 - math.exp(-4 * part)) * min(price / 0.5, 1.5) ** 0.5
    solved = 0.9 + 0.02 * part - 0.1 * max(price - 0.5, 0) * part + generator.normal(0, 0.006)
    return {
        "accuracy": solved,
        "score": solved,
        "reward": 0.9 - price * 0.15 * (1 - 0.6 * learned),
        "tokens_said": 38.2 - 22.0 * learned + generator.normal(0, 0.4),
        "tokens_read": 180.0 - 24.0 * learned,
        "silence_rate": 0.18 + 0.22 * learned,
        "silent_if_uninformed": min(0.25 + 0.66 * learned, 0.99),
        "spoke_if_informed": 0.95 + 0.02 * learned,
        "cut_rate": 0.004,
        "truncated_rate": 0.0,
        "rounds": 2.0,
    }


def _learner(part: float, price: float, generator: np.random.Generator) -> dict[str, float]:
    return {
        "learner/loss": float(-0.02 + generator.normal(0, 0.01)),
        "learner/clip_fraction": float(abs(0.08 + generator.normal(0, 0.03))),
        "learner/grad_norm": float(0.4 + abs(generator.normal(0, 0.2))),
        "price": min(price * part * 4, price),
        "time/step": 1.2,
    }


def _evaluation(step: int, level: dict[str, float]) -> dict:
    def interval(value: float) -> dict[str, float]:
        half = 1.96 * math.sqrt(value * (1 - value) / 1000) if value <= 1 else 0.02 * value
        return {"mean": value, "low": value - half, "high": value + half, "count": 1000}

    intervals = {name: interval(value) for name, value in level.items()}
    return {"step": step, "episodes": 1000, "intervals": intervals}


def _transcript(step: int, task: int, wordy: bool) -> dict:
    chat = "Well, what I can see on my side is that " if wordy else ""
    said = [f"{chat}Ann has 3 apples.", f"{chat}Ben has 4 times as many.", chat and "A late bus!"]
    messages = [
        {
            "agent": f"helper_{number + 1}",
            "round": 0,
            "text": text,
            "tokens": len(text.split()),
            "cut": False,
            "informed": number < 2,
        }
        for number, text in enumerate(said)
    ]
    messages.append(
        {"agent": "solver_1", "round": 1, "text": "3 * 4 = 12 #### 12", "tokens": 6, "cut": False}
    )
    return {
        "step": step,
        "task": f"generated/{task}",
        "question": "How many apples does Ben have?",
        "statements": STATEMENTS,
        "reference": "12",
        "messages": messages,
        "solved": True,
        "answer": "12",
        "tokens_said": sum(message["tokens"] for message in messages),
    }


def _write(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def build_multirun(folder: Path) -> Path:
    """Six runs: two prices by three seeds."""
    places = [(seed, price) for price in (0.0, 0.5) for seed in range(3)]
    for number, (seed, price) in enumerate(places):
        build_run(folder / str(number), seed=seed, price=price)
    return folder


class Reader(HTMLParser):
    """Tags, addresses and visible text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for name, value in attributes if name in ("src", "href")]
        names = {name for name, _ in attributes}
        assert not any(name.startswith("on") for name in names)

    def handle_data(self, data: str) -> None:
        self.text += data


def report(folder: Path) -> Reader:
    return Reader(write_report(folder).read_text("utf-8"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return build_run(tmp_path / "run")


def test_a_report_is_one_file_with_its_pictures_inside_and_beside(run: Path) -> None:
    page = report(run)
    assert {path.stem for path in (run / "report").glob("*.png")} == PICTURES
    assert len(page.sources) == len(PICTURES)
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert not {"script", "link", "iframe", "object"} & set(page.tags)


def test_the_table_shows_before_after_and_change_with_intervals(tmp_path: Path) -> None:
    folder = build_run(tmp_path / "run")
    entries = [(0, 0.8, 0.77, 0.82, 40.0), (60, 0.85, 0.81, 0.87, 10.0)]
    rows = [
        {
            "step": step,
            "episodes": 1000,
            "intervals": {
                "accuracy": {"mean": mean, "low": low, "high": high, "count": 1000},
                "tokens_said": {"mean": said, "low": said - 3, "high": said + 4, "count": 1000},
            },
        }
        for step, mean, low, high, said in entries
    ]
    _write(folder / "evaluations.jsonl", rows)
    _write(folder / "metrics.jsonl", [{"step": 60}])
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


def test_transcripts_of_the_same_tasks_stand_side_by_side(run: Path) -> None:
    pairs = single.pairs(read_run(run))
    assert [(before.step, after.step) for before, after in pairs if after] == [(0, 60)] * 3
    assert all(after is not None and before.task == after.task for before, after in pairs)
    text = report(run).text
    assert "A late bus!" in text and "(silent)" in text and "nothing useful to tell" in text


def test_what_agents_say_cannot_become_part_of_the_page(run: Path) -> None:
    attack = '</div><script>alert(1)</script><img src=x onerror="alert(1)">\x00\ud800 $x^{2 & <b>'
    row = _transcript(0, 0, wordy=True) | {"question": attack, "answer": attack, "task": attack}
    row["messages"][0] |= {"text": attack, "agent": attack}
    (run / "transcripts.jsonl").write_text(json.dumps(row) + "\n")
    (run / "config.yaml").write_text("seed: 0\nnote: '</pre><script>alert(2)</script>'\n")
    (run / "status.json").write_text(json.dumps({"state": attack, "warnings": [attack]}))
    page = report(run)
    assert "script" not in page.tags and "b" in page.tags
    assert len(page.sources) == len(PICTURES)
    assert "<script>alert(1)</script>" in page.text and "<script>alert(2)</script>" in page.text


def test_control_characters_are_shown_and_endless_texts_shortened() -> None:
    assert safe("a\x1b[31mb\x00\u202ec") == "a�[31mb��c"
    assert safe("x" * 12, longest=5) == "xxxxx … (7 more characters)"


def test_warnings_configuration_and_glossary_are_on_the_page(run: Path) -> None:
    (run / "status.json").write_text(json.dumps({"state": "finished", "warnings": ["collapse!"]}))
    text = report(run).text
    for part in ("collapse!", "price: 0.5", "Share of episodes whose task was solved."):
        assert part in text


def test_an_empty_run_gets_a_report_that_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / ".hydra").mkdir()
    text = report(tmp_path).text
    for name in ("config.yaml", "metrics.jsonl", "evaluations.jsonl", "transcripts.jsonl"):
        assert f"{name} is missing" in text
    assert "there is no evaluation after training yet" in text
    assert "nothing recorded" in text


def test_a_half_way_run_is_reported_as_such(tmp_path: Path) -> None:
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


def test_a_step_written_twice_counts_as_written_last(tmp_path: Path) -> None:
    _write(tmp_path / "metrics.jsonl", [{"step": 1, "a": 1}, {"step": 2}, {"step": 1, "a": 3}])
    assert read_run(tmp_path).metrics == {1: {"a": 3.0}, 2: {}}


@pytest.mark.parametrize(
    "name", ["config.yaml", "metrics.jsonl", "evaluations.jsonl", "transcripts.jsonl"]
)
def test_a_file_of_garbage_costs_its_part_and_no_more(run: Path, name: str) -> None:
    (run / name).write_bytes(b'\xff\x00{]: \xfe\n{"step": 1, "intervals": 3, "task": {}}\n')
    (run / "status.json").write_bytes(b"\xff[")
    assert "What the metrics mean" in report(run).text


def test_evaluations_without_intervals_come_from_the_metrics(run: Path) -> None:
    (run / "evaluations.jsonl").unlink()
    rows = {name: after for name, _, after, _ in single.rows(read_run(run))}
    assert "[" not in rows["accuracy"] and rows["rounds"] == "2.00"


def test_smoothing_is_a_running_mean() -> None:
    assert smooth([]) == []
    assert smooth([2.0]) == [2.0]
    # Half width 1: the mean of three, at the ends of two.
    assert smooth([0.0, 3.0, 3.0, 9.0]) == pytest.approx([1.5, 2.0, 5.0, 6.0], rel=1e-12)


def test_numbers_are_written_for_people() -> None:
    assert level("accuracy", None) == "–"
    assert level("accuracy", Interval(0.5, math.nan, math.nan, 1)) == "50.0 %"
    assert level("reward", Interval(-0.25, -0.5, 0.0, 9)) == "−0.25 [−0.50, 0.00]"
    same = Interval(0.0, 0.0, 0.0, 9)
    assert change("tokens_said", same, same) == "0.00 [0.00, 0.00]"


def test_a_multirun_is_grouped_by_its_overrides_except_the_seed(tmp_path: Path) -> None:
    folder = build_multirun(tmp_path / "multirun")
    page = report(folder)
    assert [path.name for path in (folder / "report").iterdir()] == ["accuracy_tokens.png"]
    found = sweep.sort_out([read_run(one) for one in sweep.find_runs(folder)])
    assert [(one.label, len(one.runs)) for one in found.settings] == [
        ("env.reward.price=0.0", 3),
        ("env.reward.price=0.5", 3),
    ]
    assert found.left_out == ()
    assert "env.reward.price=0.5" in page.text and "before training" in page.text


def test_where_work_is_scored_by_degrees_the_score_comes_first(tmp_path: Path) -> None:
    for number in range(2):
        folder = build_run(tmp_path / "sweep" / str(number), seed=number)
        rows = (folder / "evaluations.jsonl").read_text().splitlines()
        evaluations = [json.loads(row) for row in rows]
        for one in evaluations:
            one["intervals"]["score"] = {"mean": 2.5 + number, "low": 2.4, "high": 4, "count": 9}
        _write(folder / "evaluations.jsonl", evaluations)
    single, together = report(tmp_path / "sweep" / "0"), report(tmp_path / "sweep")
    assert (tmp_path / "sweep" / "0" / "report" / "score.png").exists()
    assert [path.name for path in (tmp_path / "sweep" / "report").iterdir()] == ["score_tokens.png"]
    assert single.text.index("score") < single.text.index("accuracy")
    found = sweep.sort_out([read_run(tmp_path / "sweep" / name) for name in "01"])
    assert sweep.columns(found)[2:6] == ("score", "tokens said", "vs before", "accuracy")
    # mean of 2.5 and 3.5; Student's 12.7 times their standard error of 0.5
    assert sweep.rows(found)[1][2] == "3.00 [−3.35, 9.35]" and "3.00 [−3.35" in together.text


def test_the_mean_of_a_setting_is_over_seeds_with_students_interval(tmp_path: Path) -> None:
    for seed, said in enumerate((10.0, 20.0)):
        folder = build_run(tmp_path / str(seed), seed=seed)
        interval = {"mean": said, "low": said - 1, "high": said + 1, "count": 1000}
        row = {"step": 60, "episodes": 1000, "intervals": {"tokens_said": interval}}
        _write(folder / "evaluations.jsonl", [row])
    found = sweep.sort_out([read_run(one) for one in sweep.find_runs(tmp_path)])
    after = found.settings[0].after("tokens_said")
    # Mean 15, standard error 5, t with one degree of freedom 12.7062.
    assert after is not None
    assert (after.mean, after.low, after.high) == pytest.approx((15, -48.531, 78.531), abs=1e-3)


def test_one_seed_keeps_the_interval_over_its_tasks(run: Path) -> None:
    read = read_run(run)
    assert read.after is not None
    found = sweep.sort_out([read])
    assert found.settings[0].after("accuracy") == read.after.intervals["accuracy"]


def test_runs_that_failed_or_are_unfinished_are_named_and_left_out(tmp_path: Path) -> None:
    build_run(tmp_path / "a" / "0", seed=0)
    build_run(tmp_path / "a" / "1", seed=1, upto=30)
    (tmp_path / "a" / "2" / ".hydra").mkdir(parents=True)
    (tmp_path / "a" / "2" / ".hydra" / "overrides.yaml").write_text("[seed=2]")
    build_run(tmp_path / "b" / "0", seed=3)
    (tmp_path / "b" / "0" / "status.json").write_text('{"state": "failed", "step": 9}')
    build_run(tmp_path / "b" / "10", seed=0)
    runs = [read_run(one) for one in sweep.find_runs(tmp_path)]
    found = sweep.sort_out(runs)
    reasons = {run.folder.relative_to(tmp_path).as_posix(): why for run, why in found.left_out}
    assert reasons == {
        "a/0": "10 repeats its setting and seed 0",
        "a/1": "unfinished (step 30 of 60), last evaluated at step 20",
        "a/2": "nothing recorded",
        "b/0": "failed (step 60 of 60), last evaluated at step 60",
    }
    assert [run.folder.name for run in found.settings[0].runs] == ["10"]
    text = report(tmp_path).text
    assert "a/1: unfinished (step 30 of 60)" in text


def test_runs_of_unknown_overrides_are_never_pooled(tmp_path: Path) -> None:
    for number in range(2):
        folder = build_run(tmp_path / str(number), seed=number)
        (folder / ".hydra" / "overrides.yaml").unlink()
    found = sweep.sort_out([read_run(one) for one in sweep.find_runs(tmp_path)])
    assert [len(one.runs) for one in found.settings] == [1, 1]


def test_a_folder_of_nothing_but_failed_runs_still_has_a_report(tmp_path: Path) -> None:
    (tmp_path / "0" / ".hydra").mkdir(parents=True)
    assert "nothing recorded" in report(tmp_path).text


def test_run_folders_come_in_natural_order(tmp_path: Path) -> None:
    for name in ("10", "2", "1"):
        (tmp_path / name / ".hydra").mkdir(parents=True)
    assert [one.name for one in sweep.find_runs(tmp_path)] == ["1", "2", "10"]


def test_the_terminal_shows_the_table_and_the_paths(run: Path, tmp_path: Path) -> None:
    console = Console(width=160, record=True, quiet=False, file=(tmp_path / "out").open("w"))
    path = write_report(run, console)
    text = console.export_text()
    assert "tokens said" in text and "before training" in text
    assert str(path) in text.replace("\n", "")


def test_square_brackets_in_overrides_survive_the_terminal(tmp_path: Path) -> None:
    for number, schedule in enumerate(("[helper,solver]", "[/bold]")):
        overrides = [f"seed={number}", f"'env.schedule={schedule}'"]
        build_run(tmp_path / str(number), seed=number, overrides=overrides)
    console = Console(width=250, record=True, file=(tmp_path / "out").open("w"))
    write_report(tmp_path, console)
    assert "env.schedule=[/bold]" in console.export_text()


def test_a_report_of_the_same_folder_is_the_same_file(run: Path) -> None:
    first = write_report(run).read_bytes()
    assert write_report(run).read_bytes() == first


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_without_runs_is_refused_with_what_to_do(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "typo"
    if exists:
        folder.mkdir()
    with pytest.raises(FileNotFoundError, match="typo"):
        write_report(folder)


def test_the_command_ends_with_an_error_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "typo")])
    assert "expected the folder of a run" in capsys.readouterr().err
