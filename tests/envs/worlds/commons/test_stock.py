"""What is granted of a stock, and what grows back."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from laconic.envs.worlds.commons.stock import (
    duty,
    gini,
    grown,
    littered,
    lottery,
    proportional,
    share,
)


def test_fair_shares_by_hand():
    # 100 // 2 // 5 = 10; of four 12; 7 // 2 // 5 = 0.
    assert [share(100, 5), share(100, 4), share(64, 5), share(7, 5)] == [10, 12, 6, 0]
    # 50 of 100 bags have to go, 10 each of five and 13 each of four; of 50 none.
    assert [duty(100, 5), duty(100, 4), duty(50, 5), duty(51, 5)] == [10, 13, 0, 1]
    assert [grown(50), grown(30), grown(0), littered(50)] == [100, 60, 0, 100]


@pytest.mark.parametrize("grant", [lottery, proportional])
def test_wishes_within_the_stock_are_granted_and_others_share_all_of_it(grant):
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    assert grant((10, 0, 90), 100, generator) == [10, 0, 90]
    # Where nothing has to be dealt, nothing is drawn.
    assert generator.bit_generator.state == before
    for wanted in ((60, 60), (100, 1, 0), (10**6, 10**6, 3), (1,) * 101):
        granted = grant(wanted, 100, generator)
        assert sum(granted) == 100
        assert all(0 <= got <= one for got, one in zip(granted, wanted, strict=True))


def test_proportional_shares_by_hand():
    # 10 / 40 of 30, 20, ...: 7.5, 15, 7.5; the unit left over goes to the first remainder.
    assert proportional((10, 20, 10), 30, np.random.default_rng(0)) == [8, 15, 7]


def dealt(wanted, stock, random):
    """Units given one by one to who still wants some, in another way than the product's."""
    pool = list(wanted)
    got = [0] * len(pool)
    while stock:
        place = random.randrange(len(pool))
        if got[place] < pool[place]:
            got[place] += 1
            stock -= 1
    return got


def test_the_lottery_has_the_mean_of_an_independent_simulation():
    wanted, stock, draws = (5, 30, 40, 12, 0), 60, 2000
    generator, random = np.random.default_rng(0), Random(1)
    ours = np.array([lottery(wanted, stock, generator) for _ in range(draws)])
    theirs = np.array([dealt(wanted, stock, random) for _ in range(draws)])
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
    assert len({tuple(one) for one in twice[0]}) > 1


def test_the_gini_coefficient_by_hand():
    # One of two has all: |a - b| twice over 2 * 2 * a = 1/2.
    assert gini([5, 0]) == 0.5
    assert gini([3, 3, 3]) == gini([0, 0]) == 0.0
