"""Results of others are data: they join if they fit, and are refused with the reason if not."""

from __future__ import annotations

import copy
import json
import os

import numpy as np
import pytest

from laconic.envs.errors import SettingError
from laconic.extras.benchmark import report
from laconic.extras.benchmark.results import FILE, LAYOUT, collect, join, write
from laconic.extras.benchmark.statistics import run_scores


@pytest.fixture
def shared(results, tmp_path):
    write(results, tmp_path)
    return json.loads((tmp_path / FILE).read_text())


def joined(results, tmp_path, data):
    path = tmp_path / "theirs.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return join(results, path)


def test_scores_are_normalized_and_bounded_by_run(results):
    # (0.4 + 0.8) / 2 / 0.8 = 0.75; 0.4 / 0.8 = 0.5; -4 / 0.8 counts as -1.
    assert np.allclose(run_scores(results.scores("gspo")), [[0.75, 0.5], [1.0, 0.75]])
    assert np.allclose(run_scores(results.scores("grpo")), [[-1.0, 0.25], [0.5, 0.25]])


def test_only_seeds_that_are_finished_everywhere_are_pooled(results):
    runs = copy.deepcopy(results.runs)
    del runs["gspo"]["jury"][0]
    less = type(results)(results.set, results.played, runs)
    assert run_scores(less.scores("gspo")).shape == (1, 2)
    del runs["gspo"]["jury"]
    assert less.scores("gspo") is None


def test_the_layout_is_that_of_marl_eval(results, tmp_path):
    write(results, tmp_path)
    data = json.loads((tmp_path / LAYOUT).read_text())
    run = data["small_v1"]["signal"]["grpo"]["seed_0"]
    assert list(run) == ["step_0", "step_1", "absolute_metrics"]
    assert run["step_1"]["step_count"] == 4
    assert run["absolute_metrics"] == run["step_1"]
    assert run["step_1"]["normalized"] == [-1.0] and run["step_1"]["reward"] == [-4.0, -4.0]


def test_results_of_the_same_set_join_under_another_name(results, shared, tmp_path):
    whole = joined(results, tmp_path, shared)
    assert set(whole.runs) == {"gspo", "grpo", "gspo.2", "grpo.2"}
    assert whole.runs["gspo.2"] == results.runs["gspo"]
    assert whole.seconds["gspo.2"] == 60.0
    assert whole.joined == [f"from {tmp_path / 'theirs.json'}: gspo as gspo.2, grpo as grpo.2"]


def test_their_own_scores_are_not_believed(results, shared, tmp_path):
    for run in shared["results"]["small_v1"]["signal"]["gspo"].values():
        run["step_1"]["normalized"] = [1e6]
    shared["played"]["signal"]["scale"]["best"] = 1e-9
    whole = joined(results, tmp_path, shared)
    assert np.array_equal(whole.scores("gspo.2")[0], results.scores("gspo")[0])


def _steps(count):
    figures = {"reward": [0.5], "accuracy": [1.0], "tokens_spent": [1.0]}
    return {"step_count": count, **figures}


STEPS = {"seed_0": {"step_0": _steps(0), "step_1": _steps(4), "absolute_metrics": _steps(4)}}
RUN = ("results", "small_v1", "signal", "gspo", "seed_0")
REFUSED = {
    "another version": (("set", "version"), 2, "'small_v2', not of small_v1: run both with"),
    "another budget": (
        ("set", "environments", "jury", "settings", "train.steps"),
        400,
        r"jury settings train\.steps is '400', not '4'",
    ),
    "another start": (("set", "environments", "jury", "start"), "ff", "jury start"),
    "another game": (
        ("played", "jury", "game"),
        "ee",
        "its settings of env=jury are others",
    ),
    "other tasks": (("played", "signal", "tasks"), "ee", "its tasks of env=signal are others"),
    "tasks of other contents": (
        ("played", "signal", "baselines", "oracle", "reward"),
        0.7,
        "oracle script",
    ),
    "no set": (("set",), None, "'set' must be an object"),
    "a list of environments": (("set", "environments"), [], "expected a set"),
    "no played": (("played",), 3, "'played'"),
    "no results": (("results",), {}, "small_v1"),
    "no run": (("results", "small_v1"), {}, "1 to 100 methods; got 0"),
    "a path as a name": (
        ("results", "small_v1", "signal"),
        {"../../etc": {}},
        "expected names of methods",
    ),
    "markup as a name": (
        ("results", "small_v1", "signal"),
        {"<script>alert(1)</script>": {}},
        "expected names of methods",
    ),
    "a seed with markup": (("results", "small_v1", "signal", "gspo"), {"<b>": {}}, "seed_0"),
    "a run without a step": ((*RUN, "step_1"), "", "'step_1' must be an object"),
    "NaN": ((*RUN, "step_1", "reward"), [float("nan"), 1.0], "reward of signal must be 2 numbers"),
    "infinity": ((*RUN, "step_1", "reward"), [float("inf"), 1.0], "2 numbers"),
    "an integer without end": ((*RUN, "step_1", "reward"), [10**400, 1.0], "2 numbers"),
    "text": ((*RUN, "step_1", "accuracy"), ["1", 1.0], "from 0 to 1"),
    "true": ((*RUN, "step_1", "accuracy"), [True, 1.0], "from 0 to 1"),
    "too accurate": ((*RUN, "step_1", "accuracy"), [1.5, 1.0], "from 0 to 1"),
    "too few tasks": ((*RUN, "step_1", "tokens_spent"), [1.0], "tokens_spent of signal"),
    "a number for a list": ((*RUN, "step_1", "tokens_spent"), 1.0, "tokens_spent of signal"),
    "evaluations without end": (("set", "evaluations"), float("inf"), "OverflowError"),
    "minutes without end": (
        ("set", "environments", "jury", "minutes"),
        10**400,
        "OverflowError",
    ),
    "too many methods": (
        ("results", "small_v1", "jury"),
        {f"m{number}": STEPS for number in range(101)},
        "1 to 100 methods",
    ),
    "other updates": ((*RUN, "step_1", "step_count"), 5, "after 4 updates"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_with_the_reason(results, shared, tmp_path, case):
    (*where, last), value, reason = REFUSED[case]
    node = shared
    for key in where:
        node = node[key]
    node[last] = value
    with pytest.raises(SettingError, match=reason):
        joined(results, tmp_path, shared)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"set": 1}', "null"])
def test_what_is_no_result_is_refused(results, tmp_path, text):
    with pytest.raises(SettingError):
        joined(results, tmp_path, text)


@pytest.mark.parametrize(
    "methods",
    [
        {"../../x": {"seeds": [0]}},
        {"a": {"seeds": [float("inf")]}},
        {"a": {"seeds": "x"}},
        {"a": 1},
        [],
        None,
    ],
)
def test_the_folder_of_someone_else_names_no_path(results, tmp_path, methods):
    plan = {"set": results.set.as_json(), "methods": methods}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(SettingError):
        collect(tmp_path)


def test_a_huge_file_a_link_and_a_pipe_are_refused(results, shared, tmp_path):
    big = tmp_path / "big.json"
    with open(big, "wb") as file:
        file.truncate(65 * 2**20)
    (tmp_path / "link.json").symlink_to(tmp_path / FILE)
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("big.json", "link.json", "pipe.json", "none.json"):
        with pytest.raises(SettingError, match="cannot be read"):
            join(results, tmp_path / name)


def test_markup_of_a_reason_stays_text(results, tmp_path):
    bad = type(results)(
        results.set, results.played, results.runs, [("gspo", "jury", 2, "<script>|x|</script>")]
    )
    whole = {name: bad.scores(name) for name in bad.runs}
    parts = report.tables(bad, whole)
    rows = parts[0].rows
    refused = ["<img src=x onerror=alert(1)>"]
    text = report.markdown(bad, parts, refused)
    picture = report.draw(bad, whole)
    document = report.page(bad, parts, refused, picture)
    assert picture.png
    for written in (text, document):
        assert "<script" not in written and "<img src=x" not in written
        assert "&lt;script&gt;" in written and "seed 2" in written
    assert [row[0] for row in rows] == ["gspo", "grpo", "(silent)", "(oracle)"]
    # The best script scores 1, and silence 0.
    assert rows[3][2:4] == ("1.00", "1.00") and rows[2][2:4] == ("0.00", "0.00")
