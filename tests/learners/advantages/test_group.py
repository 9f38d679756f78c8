"""Advantages against numbers worked by hand, degenerate cases first."""

from __future__ import annotations

import math
import random

import pytest

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.advantages.group import Advantages, Key

ESTIMATORS = [
    Advantages(center=center, scale=scale)
    for center in ("mean", "median", "leave_one_out")
    for scale in ("std", "population_std", "mad", "mad_or_std", "none")
]


def one_group(returns: list[float], advantages: Advantages) -> list[float]:
    """Compare returns of one agent in one task."""
    return list(advantages(returns, [Key("t", "a")] * len(returns)))


@pytest.mark.parametrize("advantages", ESTIMATORS)
def test_equal_returns_give_exactly_zero(advantages: Advantages) -> None:
    for value in (0.0, 0.1, -3.7, 1e9, 1 / 3):
        assert one_group([value] * 7, advantages) == [0.0] * 7, value


@pytest.mark.parametrize("advantages", ESTIMATORS)
def test_returns_equal_up_to_rounding_give_exactly_zero(advantages: Advantages) -> None:
    # 0.1 + 0.2 is 0.30000000000000004; divided by its own spread the noise would become 0.7.
    assert one_group([0.1 + 0.2, 0.3], advantages) == [0.0, 0.0]


@pytest.mark.parametrize("advantages", ESTIMATORS)
def test_a_lone_member_gets_zero(advantages: Advantages) -> None:
    assert one_group([5.0], advantages) == [0.0]


@pytest.mark.parametrize("advantages", [*ESTIMATORS, Advantages(center="none", scale="none")])
def test_no_returns_give_no_advantages(advantages: Advantages) -> None:
    assert advantages([], []) == ()


def test_mean_and_sample_std() -> None:
    # Mean 2; squares 1 + 1 + 1 + 1 = 4 over n - 1 = 3, std 2 / sqrt(3) = 1.1547005.
    advantages = Advantages(eps=1e-12)
    expected = math.sqrt(3) / 2
    assert one_group([1.0, 3.0, 1.0, 3.0], advantages) == pytest.approx(
        [-expected, expected, -expected, expected], rel=1e-9
    )


def test_epsilon_is_added_to_the_scale() -> None:
    # Mean 1, std sqrt(1 + 1) = 1.4142136: 1 / (1.4142136 + 0.5) = 0.5224078.
    got = one_group([0.0, 2.0], Advantages(eps=0.5))
    assert got == pytest.approx([-0.5224078, 0.5224078], rel=1e-6)


def test_mean_alone() -> None:
    # Mean 1.5.
    got = one_group([0.0, 1.0, 5.0, 0.0], Advantages(scale="none"))
    assert got == [-1.5, -0.5, 3.5, -1.5]


def test_leave_one_out_compares_with_the_mean_of_the_others() -> None:
    # 0 - (1 + 5) / 2 = -3; 1 - 5 / 2 = -1.5; 5 - 1 / 2 = 4.5.
    got = one_group([0.0, 1.0, 5.0], Advantages(center="leave_one_out", scale="none"))
    assert got == pytest.approx([-3.0, -1.5, 4.5], rel=1e-12)


def test_median_leaves_the_middle_member_at_zero() -> None:
    got = one_group([0.0, 1.0, 5.0], Advantages(center="median", scale="none"))
    assert got == [-1.0, 0.0, 4.0]


def test_median_of_an_even_group_lies_between_the_two_in_the_middle() -> None:
    got = one_group([0.0, 1.0, 2.0, 9.0], Advantages(center="median", scale="none"))
    assert got == [-1.5, -0.5, 0.5, 7.5]


def test_median_and_mad() -> None:
    # Median 2; distances 2, 1, 0, 2, 7, their median 2; scale 2 + 0.5.
    got = one_group([0.0, 1.0, 2.0, 4.0, 9.0], Advantages(center="median", scale="mad", eps=0.5))
    assert got == pytest.approx([-0.8, -0.4, 0.0, 0.8, 2.8], rel=1e-12)


@pytest.mark.parametrize("returns", [[0, 0, 0, 0, 1], [1, 0, 1, 1, 0], [0, 1, 0]])
def test_with_rewards_of_0_and_1_the_mad_is_0_and_epsilon_alone_is_the_scale(
    returns: list[float],
) -> None:
    # The majority is the median and its distance 0; a minority member is 1 / 0.001 away from it.
    got = one_group(returns, Advantages(center="median", scale="mad", eps=1e-3))
    majority = max(set(returns), key=returns.count)
    assert got == pytest.approx([1000.0 * (value - majority) for value in returns], rel=1e-12)


def test_std_stands_in_for_a_mad_of_zero_if_asked_to() -> None:
    # Rewards 0, 0, 0, 0, 1: distances 0, 0, 0, 0, 1 have median 0. Mean 0.2, squares
    # 4 * 0.04 + 0.64 = 0.8 over 4, std sqrt(0.2) = 0.4472136; 1 / 0.4472136 = 2.2360680.
    advantages = Advantages(center="median", scale="mad_or_std", eps=1e-12)
    assert one_group([0, 0, 0, 0, 1], advantages) == pytest.approx(
        [0, 0, 0, 0, math.sqrt(5)], rel=1e-9
    )
    # Where the MAD is not 0 it is the scale: median 2, distances 2, 1, 0, 2, 7, their median 2.
    advantages = Advantages(center="median", scale="mad_or_std", eps=0.5)
    assert one_group([0, 1, 2, 4, 9], advantages) == pytest.approx([-0.8, -0.4, 0.0, 0.8, 2.8])


def test_population_std() -> None:
    # Mean 2, squares 4 * 1 = 4 over n = 4: std 1.
    got = one_group([1.0, 3.0, 1.0, 3.0], Advantages(scale="population_std", eps=1e-12))
    assert got == pytest.approx([-1.0, 1.0, -1.0, 1.0], rel=1e-9)


def test_members_in_the_middle_of_odd_groups_are_left_out() -> None:
    advantages = Advantages(center="median", leave_out_pivot=True)
    keys = [Key("t", agent) for agent in "aaabbaa"]
    # a: 5, 1, 3, 2, 4 has its median 3 at index 2; b has two members and so no middle one.
    assert advantages.left_out([5.0, 1.0, 3.0, 9.0, 8.0, 2.0, 4.0], keys) == {2}


def test_of_members_equal_to_the_median_one_is_left_out() -> None:
    # Sorted 0, 1, 1, 1, 1: in the middle stands the second 1, at index 2.
    advantages = Advantages(center="median", leave_out_pivot=True)
    assert advantages.left_out([1.0, 0.0, 1.0, 1.0, 1.0], [Key("t", "a")] * 5) == {2}


@pytest.mark.parametrize("members", [0, 1, 2, 4])
def test_groups_without_a_middle_leave_nobody_out(members: int) -> None:
    advantages = Advantages(center="median", leave_out_pivot=True)
    assert advantages.left_out([1.0] * members, [Key("t", "a")] * members) == frozenset()
    assert Advantages(center="median").left_out([1.0] * 3, [Key("t", "a")] * 3) == frozenset()


def test_an_episode_alone_is_refused_where_it_is_compared() -> None:
    for advantages in (Advantages(), Advantages(group_by=("task",)), Advantages(center="median")):
        with pytest.raises(SettingError, match="group_size must be at least 2"):
            advantages.check(episodes=1, agents=3)
    Advantages(center="none", scale="none").check(episodes=1, agents=3)


def test_a_median_of_an_even_group_is_refused_with_what_to_change() -> None:
    advantages = Advantages(center="median")
    advantages.check(episodes=9, agents=4)
    with pytest.raises(SettingError, match=r"got 8 episodes\. Change train\.group_size by one"):
        advantages.check(episodes=8, agents=1)
    # Compared over all agents, 9 episodes of 4 agents are 36 members.
    with pytest.raises(SettingError, match="got 9 episodes x 4 agents.*put 'agent' into"):
        Advantages(group_by=("task",), center="median").check(episodes=9, agents=4)
    Advantages(group_by=("task",), center="median").check(episodes=9, agents=3)
    Advantages().check(episodes=8, agents=4)


def test_without_a_centre_the_returns_are_the_advantages() -> None:
    nothing = Advantages(center="none", scale="none")
    assert one_group([1.0, 1.0], nothing) == [1.0, 1.0]
    assert one_group([0.5], nothing) == [0.5]


KEYS = [Key(task, agent, turn) for task in "xy" for agent in "ab" for turn in (0, 1)]
RETURNS = [1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0]


@pytest.mark.parametrize(
    ("group_by", "expected"),
    [
        # Task x has mean 2.5, task y mean 25.
        (("task",), [-1.5, -0.5, 0.5, 1.5, -15.0, -5.0, 5.0, 15.0]),
        # (x, a) 1.5, (x, b) 3.5, (y, a) 15, (y, b) 35.
        (("task", "agent"), [-0.5, 0.5, -0.5, 0.5, -5.0, 5.0, -5.0, 5.0]),
        # (x, 0) 2, (x, 1) 3, (y, 0) 20, (y, 1) 30.
        (("task", "round"), [-1.0, -1.0, 1.0, 1.0, -10.0, -10.0, 10.0, 10.0]),
        # Everyone is alone.
        (("task", "agent", "round"), [0.0] * 8),
    ],
)
def test_only_members_with_the_same_key_are_compared(
    group_by: tuple[str, ...], expected: list[float]
) -> None:
    assert list(Advantages(group_by=group_by, scale="none")(RETURNS, KEYS)) == expected


def test_the_order_of_members_does_not_matter() -> None:
    order = [5, 2, 7, 0, 3, 6, 1, 4]
    advantages = Advantages()
    plain = advantages(RETURNS, KEYS)
    shuffled = advantages([RETURNS[i] for i in order], [KEYS[i] for i in order])
    assert list(shuffled) == [plain[i] for i in order]


@pytest.mark.parametrize("scale", ["std", "population_std", "mad", "mad_or_std", "none"])
@pytest.mark.parametrize("center", ["mean", "leave_one_out"])
def test_advantages_of_a_task_and_agent_add_up_to_zero(scale: str, center: str) -> None:
    for draw in map(random.Random, range(5)):
        keys = [Key(draw.choice("xyz"), draw.choice("ab")) for _ in range(60)]
        got = Advantages(center=center, scale=scale)([draw.gauss(3, 2) for _ in keys], keys)
        for group in set(keys):
            assert abs(sum(a for a, key in zip(got, keys, strict=True) if key == group)) < 1e-9


@pytest.mark.parametrize("shift", [-7.0, 0.5])
@pytest.mark.parametrize("factor", [0.01, 1.0, 300.0])
def test_scaled_advantages_ignore_the_unit_of_the_reward(shift: float, factor: float) -> None:
    plain = one_group([0.0, 1.0, 5.0], Advantages(eps=1e-12))
    moved = one_group([shift + factor * r for r in (0.0, 1.0, 5.0)], Advantages(eps=1e-12))
    assert moved == pytest.approx(plain, rel=1e-8)


def test_very_large_returns_stay_finite() -> None:
    # Mean 0, std sqrt(2) * 1e300: 1 / sqrt(2).
    got = one_group([-1e300, 1e300], Advantages())
    assert got == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)], rel=1e-9)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_return_that_is_not_finite_names_agent_and_task(bad: float) -> None:
    with pytest.raises(SettingError, match=r"'solver_0' from round 2 in task 'gsm8k-7'"):
        Advantages()([0.0, bad], [Key("gsm8k-7", "helper_0"), Key("gsm8k-7", "solver_0", 2)])


def test_every_return_needs_a_key() -> None:
    with pytest.raises(SettingError, match=r"one key per return \(2\), got 1"):
        Advantages()([0.0, 1.0], [Key("t", "a")])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"center": "average"}, "unknown learner.advantages.center 'average'"),
        ({"scale": "variance"}, "unknown learner.advantages.scale 'variance'"),
        ({"scale": None}, "unknown learner.advantages.scale None"),
        ({"group_by": ("agent",)}, "group_by must name 'task'"),
        ({"group_by": ()}, "group_by must name 'task'"),
        ({"group_by": ("task", "task")}, "each part once"),
        ({"group_by": ("task", "role")}, "unknown learner.advantages.group_by 'role'"),
        ({"eps": 0.0}, "eps must be a finite number above 0"),
        ({"eps": math.inf}, "eps must be a finite number above 0"),
        ({"eps": "1e-6"}, "eps must be a finite number above 0"),
        (
            {"center": "none"},
            r"learner\.advantages\.center=none needs learner\.advantages\.scale=none",
        ),
        ({"leave_out_pivot": True}, r"leave_out_pivot needs learner\.advantages\.center=median"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(settings: dict, words: str) -> None:
    with pytest.raises((SettingError, UnknownNameError), match=words):
        Advantages(**settings)


def test_a_list_from_a_config_is_as_good_as_a_tuple() -> None:
    assert Advantages(group_by=["task", "agent"]) == Advantages()


# What counts once, and over what the scale is taken


def test_an_episode_with_more_replies_counts_once_where_episodes_are_compared() -> None:
    # Two episodes with returns 1 and 0; in the second the agent replied twice.
    keys = [Key("t", "a", 0, 0), Key("t", "a", 0, 1), Key("t", "a", 1, 1)]
    returns = [1.0, 0.0, 0.0]
    # By sequence: mean 1/3, sample std sqrt(1/3); + 0.05.
    scale = (1 / 3) ** 0.5 + 0.05
    assert Advantages()(returns, keys) == pytest.approx(
        [(2 / 3) / scale, (-1 / 3) / scale, (-1 / 3) / scale]
    )
    # By episode: mean 1/2, sample std sqrt(1/2); all replies of an episode share one advantage.
    scale = 0.5**0.5 + 0.05
    compared = Advantages(compare_by="episode")
    assert compared(returns, keys) == pytest.approx([0.5 / scale, -0.5 / scale, -0.5 / scale])
    assert compared.compare(returns, keys) == ((0.5, pytest.approx(scale)),) * 3
    assert compared.centers(returns, keys) == (0.5, 0.5, 0.5)


def test_replies_of_an_episode_that_earned_differently_share_their_mean() -> None:
    # Episode 0 earned 2 and 0, so 1 in the mean; episode 1 earned 0: their mean is 1/2.
    keys = [Key("t", "a", 0, 0), Key("t", "a", 1, 0), Key("t", "a", 0, 1)]
    compared = Advantages(compare_by="episode", scale="none")
    assert compared([2.0, 0.0, 0.0], keys) == (0.5, 0.5, -0.5)


def test_the_scale_of_a_batch_is_taken_of_all_returns_less_their_centers() -> None:
    keys = [Key(task, "a", None, place) for task in ("s", "t") for place in (0, 1)]
    over_batch = Advantages(scale_over="batch")
    centered = over_batch([3.0, 1.0, 5.0, 5.0], keys)
    assert centered == (1.0, -1.0, 0.0, 0.0)
    # Sample variance of 1, -1, 0, 0: 2 / 3.
    assert over_batch.update_scale(centered) == pytest.approx((2 / 3) ** 0.5)
    assert Advantages(scale="population_std", scale_over="batch").update_scale(
        centered
    ) == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("values", [(), (0.7,), (0.0, 0.0), (1e-12, -1e-12)])
def test_without_spread_over_the_batch_the_scale_is_one(values) -> None:
    assert Advantages(scale_over="batch").update_scale(values) == 1.0


def test_no_scale_is_one_whatever_it_would_be_taken_over() -> None:
    assert Advantages(scale="none", scale_over="batch").update_scale((1.0, -1.0)) == 1.0
    assert Advantages().update_scale((1.0, -1.0)) == 1.0


@pytest.mark.parametrize("settings", [{"scale": "mad"}, {"scale": "mad_or_std"}])
def test_a_batch_has_no_median_distance(settings) -> None:
    with pytest.raises(SettingError, match="advantages.scale_over=batch takes a standard dev"):
        Advantages(center="median", scale_over="batch", **settings)


def test_a_pivot_is_one_sequence() -> None:
    with pytest.raises(
        SettingError,
        match="^learner.advantages.leave_out_pivot needs learner.advantages.compare_by=sequence",
    ):
        Advantages(center="median", leave_out_pivot=True, compare_by="episode")


def test_leaving_one_out_is_divided_by_the_standard_deviation() -> None:
    # Others than 0, 2, 4 have means 3, 2, 1: differences -3, 0, 3 over the std 2.
    got = one_group([0.0, 2.0, 4.0], Advantages(center="leave_one_out", eps=1e-12))
    assert got == pytest.approx([-1.5, 0.0, 1.5], rel=1e-9)


def test_a_deviation_of_rounding_is_replaced_by_the_standard_deviation() -> None:
    # Three of four returns differ by 5.6e-17, and so does their median distance from the median
    # .3. The mean is .55, and the std sqrt((3 x .25^2 + .75^2) / 3) = .5: 1 / (.5 + .05).
    returns = [0.3, 0.1 + 0.2, 0.3, 1.3]
    got = one_group(returns, Advantages(center="median", scale="mad_or_std"))
    assert got == pytest.approx([0.0, 0.0, 0.0, 1 / 0.55], abs=1e-9)
