"""Warnings of rules about rows of metrics, row by row."""

from __future__ import annotations

import json

import pytest

from laconic.experiments.session.rule_kinds import (
    Collapse,
    EntropyCollapse,
    Extinction,
    Streak,
    silence_to_watch,
)
from laconic.experiments.session.rules import Context, Rules, context_of

GOOD, DEAD = (0.2, 0.8), (1.0, 0.1)


def row(silence: float, accuracy: float, prefix: str = "train/") -> dict[str, float]:
    return {f"{prefix}silence_rate": silence, f"{prefix}accuracy": accuracy}


def feed(rule, *observations: tuple[float, float], start: int = 0) -> list[int]:
    """Return the places of the observations (silence rate, accuracy) with a warning."""
    return [
        place
        for place, observation in enumerate(observations)
        if rule.observe(start + place, row(*observation))
    ]


# Silence collapse


def test_nothing_is_said_before_the_window_is_full() -> None:
    assert feed(Collapse(window=3), GOOD, DEAD) == []


def test_silence_without_a_fall_of_accuracy_is_no_collapse() -> None:
    assert feed(Collapse(window=2), GOOD, GOOD, *[(1.0, 0.8)] * 9) == []


def test_a_fall_of_accuracy_without_silence_is_no_collapse() -> None:
    assert feed(Collapse(window=2), GOOD, GOOD, *[(0.5, 0.1)] * 9) == []


def test_an_agent_that_never_speaks_does_not_fall_silent() -> None:
    assert feed(Collapse(window=2), *[(1.0, 0.9)] * 2, *[(1.0, 0.1)] * 9) == []
    assert feed(Collapse(window=2), *[(0.95, 0.9)] * 2, *[(1.0, 0.1)] * 9) == [2]


def test_a_team_that_was_never_better_has_not_fallen() -> None:
    assert feed(Collapse(window=2), *[DEAD] * 9) == []


def test_a_collapse_warns_once_when_the_window_shows_it() -> None:
    # Window means of silence: 0.2, 0.6, 1.0; the third is the first of at least 0.9.
    assert feed(Collapse(window=2), GOOD, GOOD, DEAD, DEAD, DEAD, DEAD) == [3]


def test_a_drop_of_exactly_the_threshold_counts() -> None:
    # 0.8 - 0.7 is a little less than 0.1 in floating point.
    assert feed(Collapse(window=1), (0.9, 0.8), (0.9, 0.7)) == [1]


def test_a_weak_team_has_fallen_when_half_of_its_best_is_gone() -> None:
    assert feed(Collapse(window=1), (0.2, 0.12), (1.0, 0.07), (1.0, 0.06)) == [2]
    # One that never solved anything has nothing to lose.
    assert feed(Collapse(window=1), (0.2, 0.0), (1.0, 0.0)) == []


def test_it_warns_again_after_a_recovery() -> None:
    rows = (GOOD, GOOD, DEAD, DEAD, GOOD, GOOD, GOOD, DEAD, DEAD)
    assert feed(Collapse(window=2), *rows) == [3, 8]


def test_a_rate_that_wavers_is_one_collapse() -> None:
    # Window means of silence from there: 0.6, 1.0, 0.925, 0.91, 0.885, 0.9; one calm, never two.
    wavering = [(1.0, 0.1), (1.0, 0.1), (0.85, 0.1), (0.97, 0.1), (0.8, 0.1), (1.0, 0.1)]
    assert feed(Collapse(window=2), GOOD, GOOD, *wavering) == [3]


def test_agents_with_something_to_say_may_be_silent_less_often() -> None:
    rule, rows = Collapse(window=2), [(0.9, 0.8), (0.9, 0.8), (0.6, 0.6), (0.5, 0.5), (0.5, 0.5)]
    warnings = [
        rule.observe(step, {"train/spoke_if_informed": spoke, "train/accuracy": accuracy})
        for step, (spoke, accuracy) in enumerate(rows)
    ]
    # Window means of their silence: 0.1, 0.25, 0.45, 0.5; of all turns that would be no warning.
    assert [bool(warning) for warning in warnings] == [False] * 4 + [True]
    assert "silent in 50% of the turns in which it had something useful to say" in str(warnings[-1])


def test_the_warning_has_numbers_and_advice() -> None:
    rule = Collapse(window=1)
    rule.observe(6, row(0.2, 0.81))
    words = rule.observe(7, row(0.95, 0.34))
    assert words is not None
    for part in ("step 7", "95%", "34%", "81%", "around step 6"):
        assert part in words
    for key in ("env.reward.price", "learner.price.power", "learner.credit"):
        assert key in words


def test_evaluations_are_watched_by_their_own_names() -> None:
    rule = Collapse("eval/", window=1)
    assert rule.observe(0, row(0.2, 0.8)) is None
    assert rule.observe(0, row(0.2, 0.58, "eval/")) is None
    warning = rule.observe(9, {"eval/accuracy": 0.25, "eval/spoke_if_informed": 0.26})
    assert warning and "over the last evaluation" in warning


def test_the_silence_of_informed_agents_is_watched_where_it_is_known() -> None:
    assert silence_to_watch({"silence_rate": 0.75, "spoke_if_informed": 0.125}) == 0.875
    assert silence_to_watch({"silence_rate": 0.75}) == 0.75
    assert silence_to_watch({}) == 0.0


# Silence extinction


def uninformed(silence: float, price: float = 2.0) -> dict[str, float]:
    return {"train/silent_if_uninformed": silence, "train/price": price}


def test_silence_that_dies_out_is_warned_of_once_and_again_after_it_came_back() -> None:
    rule = Extinction()
    # The window is five rows: it is full at place 4, has recovered above 10 % at place 7 (three of
    # five at .2), and is at or below 5 % again at place 13 (one of five at .2: mean .04).
    rates = [0.0] * 5 + [0.2] * 5 + [0.0] * 5
    places = [place for place, rate in enumerate(rates) if rule.observe(place, uninformed(rate))]
    assert places == [4, 13]


@pytest.mark.parametrize("unsaid", [{}, uninformed(0.0, price=0.0)])
def test_free_tokens_and_unknown_holders_are_not_watched(unsaid) -> None:
    rule = Extinction()
    assert [rule.observe(step, unsaid) for step in range(9)] == [None] * 9


# Entropy collapse


def entropies(rule: EntropyCollapse, *rows: tuple[float, float]) -> list[int]:
    """Return the places of the rows (entropy, accuracy) with a warning."""
    return [
        place
        for place, (entropy, accuracy) in enumerate(rows)
        if rule.observe(place, {"train/entropy": entropy, "train/accuracy": accuracy})
    ]


def test_entropy_that_falls_to_a_tenth_is_warned_of_while_tasks_are_unsolved() -> None:
    # The start is 0.2. Means of the last five after place 9: 0.16 (.2 x 4 / 5), .12, .08, .04, 0.
    # The threshold is 0.02, so the first warning is at place 14.
    rule = EntropyCollapse()
    assert entropies(rule, *[(0.2, 0.5)] * 10, *[(0.0, 0.5)] * 6) == [14]
    assert rule.holds() and rule.figure() == "entropy 0 nats a token (at the start 0.2)"
    # (0 x 4 + 0.3) / 5 = 0.06 is above twice the threshold, 0.04.
    assert entropies(rule, (0.3, 0.5)) == [] and not rule.holds()


def test_a_team_that_solves_its_tasks_may_be_certain() -> None:
    assert entropies(EntropyCollapse(), *[(0.2, 0.5)] * 5, *[(0.0, 0.95)] * 9) == []
    assert entropies(EntropyCollapse(), *[(0.0, 0.5)] * 9) == []


# Streaks


def test_a_streak_warns_once_and_again_after_as_many_rows_without() -> None:
    figure = "figure {mean:.1f}"
    rule = Streak(2, lambda row: row.get("x"), lambda x: x > 0, figure, "step {step}, {mean}")
    bad = [1, 3, 1, 0, 1, 1, 0, 0, 1, 1]
    warned = [rule.observe(step, {"x": value}) for step, value in enumerate(bad)]
    assert [step for step, words in enumerate(warned) if words] == [1, 9]
    # The mean of 1 and 3.
    assert warned[1] == "step 1, 2.0"
    assert rule.observe(10, {}) is None and rule.holds() and rule.figure() == "figure 1.0"


PRICED = {"train/reward": 0.1, "train/billed": 0.2, "train/task_reward": 0.5, "train/price": 2.0}
HEALTHY = {
    **PRICED,
    "train/accuracy": 0.5,
    "train/entropy": 0.5,
    "train/truncated_replies": 0.1,
    "train/cut_rate": 0.1,
    "train/truncated_rate": 0.1,
    "learner/steps": 4.0,
    "learner/grad_norm": 0.3,
    "learner/learning_rate": 1e-4,
    "learner/ratio_min": 0.6,
    "learner/ratio_max": 2.0,
    "learner/approx_kl": 0.001,
    "learner/mismatch_kl": 0.001,
    "learner/masked_share": 0.01,
    "learner/groups_without_contrast": 0.2,
    "learner/skipped_steps": 0.0,
    "learner/moved_fraction": 0.7,
    "learner/clip_fraction/1-2": 0.1,
    "learner/clip_fraction/9-32": 0.1,
}


@pytest.mark.parametrize(
    ("wrong", "rows", "words"),
    [
        ({"learner/steps": 0.0}, 3, "no reply had a token to learn from"),
        ({"learner/groups_without_contrast": 1.0}, 5, "nothing to compare"),
        ({"train/accuracy": 0.05}, 10, "only 5.0% of the episodes were solved"),
        ({"train/truncated_replies": 0.9}, 5, "90% of the replies were stopped by their limit"),
        ({"train/cut_rate": 0.6}, 5, "60% of the messages were over budget"),
        ({"train/truncated_rate": 0.7}, 5, "70% of the episodes were cut short"),
        ({"learner/skipped_steps": 2.0}, 1, "2 optimizer steps were skipped"),
        ({"learner/changed_weights": 0.4}, 1, "changed only 40% of the weights"),
        ({"learner/grad_norm": 0.0}, 3, "the gradient of the last 3 updates vanished"),
        ({"learner/learning_rate": 0.0}, 3, "learner.decay_updates"),
        ({"learner/mismatch_kl": 0.02}, 3, "0.02 nats a token apart"),
        ({"learner/masked_share": 0.8}, 3, "left 80% of the tokens out"),
        # 1 / 0.04 = 25 is further from 1 than 2.0.
        ({"learner/ratio_min": 0.04}, 3, "a factor of 10 (25 on average)"),
        ({"learner/ratio_max": 12.0}, 3, "a factor of 10 (12 on average)"),
        ({"learner/approx_kl": 0.3}, 3, "moved the policy by 0.3 nats a token"),
        ({"learner/moved_fraction": 0.0}, 3, "every importance ratio"),
        ({"learner/clip_fraction/9-32": 0.0}, 10, "only replies of one or two tokens"),
        ({"train/price": 0.008}, 10, "0.10% of the price was charged"),
    ],
)
def test_every_streak_has_its_rule(wrong, rows, words) -> None:
    rules = Rules(Context(ratio=True, follows=True, price=8.0))
    for step in range(20):
        assert rules.observe(step, HEALTHY) == []
    warnings = [rules.observe(step, {**HEALTHY, **wrong}) for step in range(20, 20 + rows)]
    told = [[warning for warning in each if words in warning] for each in warnings]
    assert [len(each) for each in told] == [0] * (rows - 1) + [1]
    assert f"step {19 + rows}" in told[-1][0]


def test_an_environment_without_bills_is_named_once() -> None:
    rules = Rules(Context(follows=True))
    (warning,) = rules.observe(1, {"train/reward": 1.0})
    assert "reports no bills" in warning
    assert rules.observe(2, {"train/reward": 1.0}) == []
    assert Rules(Context()).observe(1, {"train/reward": 1.0}) == []


@pytest.mark.parametrize(
    ("only_solved", "billed", "over"),
    [
        # 0.6 - 0.5.
        (False, 0.6, "0.10"),
        # Half of the episodes are solved: 0.5 x 1.2 = 0.6, and 0.5 x 0.9 = 0.45.
        (True, 1.2, "0.10"),
        (True, 0.9, None),
    ],
)
def test_a_charge_above_the_earnings_gets_a_warning(only_solved, billed, over) -> None:
    rules = Rules(Context(only_solved=only_solved))
    warnings = [rules.observe(step, {**HEALTHY, "train/billed": billed}) for step in range(5)]
    assert [len(each) for each in warnings] == [0, 0, 0, 0, int(over is not None)]
    assert not over or f"charged {over} more than it earned" in warnings[-1][0]


def test_time_is_no_charge_that_silence_would_save() -> None:
    # Ten rounds of 0.05 are off a reward of 1, and 0.6 is charged: 0.6 < 0.5 + 0.5.
    row = {**HEALTHY, "train/billed": 0.6, "train/task_reward": 0.5, "train/rounds": 10.0}
    for price, count in ((0.05, 0), (0.0, 1)):
        rules = Rules(Context(round_price=price))
        assert sum(len(rules.observe(step, row)) for step in range(5)) == count


def test_a_gradient_of_zero_is_fine_where_nothing_is_to_learn() -> None:
    rules = Rules(Context())
    flat = {"learner/grad_norm": 0.0, "learner/groups_without_contrast": 1.0}
    warnings = [warning for step in range(9) for warning in rules.observe(step, flat)]
    assert len(warnings) == 1 and "nothing to compare" in warnings[0]


PASS_RATE = {"_target_": "laconic.learners.prices.schedule.PassRate", "power": 2}


def test_the_context_is_read_from_a_configuration_and_doubts_it() -> None:
    learner = {"price": PASS_RATE, "objective": {"importance_sampling_level": "token"}}
    settings = {"learner": learner, "env": {"reward": {"when": "solved", "price": 0.12}}}
    assert context_of(settings) == Context(True, True, True, 0.12)
    # A former run charged a power of the pass rate of its groups.
    assert context_of({"learner": {"charge_power": 2}, "env": 3}) == Context(False, True)
    assert context_of({"learner": {"charge_power": "much"}, "env": 3}) == Context(False)


def test_the_rows_of_a_former_run_have_a_factor_beside_the_price() -> None:
    rules = Rules(Context(follows=True, price=2.0))
    former = {**HEALTHY, "learner/charge_factor": 0.001}
    told = [rules.judge(step, former) for step in range(10)]
    assert "0.10% of the price was charged" in told[-1]["never_charged"]


def test_a_state_of_a_version_with_fewer_rules_is_continued() -> None:
    rules = Rules(Context(follows=True))
    state = {name: each for name, each in rules.state_dict().items() if name == "no_contrast"}
    state["no_contrast"] = {"length": 4, "calm": 0, "warned": False}
    rules.load_state_dict(state)
    (warning,) = rules.observe(5, {"learner/groups_without_contrast": 1.0})
    assert "nothing to compare" in warning


def test_without_a_ratio_it_is_not_watched() -> None:
    rules = Rules(Context(ratio=False))
    ones = {"learner/moved_fraction": 0.0}
    assert all(rules.observe(step, ones) == [] for step in range(9))


@pytest.mark.parametrize("cut", range(1, 19, 3))
def test_a_resumed_run_warns_like_one_that_never_stopped(cut) -> None:
    rows = [
        {**HEALTHY, **row(*observed), **uninformed(0.0), "learner/steps": float(place % 4 > 1)}
        for place, observed in enumerate([GOOD] * 6 + [DEAD] * 6 + [GOOD] * 7)
    ]
    whole, first, second = (Rules(Context(follows=True)) for _ in range(3))
    expected = [whole.observe(step, each) for step, each in enumerate(rows)]
    warnings = [first.observe(step, each) for step, each in enumerate(rows[:cut])]
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    warnings += [second.observe(cut + step, each) for step, each in enumerate(rows[cut:])]
    assert warnings == expected
    assert sum(map(len, expected)) >= 2
