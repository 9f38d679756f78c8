"""Agreement without content: teams that learn from their vote become right, or one-worded."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest

from laconic.experiments.session.rule_kinds import Fall
from laconic.experiments.session.rules import Context, Rules

# What hurts


def told(rules: Rules, rows, name: str) -> list[int]:
    """Return the places of the rows at which a rule warned."""
    return [step for step, each in enumerate(rows) if name in rules.judge(step, each)]


def test_informed_agents_that_fall_silent_are_told_while_accuracy_holds() -> None:
    # All speak at first, and 80 % from place 10 on: means of five there are .96, .92 and .88, and
    # the third of them is the first at least 10 points below.
    rows = [{"train/spoke_if_informed": spoke} for spoke in [1.0] * 10 + [0.8] * 8]
    assert told(Rules(Context(follows=True)), rows, "informed_silence") == [12]


@pytest.mark.parametrize(
    "spoken",
    [
        [1.0] * 5 + [0.97] * 20,
        # Eight turns an update: their noise is no fall.
        [1.0, 0.75, 1.0, 0.875, 0.875, 0.75, 1.0, 0.875, 1.0, 0.75, 0.875, 1.0, 0.875, 0.75],
        # One bad update is none either.
        [1.0] * 9 + [0.6] + [1.0] * 9,
    ],
)
def test_informed_agents_that_hardly_change_are_not(spoken) -> None:
    rows = [{"train/spoke_if_informed": spoke} for spoke in spoken]
    assert told(Rules(Context(follows=True)), rows, "informed_silence") == []


@pytest.mark.parametrize(
    ("solved", "steps"),
    [
        # Down by 20 points once four of the last five are at .55: .8 - .2 = .6.
        ([0.8] * 10 + [0.55] * 9, [13]),
        # The dip of a healthy run.
        ([0.84, 0.73, 0.77, 0.81, 0.8, 0.7, 0.72, 0.75, 0.8, 0.85, 0.9, 0.95], []),
        # A weak team has lost half: .2 to .1 is five at .1.
        ([0.2] * 10 + [0.1] * 6, [14]),
        # Below 5 points chance alone decides.
        ([0.04] * 10 + [0.0] * 9, []),
        # It is told again after half of it came back: .75 is above .7; 2 x .75 + 3 x .5 is 5 x .6.
        ([0.8] * 5 + [0.5] * 6 + [0.75] * 6 + [0.5] * 6, [9, 19]),
    ],
)
def test_accuracy_is_compared_with_the_first_updates(solved, steps) -> None:
    rows = [{"train/accuracy": each} for each in solved]
    assert told(Rules(Context(follows=True)), rows, "lost_accuracy") == steps


HEALTHY = (
    *(-0.36, -0.35, -0.29, -0.29, -0.2, -0.15, -0.13, -0.13, -0.05, -0.09, -0.06, 0.06, 0.0, 0.06),
    *(0.04, 0.09, 0.09, 0.03, 0.13, 0.12, 0.15, 0.16, 0.11, 0.22, 0.2, 0.17, 0.2, 0.22, 0.24),
)
"""Reward less charge of the updates of a training, recorded."""


def charged(*amounts: float, silence: float = 0.0) -> list[dict[str, float]]:
    """Return rows that earn 0.8 at some charges, after one that says what silence earns."""
    first = {"eval/silence_earns": silence}
    rows = [
        {
            "train/price": 2.0,
            "train/task_reward": 0.8,
            "train/billed": 2 * amount,
            "learner/charge_factor": 0.5,
        }
        for amount in amounts
    ]
    return [first, *rows]


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        # 0.8 - 1.4 = -0.6 and no nearer: told when ten updates have been seen.
        (charged(*[1.4] * 14), [10]),
        # 0.15 nearer an update: 0.75 in a window of five.
        (charged(*[3.0 - 0.15 * n for n in range(20)]), []),
        # The quickstart at a price that a brief team can pay, a quarter of its reward.
        (charged(*[0.8 - reward for reward in HEALTHY]), []),
        # A charge of 0.75 is less than the 0.8 earned, but more than the 0.5 that words bring.
        (charged(*[0.75] * 12), []),
        (charged(*[0.75] * 12, silence=0.3), [10]),
        # Just below silence is no finding: 0.05 of 0.85.
        (charged(*[0.85] * 12), []),
        # Nearly free words are not why a team earns less than a silent one.
        (charged(*[0.01] * 12, silence=0.9), []),
    ],
)
def test_a_team_that_rests_below_silence_is_told(rows, steps) -> None:
    assert told(Rules(Context(follows=True)), rows, "below_silence") == steps


def test_what_hurts_is_told_after_a_resumption_as_without() -> None:
    rows = [
        {**each, "train/spoke_if_informed": spoke, "train/accuracy": spoke}
        for each, spoke in zip(charged(*[1.4] * 20), [1.0] * 8 + [0.5] * 13, strict=True)
    ]
    whole, first, second = (Rules(Context(follows=True)) for _ in range(3))
    expected = [whole.observe(step, each) for step, each in enumerate(rows)]
    warnings = [first.observe(step, each) for step, each in enumerate(rows[:10])]
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    warnings += [second.observe(10 + i, each) for i, each in enumerate(rows[10:])]
    assert warnings == expected and sum(map(len, expected)) == 4


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_not_finite_is_no_fall(value: float) -> None:
    def warned(figures: Sequence[float]) -> list[int]:
        fall = Fall("train/x", lambda start: 0.1, "{mean} {start}", "{step} {rows} {mean} {start}")
        return [step for step, x in enumerate(figures) if fall.observe(step, {"train/x": x})]

    assert warned([value] * 20) == warned([0.9] * 5 + [value] + [0.9] * 20) == []
    # Mean of the last five: 0.8 at the tenth finite figure. It falls once.
    assert warned([0.9] * 5 + [value] + [0.8] * 20) == [10]
    assert warned([0.9] * 2 + [value] * 3 + [0.9] * 3 + [0.8, value] * 9) == [16]
