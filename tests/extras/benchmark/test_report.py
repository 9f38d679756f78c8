"""The report has one order and one reference, and says what it leaves out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from laconic.envs.errors import SettingError
from laconic.extras.benchmark import report
from laconic.extras.benchmark import results as files
from laconic.extras.benchmark.results import FILE, write
from laconic.extras.benchmark.score import Scale


def test_a_script_and_a_method_that_earn_the_same_have_the_same_iqm(results):
    # Scores 0, 0.25 and 1, each of two seeds: without the lowest and the highest of the six,
    # (0 + 0.25 + 0.25 + 1) / 4 = 0.375. Their plain mean is 0.417.
    scores = {"signal": 0.0, "jury": 0.25, "cups": 1.0}
    figures = {"accuracy": 1.0, "tokens_spent": 5.0}
    played = {
        name: replace(
            results.played["jury"],
            scale=Scale(0.0, 1.0, "oracle"),
            baselines={"oracle": {**figures, "reward": score}},
        )
        for name, score in scores.items()
    }
    step = {name: {key: [value] for key, value in figures.items()} for name in scores}
    runs = {
        name: {seed: [{**step[name], "reward": [score]}] * 2 for seed in (0, 1)}
        for name, score in scores.items()
    }
    part = results.set.environments["jury"]
    found = replace(results.set, environments=dict.fromkeys(scores, part))
    for seeds, expected in ((2, "0.38"), (1, "0.42")):
        some = {name: dict(list(each.items())[:seeds]) for name, each in runs.items()}
        both = replace(results, set=found, played=played, runs={"gspo": some})
        rows = report.tables(both, report.finished(both))[0].rows
        assert [(row[0], row[2]) for row in rows] == [("gspo", expected), ("(oracle)", expected)]


def test_intervals_of_shares_and_tokens_end_where_their_values_do(results):
    # Exact values of two seeds, far apart: t(1) x their standard error is 12.7 x 0.07 and more.
    steps = [
        [{"reward": [1.0], "accuracy": [share], "tokens_spent": [tokens]}]
        for share, tokens in ((0.71, 0.0), (0.85, 1.0))
    ]
    two = replace(results, runs={"gspo": {"jury": dict(enumerate(steps))}})
    rows = report.tables(two, {})[1].rows
    place = list(two.played).index("jury")
    assert rows[0][1 + place] == "78.0 % [0.0, 100.0] in 0.50 [0.00, 6.85]"


def test_the_picture_compares_with_the_first_method_of_the_table(results):
    # gspo: 0.5, 0.75, 0.75 and 1, and grpo: -1, 0.25, 0.25 and 0.5.
    turned = replace(results, runs=dict(reversed(results.runs.items())))
    whole = report.finished(turned)
    scores, figures = report.tables(turned, whole)
    rows = scores.rows
    assert [(row[0], row[2][:4]) for row in rows[:2]] == [("gspo", "0.75"), ("grpo", "0.25")]
    assert "beats one of gspo" in report.draw(turned, whole).caption
    assert "beats" not in report.draw(turned, {"grpo": whole["grpo"]}).caption
    assert report.draw(turned, {}).png


def test_a_file_that_does_not_join_ends_the_report_with_1(results, tmp_path, monkeypatch, capsys):
    write(results, tmp_path)
    theirs = json.loads((tmp_path / FILE).read_text())
    theirs["set"]["environments"]["jury"]["settings"]["train.steps"] = 400
    other = tmp_path / "theirs.json"
    other.write_text(json.dumps(theirs))
    monkeypatch.setattr(files, "collect", lambda folder: results)
    with pytest.raises(SystemExit) as ended:
        report.main([str(tmp_path), str(other)])
    assert ended.value.code == 1
    assert f"left out: {other} does not join the table" in capsys.readouterr().err
    assert "does not join the table: its budget differs" in (tmp_path / "table.md").read_text()
    other.write_text((tmp_path / FILE).read_text())
    report.main([str(tmp_path), str(other)])
    assert "gspo as gspo.2" in (tmp_path / "table.md").read_text()


def test_a_shared_file_alone_makes_the_same_table(results, tmp_path, capsys):
    (tmp_path / "own").mkdir()
    write(results, tmp_path / "own")
    shared = (tmp_path / "own" / FILE).rename(tmp_path / "theirs.json")
    report.main([str(shared)])
    table = (tmp_path / "theirs" / "table.md").read_text()
    parts = report.tables(results, report.finished(results))
    assert table == report.markdown(results, parts, [])
    assert files.load(tmp_path / "theirs") == files.load(shared)


@pytest.mark.parametrize("name", ["own.json", "own"])
def test_the_report_of_a_file_spares_a_benchmark_and_the_file(results, tmp_path, name):
    (tmp_path / "made").mkdir()
    write(results, tmp_path / "made")
    shared = (tmp_path / "made" / FILE).rename(tmp_path / name)
    if name == "own.json":
        (tmp_path / "own").mkdir()
        (tmp_path / "own" / files.PLAN).write_text("{}")
    with pytest.raises(SettingError, match="another file or benchmark"):
        report.write(shared, [], None)
    assert files.load(shared).runs


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("scale", "best_of"), "<script>"),
        (("scale", "best"), float("nan")),
        (("scale", "best"), -5.0),
        (("scale",), None),
        (("baselines",), {"<b>": {"reward": 0.0, "accuracy": 0.0, "tokens_spent": 0.0}}),
        (("baselines", "oracle", "reward"), "1"),
        (("count",), "many"),
        (("count",), 0),
    ],
)
def test_a_shared_file_with_damaged_games_is_refused(results, tmp_path, where, value):
    write(results, tmp_path)
    data = json.loads((tmp_path / FILE).read_text())
    node = data["played"]["jury"]
    for key in where[:-1]:
        node = node[key]
    node[where[-1]] = value
    (tmp_path / FILE).write_text(json.dumps(data))
    with pytest.raises(SettingError, match="its games is damaged"):
        files.load(tmp_path / FILE)
