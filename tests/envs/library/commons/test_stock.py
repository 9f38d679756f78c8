"""The shared stock: how it is divided, how it grows back, its measures, and recorded months."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest
from places import DATA

from laconic import envs
from laconic.envs.library.commons.stock import (
    Month,
    State,
    fair_duty,
    fair_share,
    gini,
    lottery,
    pollute,
    proportional,
    regrow,
    score,
)

RECORDED = DATA / "govsim_replay.jsonl"
AGENTS = ("a_0", "a_1")


def test_fair_shares_by_hand():
    # 100 // 2 // 5 = 10; of four 12; 7 // 2 // 5 = 0.
    assert [fair_share(100, 5), fair_share(100, 4), fair_share(64, 5), fair_share(7, 5)] == [
        10,
        12,
        6,
        0,
    ]
    # 50 of 100 bags have to go, 10 each of five and 13 each of four; of 50 none.
    assert [fair_duty(100, 5), fair_duty(100, 4), fair_duty(50, 5), fair_duty(51, 5)] == [
        10,
        13,
        0,
        1,
    ]
    assert [regrow(50), regrow(30), regrow(0), pollute(50)] == [100, 60, 0, 100]


@pytest.mark.parametrize("grant", [lottery, proportional])
def test_wishes_within_the_stock_are_granted_and_others_share_all_of_it(grant):
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    assert grant((10, 0, 90), 100, generator) == [10, 0, 90]
    # Where nothing has to be dealt, nothing is drawn.
    assert generator.bit_generator.state == before
    for requested in ((60, 60), (100, 1, 0), (10**6, 10**6, 3), (1,) * 101):
        granted = grant(requested, 100, generator)
        assert sum(granted) == 100
        assert all(0 <= got <= request for got, request in zip(granted, requested, strict=True))


def test_proportional_shares_by_hand():
    # 10 / 40 of 30, 20, ...: 7.5, 15, 7.5; the unit left over goes to the first remainder.
    assert proportional((10, 20, 10), 30, np.random.default_rng(0)) == [8, 15, 7]


def dealt(requested, stock, random):
    """Give units one by one to agents that still want some, in another way than the product."""
    pool = list(requested)
    got = [0] * len(pool)
    while stock:
        place = random.randrange(len(pool))
        if got[place] < pool[place]:
            got[place] += 1
            stock -= 1
    return got


def test_the_lottery_has_the_mean_of_an_independent_simulation():
    expected, stock, draws = (5, 30, 40, 12, 0), 60, 2000
    generator, random = np.random.default_rng(0), Random(1)
    ours = np.array([lottery(expected, stock, generator) for _ in range(draws)])
    theirs = np.array([dealt(expected, stock, random) for _ in range(draws)])
    error = np.sqrt((ours.var(0) + theirs.var(0)) / draws)
    # Five 99.9 % intervals.
    assert (np.abs(ours.mean(0) - theirs.mean(0)) <= 3.3 * error + 1e-9).all()
    assert ours.std(0)[1] > 0


def test_the_lottery_follows_its_generator():
    twice = [
        [lottery((40, 40, 40), 100, np.random.default_rng(seed)) for seed in range(5)]
        for _ in range(2)
    ]
    assert twice[0] == twice[1]
    assert len({tuple(units) for units in twice[0]}) > 1


def test_the_gini_coefficient_by_hand():
    # One of two has all: |a - b| twice over 2 * 2 * a = 1/2.
    assert gini([5, 0]) == 0.5
    assert gini([3, 3, 3]) == gini([0, 0]) == 0.0


def state_after(*harvests, collapsed=False, words=0):
    stock, months = 100, []
    for first, second in harvests:
        both = {"a_0": first, "a_1": second}
        months.append(Month(stock, both, both, 25))
        stock = min(100, 2 * (stock - first - second))
    return State(AGENTS, stock, tuple(months), words=words, collapsed=collapsed)


def test_every_measure_of_a_short_life():
    # 30 + 10 and 30 + 30 units of a 100 and a 100: 60 and 40, gone in the second of four months.
    result = score(
        state_after((30, 10), (30, 30), collapsed=True, words=7),
        {"a_0": 60.0, "a_1": 40.0},
        4,
        False,
    )
    assert result.value == pytest.approx(50 / 120)
    assert (result.solved, result.answer) == (None, "2 months, 60, 40 each")
    assert result.measures == pytest.approx(
        {
            "months": 2,
            "survived": 0,
            "survived_to_last": 0,
            "gain": 50,
            # 4 * 50 could have been had, and 100 were.
            "efficiency": 0.5,
            # |60 - 40| twice, over 2 * 2 * 100.
            "equality": 0.9,
            # 20 * 2 / (4 * 40) = 0.25 in the first month, 0 in the second.
            "monthly_gini": 0.125,
            # 30, 30 and 30 of four harvests are over 25.
            "overuse": 0.75,
            "words_per_month": 3.5,
        },
        rel=1e-12,
    )


def test_efficiency_is_clipped_at_one():
    assert (
        score(state_after((50, 50)), {"a_0": 50.0, "a_1": 50.0}, 1, False).measures["efficiency"]
        == 1
    )


def test_whose_trash_is_too_little():
    assert Month(100, {"a_0": 9, "a_1": 10}, {}, 10).overuse(inverse=True) == 1
    assert Month(100, {"a_0": 9, "a_1": 11}, {}, 10).overuse(inverse=False) == 1


def test_a_month_and_its_talk_have_one_number():
    month = Month(100, {"a_0": 60}, {"a_0": 60}, 50)
    assert month.after == 40
    assert State(("a_0",), 100).month == 0
    assert State(("a_0",), 40, (month,), talk=0).month == 0
    assert State(("a_0",), 80, (month,)).month == 1


@pytest.mark.skipif(not RECORDED.is_file(), reason="no recorded episodes; LACONIC_DATA names them")
def test_recorded_months_come_out_as_they_were():
    runs = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    env = envs.make("commons", free=True, tasks=1, language="none")
    months, short = 0, 0
    for run in runs:
        env.reset(seed=0)
        for row in run["rounds"]:
            expected = dict(zip(env.possible_agents, row["wanted"].values(), strict=True))
            caught = dict(zip(env.possible_agents, row["caught"].values(), strict=True))
            assert env.world_state.stock == row["before"], run["run"]
            env.step({agent: f"> catch {units:g}" for agent, units in expected.items()})
            month = env.world_state.months[-1]
            assert (month.before, month.after) == (row["before"], row["after"])
            assert month.requested == expected
            if sum(expected.values()) <= row["before"]:
                assert month.caught == caught
            else:
                short += 1
                assert sum(month.caught.values()) == sum(caught.values()) == row["before"]
                assert all(month.caught[agent] <= expected[agent] for agent in expected)
            months += 1
        # A run that is longer here was interrupted there.
        over = row["after"] < 5 or row["round"] == 11
        assert bool(env.agents) == (not over)
        assert over or run["experiment"] is None
    assert (len(runs), months, short) == (75, 422, 34)
