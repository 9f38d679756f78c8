"""Cross-play: pairs of runs, and the gap by hand."""

from __future__ import annotations

import math

import pytest

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.experiments.run_folder.folder import RunFolder
from laconic.extras.compare.cross import cross, gap_of, gaps_of, name_pairs, write_gaps
from laconic.extras.compare.entries import Entry
from laconic.extras.compare.rows import Row
from laconic.learners.metrics import Interval

ROLES = ("solver", "helper", "helper")
RUNS = {
    name: Entry(name, env={"rounds": 2}, agent={"_target_": "x", "model": name}, source=f"/{name}")
    for name in ("a", "b")
}


def test_every_pair_plays_with_one_role_of_the_first_and_the_others_of_the_second():
    entries = cross(RUNS, "solver", ROLES)
    assert (
        [entry.name for entry in entries]
        == ["a+a", "a+b", "b+a", "b+b"]
        == list(name_pairs(("a", "b")))
    )
    models = [
        {role: member["model"] for role, member in entry.agent["members"].items()}
        for entry in entries
    ]
    assert models[1] == {"solver": "a", "helper": "b"}
    assert models[2] == {"solver": "b", "helper": "a"}
    assert (entries[1].env, entries[1].source) == ({"rounds": 2}, "/b")
    other = cross(RUNS, "helper", ROLES)[1].agent["members"]
    assert {role: member["model"] for role, member in other.items()} == {
        "solver": "b",
        "helper": "a",
    }


def test_the_gap_by_hand():
    # With themselves .9, .8 and .7; a and b understand each other worse than c does.
    values = {("a", "a"): 0.9, ("b", "b"): 0.8, ("c", "c"): 0.7}
    values |= {("a", "b"): 0.2, ("b", "a"): 0.4, ("a", "c"): 0.6, ("c", "a"): 0.6}
    values |= {("b", "c"): 0.5, ("c", "b"): 0.7}
    gap = gap_of(values)
    assert (gap.alone, gap.crossed) == (pytest.approx(0.8), pytest.approx(0.5))
    # a: .9 - .45; b: .8 - .45; c: .7 - .6, so their mean is .3, the difference above.
    assert gap.gap.mean == pytest.approx(0.3)
    # Deviations .15, .05, -.2: s^2 = .065 / 2, and t with two degrees of freedom is 4.3027.
    half = 4.3027 * math.sqrt(0.0325 / 3)
    assert (gap.gap.low, gap.gap.high) == pytest.approx((0.3 - half, 0.3 + half), abs=1e-4)
    assert str(gap).startswith("0.800 with itself, 0.500 with others, gap 0.300 [-0.")


def rows_of(values):
    return {
        name: Row(name, "finished", figures={"accuracy": Interval(value, 0, 1, 9)})
        for name, value in zip(name_pairs(("a", "b")), values, strict=True)
    }


def test_two_copies_of_one_run_have_no_gap(tmp_path):
    gaps = gaps_of(rows_of([0.3, 0.3, 0.3, 0.3]), ("a", "b"))
    assert (gaps["accuracy"].gap.mean, gaps["accuracy"].alone) == (0.0, 0.3)
    write_gaps(gaps, RunFolder(tmp_path))
    lines = (tmp_path / "crossplay.csv").read_text().splitlines()
    assert lines == ["figure,alone,crossed,gap,low,high,runs", "accuracy,0.3,0.3,0.0,nan,nan,2"]


def test_there_is_no_gap_before_all_pairs_have_played():
    rows = rows_of([0.3, 0.3, 0.3, 0.3])
    del rows["b+a"]
    assert gaps_of(rows, ("a", "b")) == {}
    assert gaps_of(rows | {"b+a": Row("b+a", "failed")}, ("a", "b")) == {}


@pytest.mark.parametrize(
    ("runs", "role", "roles", "error", "words"),
    [
        (RUNS, "solvr", ROLES, UnknownNameError, r"compare\.cross 'solvr'. Did you mean 'solver'"),
        ({"a": RUNS["a"]}, "solver", ROLES, SettingError, "needs two runs .* got 1 and 2"),
        (RUNS, "solver", ("solver",), SettingError, "got 2 and 1"),
        (
            {**RUNS, "c": Entry("c", agent={"members": {}})},
            "solver",
            ROLES,
            SettingError,
            "mixed teams c",
        ),
    ],
)
def test_what_cannot_be_crossed_is_refused(runs, role, roles, error, words):
    with pytest.raises(error, match=words):
        cross(runs, role, roles)
