"""Intervals over seeds and of changes, computed by hand."""

from __future__ import annotations

import math
from statistics import stdev

import numpy as np
import pytest
from scipy import stats

from laconic.experiments.statistics.intervals import (
    difference,
    exact,
    over_seeds,
    over_tasks_and_seeds,
    student,
)
from laconic.learners.metrics import Interval, Outcomes, wilson

UNKNOWN = math.nan, math.nan


def once(*values: float) -> Outcomes:
    """Return outcomes of tasks that each count once."""
    return Outcomes(tuple(map(float, values)), (1.0,) * len(values))


def test_a_mean_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        student([])
    with pytest.raises(ValueError, match="at least one value"):
        over_seeds([])


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("value", [0.0, 0.1, 33.0])
def test_equal_values_show_no_spread(value: float, count: int) -> None:
    interval = student([value] * count)
    assert (interval.mean, interval.count) == (pytest.approx(value, rel=1e-12), count)
    assert math.isnan(interval.low) and math.isnan(interval.high)


def test_equal_seeds_keep_the_interval_over_their_tasks() -> None:
    # 99 of 100 tasks on two seeds: the seeds add nothing to Wilson's [0.9455, 0.9982].
    run = Interval(0.99, 0.9455, 0.9982, 100)
    interval = over_seeds([run, run], (0.0, 1.0))
    expected = pytest.approx((0.99, 0.9455, 0.9982), rel=1e-12)
    assert (interval.mean, interval.low, interval.high) == expected
    assert interval.count == 2


def test_equal_seeds_that_solve_everything_have_an_interval() -> None:
    # Wilson's lower end for 100 of 100 is 1 / (1 + 1.96^2 / 100) = 0.963005; the upper one is 1.
    run = Interval(1.0, 0.963005, 1.0, 100)
    interval = over_seeds([run] * 5, (0.0, 1.0))
    assert (interval.low, interval.high) == pytest.approx((0.963005, 1.0), rel=1e-12)


def test_the_spreads_of_seeds_and_tasks_add_as_squares() -> None:
    # Means 10 and 14: s = sqrt(8), t of one degree of freedom 12.706205, half width
    # 12.706205 * sqrt(8 / 2) = 25.412410. Down over tasks: mean of 3 and 5, 4; up: of 1 and 7, 4.
    # sqrt(25.412410^2 + 4^2) = 25.725291.
    interval = over_seeds([Interval(10, 7, 11, 50), Interval(14, 9, 21, 50)])
    ends = (12 - 25.725291, 12 + 25.725291)
    assert (interval.low, interval.high) == pytest.approx(ends, abs=1e-5)


def test_the_two_sides_of_an_interval_are_added_apart() -> None:
    # Values 0.8 and 1.0: s = 0.141421, half width 12.706205 * 0.141421 / sqrt(2) = 1.270621.
    # Down: mean of 0.2 and 0.4 = 0.3,
    # sqrt(1.614477 + 0.09) = 1.305556. Up: mean of 0.1 and 0 = 0.05, sqrt(1.614477 + 0.0025).
    interval = over_seeds([Interval(0.8, 0.6, 0.9, 9), Interval(1.0, 0.6, 1.0, 9)])
    assert interval.low == pytest.approx(0.9 - 1.305556, abs=1e-5)
    assert interval.high == pytest.approx(0.9 + 1.271604, abs=1e-5)


def test_one_seed_keeps_its_own_interval() -> None:
    run = Interval(0.5, 0.3, 0.8, 40)
    assert over_seeds([run]) == Interval(0.5, pytest.approx(0.3), pytest.approx(0.8), 40)


@pytest.mark.parametrize("ends", [UNKNOWN, (2.0, 2.0)])
def test_seeds_and_tasks_without_any_spread_have_no_interval(ends: tuple[float, float]) -> None:
    # Every episode of every seed took two rounds: an interval would claim to know all others.
    for count in (1, 3):
        interval = over_seeds([Interval(2.0, *ends, 30)] * count)
        assert interval.mean == 2.0 and math.isnan(interval.low) and math.isnan(interval.high)


def test_runs_without_an_interval_over_tasks_leave_that_over_seeds() -> None:
    # As for the values 1 to 5 below: half width 1.963243. A run that knows its tasks counts alone.
    unknown = [Interval(float(value), *UNKNOWN, 0) for value in range(1, 6)]
    interval = over_seeds(unknown)
    assert (interval.low, interval.high) == pytest.approx((1.036757, 4.963243), abs=1e-6)
    interval = over_seeds([*unknown[:4], Interval(5.0, 4.0, 6.0, 30)])
    assert interval.high - 3 == pytest.approx(math.hypot(1.963243, 1.0), abs=1e-6)


def test_an_interval_over_seeds_and_tasks_covers_the_mean_over_other_seeds_and_tasks() -> None:
    # Simulated: four seeds on the same 50 tasks; 95 % is asked for, and never much less.
    generator = np.random.default_rng(0)
    for spread_of_seeds, spread_of_tasks in ((0.0, 1.0), (0.1, 1.0), (1.0, 0.1)):
        covered = 0
        for _ in range(400):
            tasks = generator.normal(0, spread_of_tasks, 50)
            seeds = generator.normal(0, spread_of_seeds, 4)
            scores = tasks + seeds[:, None] + generator.normal(0, 0.2, (4, 50))
            halves = 1.96 * scores.std(axis=1, ddof=1) / math.sqrt(50)
            means = scores.mean(axis=1)
            runs = [Interval(m, m - h, m + h, 50) for m, h in zip(means, halves, strict=True)]
            interval = over_seeds(runs)
            covered += interval.low <= 0 <= interval.high
        # Three standard errors of a share of 95 % among 400 are 3.3 points.
        assert covered >= 0.917 * 400


def test_the_interval_over_values_is_students() -> None:
    # Mean 3, variance (4 + 1 + 0 + 1 + 4) / 4 = 2.5, standard error sqrt(2.5 / 5) = 0.707107;
    # t with 4 degrees of freedom is 2.776445, half width 1.963243.
    interval = student([1.0, 2.0, 3.0, 4.0, 5.0])
    expected = pytest.approx((3, 1.036757, 4.963243), abs=1e-6)
    assert (interval.mean, interval.low, interval.high) == expected


def test_the_interval_is_cut_at_the_bounds() -> None:
    # Mean 0.95, half width 12.7062 * 0.05 = 0.635.
    interval = student([0.9, 1.0], bounds=(0.0, 1.0))
    assert (interval.low, interval.high) == (pytest.approx(0.31469, abs=1e-5), 1.0)


@pytest.mark.parametrize(
    ("df", "expected"),
    # From printed tables.
    [(1, 12.706), (4, 2.776), (9, 2.262), (10, 2.228), (19, 2.093), (30, 2.042), (120, 1.980)],
)
def test_half_an_interval_is_the_quantile_of_the_tables_times_the_standard_error(
    df: int, expected: float
) -> None:
    values = [float(number % 5) for number in range(df + 1)]
    error = stdev(values) / math.sqrt(len(values))
    interval = student(values)
    assert (interval.high - interval.mean) / error == pytest.approx(expected, abs=6e-4)
    assert interval.mean - interval.low == pytest.approx(interval.high - interval.mean, rel=1e-12)


def test_the_interval_is_that_of_a_t_test() -> None:
    values = [0.31, 0.28, 0.4, 0.37, 0.29, 0.33]
    low, high = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    interval = student(values)
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-9)


def test_the_interval_of_any_number_of_values_is_that_of_a_t_distribution() -> None:
    for count in range(2, 200):
        # Standard deviation 1: the half width times sqrt(count) is the quantile.
        values = [math.sqrt((count - 1) / 2), -math.sqrt((count - 1) / 2)] + [0.0] * (count - 2)
        width = student(values).high * math.sqrt(count)
        assert width == pytest.approx(float(stats.t.ppf(0.975, count - 1)), abs=1e-5)


def test_the_exact_interval_is_that_of_a_binomial_test() -> None:
    # Without a success the upper end solves (1 - p) ** 10 = 0.025.
    assert exact(0, 10) == (0.0, pytest.approx(1 - 0.025**0.1, abs=1e-12))
    for count in (1, 2, 7, 40, 3000):
        for successes in {0, 1, count // 3, count}:
            expected = stats.binomtest(successes, count).proportion_ci(0.95, method="exact")
            assert exact(successes, count) == pytest.approx(tuple(expected), abs=1e-9)


def test_a_change_carries_the_spread_of_both_ends() -> None:
    # Down: after may be 0.03 lower, before 0.04 higher: sqrt(9 + 16) = 5 hundredths.
    # Up: after 0.06 higher, before 0.08 lower: 10 hundredths.
    interval = difference(Interval(0.5, 0.42, 0.54, 100), Interval(0.7, 0.67, 0.76, 90))
    expected = pytest.approx((0.2, 0.15, 0.3), rel=1e-12)
    assert (interval.mean, interval.low, interval.high) == expected
    assert interval.count == 90


def test_a_change_from_an_unknown_spread_has_an_unknown_spread() -> None:
    interval = difference(Interval(0.5, math.nan, math.nan, 1), Interval(0.7, 0.6, 0.8, 9))
    assert interval.mean == pytest.approx(0.2, rel=1e-12)
    assert math.isnan(interval.low) and math.isnan(interval.high)


def test_crossed_seeds_and_tasks_by_hand() -> None:
    # Rows are seeds: means 2, 4; tasks: means 2, 3, 4; mean 3. The rest is -.5, .5, 0, .5, -.5, 0,
    # its mean square 1 / (1 x 2) = .5. Seeds: mean square 3 x 2 = 6, part (6 - .5) / 6 = .916667
    # with t(1) = 12.706205; tasks: 2 x 1 = 2, part 2 / 6 = .333333 with t(2) = 4.302653.
    # sqrt(161.447639 x .916667 + 18.512821 x .333333) = sqrt(154.164609) = 12.416304.
    interval = over_tasks_and_seeds([once(0.5, 2.5, 3.0), once(3.5, 3.5, 5.0)])
    assert (interval.mean, interval.count) == (3.0, 2)
    ends = (3 - 12.416304, 3 + 12.416304)
    assert (interval.low, interval.high) == pytest.approx(ends, abs=1e-5)


def test_one_run_has_the_interval_over_its_tasks() -> None:
    # Values 1, 2, 6: mean 3, s = sqrt(7), 4.302653 x sqrt(7 / 3) = 6.572411.
    interval = over_tasks_and_seeds([once(1, 2, 6)])
    assert (interval.mean, interval.count) == (3.0, 3)
    assert interval.high - 3 == pytest.approx(6.572411, abs=1e-5)


def test_a_start_that_all_seeds_share_counts_once() -> None:
    start = once(*(task % 7 for task in range(50)))
    alone, thrice = (over_tasks_and_seeds([start] * seeds) for seeds in (1, 3))
    ends = (alone.mean, alone.low, alone.high)
    assert (thrice.mean, thrice.low, thrice.high) == pytest.approx(ends, rel=1e-9)


def test_a_pair_takes_off_what_its_tasks_share() -> None:
    # Every task costs two tokens less, whatever it cost before: no task differs in its change.
    before = once(*range(10, 60))
    changes = over_tasks_and_seeds([once(*range(8, 58))] * 2, [before] * 2)
    assert changes.mean == pytest.approx(-2.0) and math.isnan(changes.low)
    # Half of the tasks lose one token more: s = .505076, t(49) x s / sqrt(50) = .143540.
    after = once(*(tokens - 2 - tokens % 2 for tokens in range(10, 60)))
    (changed,) = [over_tasks_and_seeds([after], [before])]
    assert (changed.mean, changed.high) == pytest.approx((-2.5, -2.5 + 0.143540), abs=1e-5)


def test_a_part_of_the_start_is_a_ratio_of_means() -> None:
    # 6 / 12. y - x / 2 is -1, 0, 1, each of 12, so s = 1 / 12 and t(2) x s / sqrt(3) = .207011.
    before, after = once(8, 12, 16), once(3, 6, 9)
    part = over_tasks_and_seeds([after], [before], relative=True)
    assert part.mean == pytest.approx(0.5)
    assert part.high - 0.5 == pytest.approx(0.207011, abs=1e-5)


def test_a_share_of_turns_is_a_ratio_of_sums() -> None:
    # 1 of 1 turns and 1 of 3: 2 / 4, not the mean .667 of the two shares.
    interval = over_tasks_and_seeds([Outcomes((1.0, 1.0), (1.0, 3.0))], share=True)
    assert interval.mean == pytest.approx(0.5) and interval.count == 4
    assert 0 <= interval.low < 0.5 < interval.high <= 1


def test_a_share_at_its_edge_has_a_width() -> None:
    solved = [once(*[1] * 100)] * 3
    assert over_tasks_and_seeds(solved, share=True).low == pytest.approx(wilson(100, 100)[0])
    change = over_tasks_and_seeds(solved, solved, share=True)
    assert (change.mean, change.high) == (0.0, pytest.approx(wilson(0, 100)[1]))
    # A task without turns of the kind is no trial: two of two turns.
    few = [Outcomes((1.0, 0.0, 1.0), (1.0, 0.0, 1.0))]
    assert over_tasks_and_seeds(few, share=True).low == pytest.approx(wilson(2, 2)[0])


def test_one_task_leaves_the_spread_of_seeds() -> None:
    assert over_tasks_and_seeds([once(1), once(3)]).high == pytest.approx(2 + 12.706205, abs=1e-5)


@pytest.mark.parametrize("runs", [[], [once(1), once(1, 2)]])
def test_runs_on_other_tasks_are_refused(runs: list[Outcomes]) -> None:
    with pytest.raises(ValueError, match="on the same tasks"):
        over_tasks_and_seeds(runs)


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("deviation", [0.0, 0.02, 0.05])
@pytest.mark.parametrize("paired", [False, True])
def test_intervals_cover_what_they_say(seeds: int, deviation: float, paired: bool) -> None:
    """Play 1,500 experiments: tasks of unequal difficulty, and seeds of unequal skill.

    A task is solved if task + seed + rest + mean > 0, all but the mean normal with deviations 1,
    s and 1; s gives seeds the deviation of accuracy that is asked for. With 10,000 experiments the
    intervals cover 93.4 to 97.1 %.
    """
    level, tasks, plays = 0.8, 200, 1500
    mean = math.sqrt(2) * stats.norm.ppf(level)
    skill = deviation * math.sqrt(2) / stats.norm.pdf(stats.norm.ppf(level))
    truth = stats.norm.cdf(mean / math.sqrt(2 + skill**2)) - (level if paired else 0)
    generator = np.random.default_rng([seeds, round(100 * deviation), paired])
    ones = (1.0,) * tasks

    def outcomes(solved: np.ndarray) -> Outcomes:
        return Outcomes(tuple(solved.astype(float).tolist()), ones)

    covered = 0
    for _ in range(plays):
        task = mean + generator.standard_normal(tasks)
        seed = skill * generator.standard_normal((seeds, 1))
        solved = task + seed + generator.standard_normal((seeds, tasks)) > 0
        start = [outcomes(task + generator.standard_normal(tasks) > 0)] * seeds if paired else []
        interval = over_tasks_and_seeds([*map(outcomes, solved)], start, share=True)
        covered += interval.low <= truth <= interval.high
    assert 0.93 <= covered / plays <= 0.97


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_that_are_not_finite_have_no_interval(value: float) -> None:
    figure = Interval(value, 0.0, 1.0, 3)
    for interval in (student([1.0, value, 2.0]), over_seeds([figure, Interval(1.0, 0.0, 2.0, 3)])):
        assert not math.isfinite(interval.mean)
        assert not math.isfinite(interval.low) and not math.isfinite(interval.high)
    crossed = over_tasks_and_seeds([once(1.0, value)], share=True)
    assert np.isnan((crossed.mean, crossed.low, crossed.high)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("runs", "before", "relative"),
    [
        # Starts that are 0 on average, and a run or a start without a turn that counts.
        ([once(1, 2)], [once(1, -1)], True),
        ([once(0, 0)], [once(0, 0)], True),
        ([Outcomes((0.0, 0.0), (0.0, 0.0))], [], False),
        ([once(1, 2)], [Outcomes((0.0, 0.0), (0.0, 0.0))], False),
    ],
)
def test_a_division_by_zero_gives_no_interval(runs, before, relative) -> None:
    interval = over_tasks_and_seeds(runs, before, relative=relative)
    assert np.isnan((interval.mean, interval.low, interval.high)).all()


def test_a_single_run_counts_the_turns_of_a_share() -> None:
    turns = Outcomes((3.0, 1.0), (4.0, 2.0))
    assert over_tasks_and_seeds([turns], share=True).count == 6
