"""Published numbers of coordination recomputed, and vectors worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from laconic.extras.analysis.coordination import (
    answer_flow,
    efficiency,
    overhead,
    paired,
    redundancy,
    spent_ratio,
    vectors,
)
from laconic.learners.metrics import Interval

# Success and turns of arXiv 2512.08296: alone, independent, decentralized, centralized, hybrid.
PUBLISHED = [(0.466, 7.2), (0.370, 11.4), (0.477, 26.1), (0.463, 27.7), (0.452, 44.3)]


def test_the_published_overheads_and_efficiencies_follow_from_success_and_turns():
    assert [round(100 * overhead(turns, 7.2)) for _, turns in PUBLISHED] == [0, 58, 263, 285, 515]
    efficiencies = [efficiency(success, turns, 7.2) for success, turns in PUBLISHED]
    # The paper prints .074 for .0735.
    assert efficiencies == pytest.approx([0.466, 0.234, 0.132, 0.120, 0.0735], abs=5e-4)


def test_redundancy_is_the_mean_cosine_of_all_pairs():
    assert redundancy(np.tile([[0.6, 0.8]], (4, 1))) == pytest.approx(1.0)
    assert redundancy(np.eye(4)) == pytest.approx(0.0)
    # Of 15 pairs six lie within a cluster.
    assert redundancy(np.repeat(np.eye(2), 3, axis=0)) == pytest.approx(6 / 15)


def test_replies_are_counted_token_by_token():
    rows = vectors([["a", "a", "b"], ["b"], []])
    assert rows.tolist() == [[2 / math.sqrt(5), 1 / math.sqrt(5)], [0, 1], [0, 0]]
    assert math.isnan(redundancy(rows[:1]))


def test_broken_and_fixed_tasks_are_those_that_one_of_two_solves():
    alone = {"a": True, "b": True, "c": False, "d": False, "x": True}
    team = {"a": True, "b": False, "c": True, "d": True, "y": True}
    broken, fixed, gain = paired(alone, team)
    assert (broken, fixed, gain.mean, gain.count) == (1, 2, 0.25, 4)
    # Clopper and Pearson for 2 of 3: 0.0943 to 0.9916.
    assert (gain.low, gain.high) == pytest.approx(
        ((2 * 0.0943 - 1) * 3 / 4, (2 * 0.9916 - 1) * 3 / 4), abs=1e-3
    )
    assert paired(alone, alone)[2].low == paired({}, team)[2].mean == 0.0


def test_tokens_are_compared_task_by_task():
    tokens = {"a": 10, "b": 20, "c": 70, "only": 5}
    half = spent_ratio(
        tokens, {name: count // 2 for name, count in tokens.items() if name != "only"}
    )
    # Each task costs half as much, so every draw of tasks does.
    assert half == Interval(0.5, 0.5, 0.5, 3)
    other = spent_ratio(tokens, {"a": 20, "b": 20, "c": 10})
    assert other.mean == 0.5 and 1 / 7 <= other.low < 0.5 < other.high <= 2
    assert spent_ratio({"a": 0}, {"a": 3}) is None and spent_ratio(tokens, {"d": 3}) is None


def test_answers_flow_from_round_to_round_and_conform_to_the_commonest_of_the_others():
    # The right answer is 7. b and c said 5 before: a follows them; c follows a alone of a tie.
    first = {"a": ("7", True), "b": ("5", False), "c": ("5", False)}
    second = {"a": ("5", False), "b": ("5", False), "c": ("7", True)}
    # For b the others' 7 and 5 are equally common, for c too.
    assert answer_flow([first, second]) == {"tt": (0, 0), "tf": (1, 1), "ft": (1, 1), "ff": (1, 1)}
    # An agent that skips a round takes no step; alone there is nobody to conform to.
    alone = {"a": ("7", True)}
    assert answer_flow([alone, alone, {}, alone])["tt"] == (1, 0)
    assert answer_flow([{"a": ("3", False), "b": ("7", True)}, {"a": ("4", False)}])["ff"] == (1, 0)
