"""Demand worked out by hand from a few messages."""

from __future__ import annotations

import math

import pytest

from laconic.extras.analysis.demand_statistics import GLOSSARY, Message, curve, figures


def fact(episode: int, tokens: int, at: int, worth: float = 1.0, **more) -> Message:
    """Make a message with this number of tokens, one of which (from 1) is worth something."""
    worths = tuple(worth * (k >= at) for k in range(tokens + 1))
    return Message(episode, more.pop("useful", True), worths, tuple(range(tokens + 1)), **more)


IDLE = Message(0, False, (0.0,) * 11, tuple(range(11)))
"""Ten words of an agent with nothing useful."""
# Two episodes: the fact is the 4th of 5 tokens, and the last of 20; somebody chats beside it.
TEAM = (fact(0, 5, 4), IDLE, fact(1, 20, 20))


def test_a_message_has_its_cost_and_its_needed_tokens():
    first, idle, last = TEAM
    assert (first.tokens, first.needed, first.highest) == (5, 4, 1 / 5)
    assert (idle.needed, idle.highest, last.needed) == (0, 0.0, 20)
    # At a rate of exactly its worth a token it is not bought any more.
    assert [first.bought(rate) for rate in (0.0, 0.19, 0.2)] == [True, True, False]
    assert not idle.bought(0.0)


def test_a_cut_is_made_where_worth_less_cost_is_highest_and_earliest():
    assert [TEAM[0].best_cut(rate) for rate in (0.0, 0.1, 0.24, 0.26)] == [4, 4, 4, 0]
    steps = Message(0, True, (0.0, 0.5, 0.5, 1.0), (0, 1, 2, 3))
    # The first token nets .5 - r, all three 1 - 3 r: equal at r = .25.
    assert [steps.best_cut(rate) for rate in (0.2, 0.3, 0.6)] == [3, 1, 0]


def test_free_messages_are_bought_at_any_price_unless_harmful():
    free = Message(0, None, (0.0, 0.0, 1.0), (0, 1, 0))
    assert free.highest == math.inf and free.bought(1e9) and free.best_cut(5.0) == 2
    assert not Message(0, None, (0.0, -1.0), (0, 0)).bought(0.0)


def test_the_curve_counts_tokens_of_messages_that_pay():
    demand = curve(TEAM, 2, (0.0, 1.0, 5.0, 20.0), 100.0)
    # Per 100 tokens: the fact of 20 tokens pays below 5, that of 5 below 20.
    assert [interval.mean for interval in demand.bought] == [25 / 2, 25 / 2, 5 / 2, 0.0]
    assert [interval.mean for interval in demand.bought_cut] == [24 / 2, 24 / 2, 4 / 2, 4 / 2]
    assert demand.pays == (1.0, 1.0, 0.5, 0.0)
    assert demand.surplus == pytest.approx((1.0, (0.95 + 0.8) / 2, 0.75 / 2, 0.0))
    # Of two episodes a bootstrap draws one twice at times.
    assert (demand.bought[0].low, demand.bought[0].high) == (5.0, 20.0)


def test_figures_of_two_episodes():
    means = {name: interval.mean for name, interval in figures(TEAM, 2, 1.0, 100.0).items()}
    assert means.keys() == GLOSSARY.keys() - {"spare_tokens"}
    assert means["worth_informed"] == 1.0 and means["worth_uninformed"] == 0.0
    assert means["worthless_tokens"] == pytest.approx(33 / 35)
    assert means["needed_share"] == pytest.approx((4 / 5 + 1) / 2)
    assert (means["tokens"], means["bought"], means["bought_cut"]) == (35 / 2, 25 / 2, 24 / 2)
    assert means["surplus"] == pytest.approx((0.95 + 0.8) / 2)
    # Half of the 25 useful tokens are gone once the message of 20 no longer pays.
    assert means["choke_price"] == 5.0
    assert means["elasticity"] == 0.0
    # One fact stops paying at 20, the other at 5: in half of the episodes at 5.
    assert means["weakest_link"] == 5.0


def test_an_episode_breaks_where_the_first_message_it_needs_stops_paying():
    answer = Message(0, None, (0.0,) * 25 + (1.0,), tuple(range(26)))
    other = fact(2, 10, 1)
    weakest = figures((fact(0, 5, 4), IDLE, answer, other), 3, 1.0, 100.0)["weakest_link"]
    # Answers count (100 / 25), idle talk does not; the second episode has nothing to lose.
    assert (weakest.mean, weakest.count) == (4.0, 2)
    assert figures((IDLE,), 1, 1.0, 100.0).get("weakest_link") is None


def test_elasticity_sees_demand_fall_between_four_fifths_and_five_quarters_of_the_price():
    elasticity = figures(TEAM, 2, 5.0, 100.0)["elasticity"].mean
    # From 25 to 5 tokens over prices 4 to 6.25: (-20 / 15) / (2.25 / 5.125).
    assert elasticity == pytest.approx((-20 / 15) / (2.25 / 5.125))


def test_stretches_that_can_be_left_out_count_by_their_tokens():
    message = fact(0, 5, 4, spans=((2, 0.0), (2, 1.0), (1, 0.0)))
    assert figures((message,), 1, 1.0, 100.0)["spare_tokens"].mean == pytest.approx(3 / 5)


def test_a_silent_team_has_a_demand_of_nothing():
    means = figures((), 3, 1.0, 100.0)
    assert {name: interval.mean for name, interval in means.items()} == dict.fromkeys(
        ("tokens", "bought", "bought_cut", "surplus"), 0.0
    )
    assert curve((), 3, (0.0, 1.0), 100.0).bought[0].mean == 0.0
