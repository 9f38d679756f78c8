"""The price of a token over training, by hand."""

from __future__ import annotations

import itertools

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import own, pass_rate
from laconic.learners.advantages.group import Advantages
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.prices.schedule import Fixed, PassRate, Price
from laconic.learners.training.sequences import sequences_of


@pytest.mark.parametrize("step", [0, 1, 1000])
def test_a_fixed_price_is_the_environments_price_at_every_step(step: int) -> None:
    assert Fixed().share(step) == 1.0


def test_the_schedules_keep_the_protocol() -> None:
    assert isinstance(Fixed(), Price)
    assert isinstance(PassRate(), Price)


def prices(schedule: PassRate, rates: list[float], price: float = 0.8) -> list[float]:
    """Return the prices of the updates of these pass rates, and of the one after them."""
    charged = [price * schedule.share(0)]
    for step, rate in enumerate(rates, start=1):
        schedule.observe({"pass_rate": rate})
        charged.append(price * schedule.share(step))
    return charged


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # Rates .4; .5 x .4 + .5 x .8 = .6; .5 x .6 + .5 x .2 = .4, squared and times .8. Before
        # the first update .5.
        ({}, [0.2, 0.128, 0.288, 0.128]),
        ({"power": 1.0}, [0.4, 0.32, 0.48, 0.32]),
        # .8 x .4 + .2 x .8 = .48; .8 x .48 + .2 x .2 = .424.
        ({"power": 1.0, "smoothing": 0.8}, [0.4, 0.32, 0.384, 0.3392]),
        # The last update alone.
        ({"power": 1.0, "smoothing": 0.0}, [0.4, 0.32, 0.64, 0.16]),
    ],
)
def test_the_price_follows_the_running_pass_rate_of_earlier_updates(settings, expected) -> None:
    assert prices(PassRate(**settings), [0.4, 0.8, 0.2]) == pytest.approx(expected, rel=1e-12)


def test_what_is_solved_by_all_or_none_is_charged_in_full_or_not_at_all() -> None:
    assert prices(PassRate(), [1.0, 1.0]) == [0.2, 0.8, 0.8]
    assert prices(PassRate(), [0.0, 0.0]) == [0.2, 0.0, 0.0]
    assert prices(PassRate(), [0.3], price=0.0) == [0.0, 0.0]


def test_an_environment_that_does_not_say_what_is_solved_is_charged_in_full() -> None:
    schedule = PassRate()
    schedule.observe({"reward": 3.0})
    assert schedule.share(1) == 1.0


@pytest.mark.parametrize(("before", "after"), [([], [0.4, 0.9]), ([0.4], [0.9, 0.1])])
def test_a_resumed_price_goes_on(before, after) -> None:
    first, second = PassRate(), PassRate()
    prices(first, before)
    second.load_state_dict(first.state_dict())
    assert prices(second, after) == prices(first, after)


@pytest.mark.parametrize(("rate", "expected"), [(None, 0.25), (0.5, 0.25), (1, 1)])
def test_a_rate_of_an_earlier_version_is_read(rate, expected) -> None:
    schedule = PassRate()
    schedule.load_state_dict({"rate": rate})
    assert schedule.share(7) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("settings", [{"power": 0}, {"power": -1}, {"smoothing": 1}])
def test_settings_out_of_range_are_refused_by_their_key(settings: dict) -> None:
    with pytest.raises(SettingError, match=f"learner.price.{next(iter(settings))} must be"):
        PassRate(**settings)


def episode(solved: bool, share: float) -> Episode:
    """Return an episode of one agent that pays 1 if it is solved, with a bill of 0.8."""
    return Episode(
        "t",
        (Turn("s", 0, "x", (1,), (2,), (-0.5,), 1),),
        {"s": (float(solved) - 0.8,)},
        solved=solved,
        task_rewards={"s": (float(solved),)},
        bills={"s": (0.8,)},
        common=True,
        price_share=share,
    )


@pytest.mark.parametrize("members", [2, 8])
def test_the_expected_charge_does_not_depend_on_the_size_of_a_group(members: int) -> None:
    # A message of 0.8 at the full price solves its task with probability 0.6; earlier updates
    # solved half. Each episode is charged 0.8 x 0.25, whatever comes out. A factor of the group,
    # its pass rate squared, would have charged 0.8 x E[(k / n)^2]: 0.8 x (0.36 + 0.24 / n), which
    # is 0.384 for groups of 2 and 0.312 for groups of 8.
    schedule = PassRate()
    schedule.observe({"pass_rate": 0.5})
    share = schedule.share(1)
    expected = by_group = total = 0.0
    for outcomes in itertools.product([False, True], repeat=members):
        chance = 0.6 ** sum(outcomes) * 0.4 ** (members - sum(outcomes))
        group = Group("t", tuple(episode(solved, share) for solved in outcomes))
        sequences = sequences_of(group, credit=own, advantages=Advantages(scale="none"))
        charges = [each.breakdown.task - each.return_to_go for each in sequences]
        assert charges == pytest.approx([0.2] * members, rel=1e-9)
        total += chance
        expected += chance * charges[0]
        by_group += chance * 0.8 * pass_rate(group.episodes) ** 2
    assert total == pytest.approx(1.0)
    assert expected == pytest.approx(0.2, rel=1e-9)
    assert by_group == pytest.approx({2: 0.384, 8: 0.312}[members], rel=1e-9)
