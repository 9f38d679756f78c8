"""A training group as reports and the viewer show it."""

from __future__ import annotations

import json

import pytest
from logged_groups import CONTRAST, learner
from made_runs import Reader

from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.run_folder.group_log import log_group
from laconic.extras.report import group_view
from laconic.extras.report.group_view import group_of, show
from laconic.extras.report.write import write_report


def turn(texts, before, after, agent="a_0", round=0, **further):
    row = {"agent": agent, "round": round, "texts": texts, "logprobs": before}
    return {**row, "logprobs_after": after, "learned": True, "message": "m", **further}


def sequence(advantage, agent="a_0", episode=0, round=None):
    return {"agent": agent, "episode": episode, "round": round, "advantage": advantage}


def group(*turns, sequences=()):
    return {"step": 7, "task": "t", "episodes": [{"turns": [*turns]}], "sequences": [*sequences]}


def test_a_token_has_its_figures_and_the_colors_of_their_ranges() -> None:
    # Log-ratios: 0.02 - 0.05 = -0.03 -> r2; 0.5 -> r6. -log p: 0.05 -> l0; 2.0 -> l3.
    # Of the largest advantage, 0.8, this is a half: a5.
    said = turn([" a", "b"], [-0.05, -2.0], [-0.08, -1.5])
    shown = show(group(said, sequences=[sequence(0.4), sequence(-0.8, "b_0")]))
    first, second = shown.episodes[0].turns[0].tokens
    assert first.classes == {"logprob": "l0", "ratio": "r2", "advantage": "a5", "mask": "m1"}
    assert second.classes == {"logprob": "l3", "ratio": "r6", "advantage": "a5", "mask": "m1"}
    # exp(-0.03) = 0.970; exp(0.5) = 1.649.
    assert first.words == "log p -0.05, ratio 0.970, A +0.400, learned from"
    assert second.words == "log p -2.00, ratio 1.649, A +0.400, learned from"


@pytest.mark.parametrize(
    ("advantage", "color"),
    # Parts of the largest, 1: -1, -0.5, -0.1, 0, 0.1, 0.5, 1.
    [(-1, "a0"), (-0.5, "a1"), (-0.1, "a2"), (0.0, "a3"), (0.1, "a4"), (0.5, "a5"), (1, "a6")],
)
def test_an_advantage_is_colored_by_the_largest_of_its_group(advantage, color) -> None:
    both = [sequence(advantage), sequence(1.0, "b_0")]
    (token,) = show(group(turn(["x"], [0.0], [0.0]), sequences=both)).episodes[0].turns[0].tokens
    assert token.classes["advantage"] == color


def test_replies_of_one_agent_have_the_advantages_of_their_rounds() -> None:
    turns = [turn(["x"], [0.0], [0.0], round=place) for place in (0, 1)]
    shown = show(group(*turns, sequences=[sequence(1.0, round=0), sequence(-1.0, round=1)]))
    words = [each.tokens[0].words for each in shown.episodes[0].turns]
    assert ["A +1.000" in words[0], "A -1.000" in words[1]] == [True, True]


def test_what_was_not_recorded_is_left_out() -> None:
    # As earlier versions wrote it, and as a run with sharded weights does.
    old = {"agent": "a_0", "round": 0, "message": "six", "logprobs": [-0.1]}
    sharded = turn(["x"], [-0.1], None, learned=False)
    first, second = show(group(old, sharded)).episodes[0].turns
    assert (first.tokens, first.turn.learned) == ((), None)
    assert second.tokens[0].classes == {"logprob": "l1", "mask": "m0"}
    assert second.tokens[0].words == "log p -0.10, left out"


def test_a_long_group_is_cut(monkeypatch) -> None:
    monkeypatch.setattr(group_view, "MOST_TOKENS", 5)
    monkeypatch.setattr(group_view, "MOST_EPISODES", 1)
    row = group(turn(["x"] * 4, [0.0] * 4, [0.0] * 4), turn(["y"] * 4, [0.0] * 4, [0.0] * 4))
    row["episodes"] *= 3
    shown = show(row)
    assert [len(each.tokens) for each in shown.episodes[0].turns] == [4, 1]
    assert [each.left_out for each in shown.episodes[0].turns] == [0, 3]
    assert shown.left_out == 2


@pytest.mark.parametrize(
    "row",
    [
        {"episodes": 3, "sequences": {"a": 1}},
        {"episodes": [1, {"turns": "x"}], "sequences": [{"episode": "x", "advantage": "y"}]},
        {"episodes": [{"turns": [{"texts": [1, None], "logprobs": ["x"], "round": 1e400}]}]},
    ],
)
def test_a_strangers_group_of_another_form_is_no_error(tmp_path, row) -> None:
    (tmp_path / "groups.jsonl").write_text(json.dumps({"step": 1, **row}) + "\n")
    shown = group_of(tmp_path)
    assert shown is not None and shown.step == 1
    (tmp_path / "metrics.jsonl").write_text("")
    assert "One group side by side" in write_report(tmp_path).read_text()


def test_the_page_shows_figures_and_tokens_as_text_and_without_styles_of_their_own(
    tmp_path,
) -> None:
    folder = RunFolder(tmp_path)
    log_group(folder, learner(CONTRAST), (CONTRAST,), 1)
    row = json.loads(folder.groups.read_text())
    row["episodes"][0]["turns"][0]["texts"][0] = "<script>x</script>"
    folder.groups.write_text(json.dumps(row) + "\n")
    folder.metrics.write_text("")
    text = write_report(tmp_path).read_text("utf-8")
    page = Reader(text)
    assert "One group side by side" in page.text and "<script>x</script>" in page.text
    assert page.tags.count("script") == 1 and "style=" not in text
    # X = 1 - 0.4 and A = 0.6 + 0.3; see tests/experiments/run_folder/test_group_log.py.
    for number in ("1.000", "0.400", "0.600", "0.900", "-0.900"):
        assert f"<td>{number}</td>" in text
    # 10 and 30 tokens, and the colors of the legends: 5 + 7 + 7 + 2.
    assert text.count('class="tok ') == 10 + 30 + 21
    # The log-ratio is 0.1 up to rounding, and the probability exp(-0.12).
    assert 'title="log p -0.12, ratio 1.105, A +0.900, learned from"' in text


def test_a_run_without_groups_has_no_such_part(run, report) -> None:
    assert group_of(run) is None and "side by side" not in report(run).text
