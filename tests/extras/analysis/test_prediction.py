"""Measures of one agent, and the shapes of teams, worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from laconic.envs.dialogue.roster import Roster
from laconic.envs.errors import SettingError
from laconic.extras.analysis.prediction import Played, Shape, interval, predict, shape_of
from laconic.extras.analysis.voter import tree

SETTINGS = {"env.information": "full", "env.budget.message": 48, "agent.model": None}


def played(solved, plays=None, *, shape=None, split=False, cap=48, agents=1, **more):
    """Return an evaluation with these solved plays of each task; one play each by default."""
    settings = SETTINGS | {"env.budget.message": cap}
    settings |= {"env.information": "split"} if split else {}
    others = (("helper", agents - 1),) if split else ()
    counts = np.array(plays or [1] * len(solved), float)
    values = (settings | more, "solver", others, agents, shape, np.array(solved, float), counts)
    return Played(Path("made"), *values, 20.0, 30.0)


def shape(team, topology, schedule, rounds, answer="solver", information="full"):
    return shape_of(Roster.of(team, topology, schedule, answer, rounds), rounds, information)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (({"solver": 1}, "star", "all", 2), None),
        (({"solver": 1, "helper": 4}, "star", ["helper", "solver"], 2), Shape(4, 1, True)),
        (({"solver": 1, "mid": 2, "leaf": 4}, "tree", ["leaf", "mid", "solver"], 3), (2, 2)),
        (({"solver": 1, "mid": 1, "leaf": 1}, "chain", ["leaf", "mid", "solver"], 3), (1, 2)),
        (({"solver": 5}, "none", "all", 1, "majority"), Shape(5, 1, False)),
        # The helpers of a split task tell facts, and two solvers vote.
        (
            ({"solver": 2, "helper": 3}, "complete", ["helper", "solver"], 2, "solver", "split"),
            Shape(2, 1, False),
        ),
        (
            ({"solver": 1, "helper": 3}, "star", ["helper", "solver"], 2, "solver", "split"),
            None,
        ),
    ],
)
def test_the_shape_of_a_team(settings, expected):
    assert shape(*settings) == (Shape(*expected, True) if type(expected) is tuple else expected)


def test_a_tree_is_read_as_it_was_laid_out():
    for fan_in, depth in ((3, 1), (3, 2), (2, 3), (1, 4)):
        settings = tree(fan_in, depth)
        names = ("team", "topology", "schedule", "rounds")
        assert shape(*(settings[name] for name in names)) == Shape(fan_in, depth, True)


@pytest.mark.parametrize(
    "settings",
    [
        # A debate: everyone speaks twice.
        ({"solver": 3}, "complete", "all", 2, "majority"),
        # The root hears two agents, of which one hears two more.
        (
            {"solver": 1, "mid": 1, "leaf": 3},
            [[0, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0] * 5, [0] * 5, [0] * 5],
            ["leaf", "mid", "solver"],
            3,
        ),
        # Nobody hears the helpers.
        ({"solver": 1, "helper": 2}, "none", ["helper", "solver"], 2),
        # Everybody hears the leaf, so that its vote counts twice.
        ({"solver": 1, "mid": 1, "leaf": 1}, "complete", ["leaf", "mid", "solver"], 3),
    ],
)
def test_other_teams_are_refused(settings):
    with pytest.raises(SettingError, match="expected a regular tree of votes"):
        shape(*settings)


def test_errors_in_common_are_a_correlation():
    # 5 of 8 plays: p = 5/8. Pairs of plays of a task: 2 of 4 are both right, so that
    # ρ = (1/2 - 25/64) / (15/64) = 7/15.
    one = played([2, 2, 0, 1], [2, 2, 2, 2])
    assert one.bias[0] == pytest.approx(0.25) and one.shared[0] == pytest.approx(7 / 15)
    # Always the same, never by more than chance, always right, played once.
    assert played([2, 0], [2, 2]).shared[0] == 1
    assert played([1, 1], [2, 2]).shared[0] == 0
    assert played([2, 2], [2, 2]).shared[0] == 0
    assert math.isnan(played([1, 0]).shared[0])


def test_a_vote_of_three_independent_agents():
    # p = .7: .343 + 3 * .49 * .3 = .784.
    one, ballot = played([7, 7], [10, 10]), Shape(3, 1, False)
    team = played([1] * 80 + [0] * 20, shape=ballot)
    (result,) = predict([team, one], shared=0.0)
    assert result.predicted.mean == pytest.approx(0.784)
    assert (result.voter.mean, result.measured.mean) == pytest.approx((0.7, 0.8))
    assert result.inside and (result.fidelity.mean, result.amplification) == (1.0, 1.5)
    assert result.beta is None and "exponent of one agent is unknown" in result.verdict
    # With ρ = 1/2: .7 and .784 in equal parts.
    (half,) = predict([team, one], shared=0.5)
    assert half.predicted.mean == pytest.approx(0.742)
    assert not predict([replace(team, solved=np.zeros(100)), one], shared=0.5)[0].inside


def test_messages_have_the_fidelity_of_a_relay():
    # One agent: bias .5. The relay: .2, so that γ = .4. Three leaves of bias .5 arrive as .2:
    # f_3(.2) = .296, and the root is right with probability .648.
    one, relay = played([15], [20]), played([12], [20], split=True, agents=2)
    team = played([1, 0], shape=Shape(3, 1, True), agents=4)
    (result,) = predict([one, relay, team], shared=0.0)
    assert result.fidelity.mean == pytest.approx(0.4)
    assert result.predicted.mean == pytest.approx(0.648)
    # 0.4 * 1.5 = 0.6 is below 1.
    assert result.amplification == pytest.approx(0.6) and result.exponent < 0


def test_a_team_pays_where_its_exponent_is_above_that_of_one_agent():
    # Biases of .4 at a cap of 24 and .4 * 2^.1 at 48: β = .1. s of three votes is .369.
    wide = 500 * (1 + 0.4 * 2**0.1)
    ones = [played([700], [1000], cap=24), played([wide], [1000])]
    team = played([1, 0], shape=Shape(3, 1, False))
    (result,) = predict([*ones, team], shared=0.0)
    assert result.beta is not None and result.beta.mean == pytest.approx(0.1)
    # β c / (s - β) = .1 * 30 / (.36907 - .1).
    assert result.leaf_tokens == pytest.approx(11.15, abs=0.01)
    assert "votes are predicted to do better than one agent, best at a cap of 11" in result.verdict
    # The resamples of two different tasks leave β open.
    vague = [played([600, 720], [1000] * 2, cap=24), ones[1]]
    assert "is open; evaluate more tasks" in predict([*vague, team], shared=0.0)[0].verdict
    # Two votes have s = 0.
    (pair,) = predict([*ones, replace(team, shape=Shape(2, 1, False))], shared=0.0)
    assert pair.leaf_tokens is None and "with the whole budget is predicted" in pair.verdict


def test_the_intervals_are_over_tasks():
    # All samples of equal tasks are equal; of different ones they are not.
    even, uneven = (predict([played(c, [4] * 50), _ballot()])[0] for c in ([3] * 50, [4, 2] * 25))
    assert even.predicted.low == even.predicted.high == even.predicted.mean
    assert uneven.predicted.low < uneven.predicted.mean < uneven.predicted.high
    assert interval(np.array([0.5, math.nan])).mean == 0.5


def _ballot(**more):
    return played([1, 0], shape=Shape(3, 1, False), **more)


@pytest.mark.parametrize(
    ("evaluations", "expected"),
    [
        ([played([1, 0])], "expected at least one team whose votes are counted"),
        ([_ballot()], "env.budget.message=48; expected an evaluation of one answering agent"),
        ([_ballot(), played([1], cap=24)], "'env.team={solver:1}' env.information=full"),
        (
            [_ballot(split=True, agents=4), played([1])],
            "'env.team={solver:1,helper:3}' env.information=split",
        ),
        ([_ballot(), played([1, 0])], "expected several plays of each task.* evaluation.samples=4"),
        (
            [played([1], shape=Shape(3, 1, True)), played([2], [2])],
            "expected an evaluation of a relay of two agents at this cap too.*solver:1,helper:1",
        ),
        (
            [
                played([1], shape=Shape(3, 1, True)),
                played([1], [2]),
                played([1], [2], split=True, agents=2),
            ],
            "expected one agent that solves more than half of the tasks.* 50.0 %",
        ),
        (
            [_ballot(), played([1, 0], **{"agent.model": "outputs/a"})],
            "agent.model is None in 'made' and 'outputs/a' in 'made'",
        ),
    ],
)
def test_what_is_missing_is_named(evaluations, expected):
    with pytest.raises(SettingError, match=expected):
        predict(evaluations)


def test_a_typed_probability_is_checked():
    with pytest.raises(SettingError, match="shared must be"):
        predict([played([1, 0]), _ballot()], shared=1.5)
