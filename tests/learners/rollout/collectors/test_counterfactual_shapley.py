"""Shares of the value of a round, worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from laconic.envs.errors import SettingError
from laconic.learners.rollout.collectors.counterfactual import shapley, shares
from laconic.learners.rollout.play import Start


def shared(
    values: Mapping[str, float], speakers: Sequence[str], samples: int = 4, seed: int = 0
) -> dict[str, float]:
    """Return Shapley values; `values` is keyed by the speakers' initials ("" for silence)."""
    weights = shares(speakers, np.random.default_rng(seed), samples=samples)
    return {
        agent: sum(weight * values["".join(sorted(members))] for members, weight in each.items())
        for agent, each in weights.items()
    }


def test_nobody_spoke_is_no_question():
    assert shared({}, []) == {}


def test_a_lone_speaker_is_credited_with_its_difference_to_silence():
    assert shared({"": 2.0, "a": 5.0}, ["a"]) == {"a": 3.0}


def test_two_that_say_the_same_share_its_credit():
    assert shared({"": 0.0, "a": 4.0, "b": 4.0, "ab": 4.0}, ["a", "b"]) == {"a": 2.0, "b": 2.0}


def test_a_glove_game_of_three():
    # a has a left glove, b and c a right one each, a pair is worth 6. Of the six orders a completes
    # a pair in four, b in one (a b c), c in one (a c b).
    values = {"": 0, "a": 0, "b": 0, "c": 0, "ab": 6, "ac": 6, "bc": 0, "abc": 6}
    assert shared(values, ["a", "b", "c"]) == pytest.approx({"a": 4.0, "b": 1.0, "c": 1.0})


def test_the_credits_of_a_round_add_up_to_what_it_made_of_silence(relay, relayers):
    # Earned and said. No one speaks: 0, 0. x or y alone, and z repeats the word: 0, 2. z: 0, 1.
    # x and y, and z repeats both: 6, 4. z with one of them: 0, 3. All: 6, 5. In every order x and y
    # add 2 words each and z adds 1; half of the orders let x complete the pair, the others y.
    policies = dict.fromkeys(relay.possible_agents, relayers())
    collector = shapley()
    (group,) = collector([relay, type(relay)()], policies, [Start(0)], 2, seed=0)
    credits = {(turn.agent, turn.round): turn.credit for turn in group.episodes[0].turns}
    assert credits["x_0", 0] == pytest.approx((3.0, 2.0))
    assert credits["y_0", 0] == pytest.approx((3.0, 2.0))
    assert credits["z_0", 0] == pytest.approx((0.0, 1.0))
    assert credits["z_0", 1] == (6.0, 2.0)  # alone in its round: 6 - 0, 5 - 3
    # The eight sets of round 0, and silence in round 1; the end as it was is recorded.
    assert collector.metrics == {"replays": 9.0}


def test_sampled_credits_add_up_too_and_are_right_on_average():
    # Of four speakers d adds 8 to everything, and a and b make 12 together.
    speakers = ["a", "b", "c", "d"]
    sets = ["".join(s for i, s in enumerate(speakers) if mask >> i & 1) for mask in range(16)]
    values = {
        members: 12.0 * ({"a", "b"} <= set(members)) + 8.0 * ("d" in members) for members in sets
    }
    draws = [shared(values, speakers, samples=2, seed=seed) for seed in range(200)]
    assert all(sum(each.values()) == pytest.approx(20.0) for each in draws)
    assert all(each["c"] == 0.0 and each["d"] == pytest.approx(8.0) for each in draws)
    # The mean of 400 orders, each 0 or 12: standard error 0.3.
    assert np.mean([each["a"] for each in draws]) == pytest.approx(6.0, abs=1.0)
    assert len({each["a"] for each in draws}) > 1
    assert shared(values, speakers, samples=100) == pytest.approx({"a": 6, "b": 6, "c": 0, "d": 8})


def test_an_order_asks_for_no_more_than_its_sets():
    weights = shares(list("abcdefgh"), np.random.default_rng(0), samples=3)
    sets = {members for each in weights.values() for members in each}
    assert len(sets) <= 2 + 3 * 7


def test_equal_seeds_draw_equal_orders():
    def drawn(seed: int):
        return shares(list("abcdef"), np.random.default_rng(seed), samples=1)

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


@pytest.mark.parametrize("samples", [0, True, 1.5])
def test_orders_are_counted_from_one(samples):
    with pytest.raises(SettingError, match="samples must be a whole number of at least 1"):
        shapley(samples=samples)
