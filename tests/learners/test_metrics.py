"""Metrics and their intervals, by hand."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from typing import Any

import pytest

from laconic.envs.registry import metrics
from laconic.extras.methods.gate import METRICS
from laconic.learners.episode import Episode, Turn
from laconic.learners.metrics import (
    GLOSSARY,
    MEASURES,
    SPENDING,
    THINKING,
    Outcomes,
    bounds,
    intervals,
    is_share,
    outcomes,
    prefixed,
    summarize,
    wilson,
)


def turn(message: str, informed: bool | None = None, **fields: Any) -> Turn:
    return Turn(agent="helper_1", round=0, message=message, informed=informed, **fields)


@pytest.fixture
def episodes() -> list[Episode]:
    """Return two episodes: a wordy one that solves its task, and a shorter one that does not."""
    return [
        Episode(
            task="a",
            turns=(
                turn("Ann has 3", True, truncated=True),
                turn("hello", False),
                turn("", False),
                turn("#### 3"),
            ),
            rewards={"solver_1": (0.0, 1.0), "helper_1": (-0.2, 0.8)},
            task_rewards={"solver_1": (0.0, 1.0), "helper_1": (0.0, 1.0)},
            bills={"solver_1": (0.0, 0.0), "helper_1": (0.2, 0.2)},
            common=True,
            score=1.0,
            solved=True,
            tokens_said={"solver_1": 2, "helper_1": 8},
            tokens_read={"solver_1": 20, "helper_1": 10},
            tokens_thought={"solver_1": 7, "helper_1": 0},
        ),
        Episode(
            task="b",
            turns=(turn("", True), turn("hm", cut=True)),
            rewards={"solver_1": (0.0,), "helper_1": (-0.4,)},
            task_rewards={"solver_1": (0.0,), "helper_1": (0.0,)},
            bills={"solver_1": (0.0,), "helper_1": (0.4,)},
            common=True,
            solved=False,
            truncated=True,
            tokens_said={"solver_1": 4, "helper_1": 0},
            tokens_read={"solver_1": 30, "helper_1": 10},
            tokens_thought={"solver_1": 0, "helper_1": 0},
        ),
    ]


def test_no_episodes_give_no_metrics() -> None:
    assert summarize([]) == {}
    assert intervals([]) == {}


def test_a_spent_budget_and_a_truncation_cut_an_episode_short() -> None:
    endings = ["budget", "answer", "rounds", "silence", "score", "rules", ""]
    episodes = [Episode("a", (), {}, ended_by=ending) for ending in endings]
    episodes.append(Episode("a", (), {}, truncated=True))
    assert [episode.cut_short for episode in episodes] == [True, *[False] * 6, True]
    assert summarize(episodes)["truncated_rate"] == 2 / 8


def test_what_has_nothing_behind_it_is_left_out() -> None:
    results = summarize([Episode(task="a", turns=(), rewards={})])
    assert results == {"score": 0.0, "reward": 0.0, "truncated_rate": 0.0, "rounds": 0.0}


def test_a_mean_is_over_the_episodes_that_tell() -> None:
    counted = Episode("a", (), {}, solved=True, tokens_said={"x": 2, "y": 4}, tokens_read={"x": 0})
    results = intervals([counted, Episode("a", (), {})])
    assert (results["accuracy"].mean, results["accuracy"].count) == (1.0, 1)
    assert (results["tokens_said"].mean, results["tokens_said"].count) == (6.0, 1)
    assert results["tokens_read"].mean == 0.0


def test_metrics_are_those_worked_out_by_hand(episodes: list[Episode]) -> None:
    assert summarize(episodes) == pytest.approx(
        {
            "accuracy": 1 / 2,
            "score": 0.5,
            # 1 less bills of 0.4; 0 less 0.4.
            "reward": (0.6 - 0.4) / 2,
            "task_reward": (1 + 0) / 2,
            "billed": (0.4 + 0.4) / 2,
            "tokens_said": (10 + 4) / 2,
            "tokens_read": (30 + 40) / 2,
            "tokens_thought": (7 + 0) / 2,
            # 6 turns, 2 of them silent. Over turns: the mean over episodes would be 3/8.
            "silence_rate": 2 / 6,
            # Uninformed: "hello" and silence.
            "silent_if_uninformed": 1 / 2,
            # Informed: "Ann has 3" and silence.
            "spoke_if_informed": 1 / 2,
            "cut_rate": 1 / 6,
            # "Ann has 3" alone.
            "truncated_replies": 1 / 6,
            "truncated_rate": 1 / 2,
            "rounds": (2 + 1) / 2,
            # Said and thought, over both episodes.
            "tokens_spent": (10 + 7 + 4) / 2,
            "tokens_said/solver": (2 + 4) / 2,
            "tokens_said/helper": (8 + 0) / 2,
        },
        rel=1e-12,
    )


def test_where_nobody_says_who_is_informed_informed_silence_is_left_out() -> None:
    results = summarize([Episode(task="a", turns=(turn("hi"),), rewards={})])
    assert results["silence_rate"] == 0.0
    assert {"silent_if_uninformed", "spoke_if_informed"}.isdisjoint(results)


def test_every_metric_is_in_the_glossary_and_in_its_order(episodes: list[Episode]) -> None:
    names = [*GLOSSARY, *THINKING, "tokens_said/solver", "tokens_said/helper"]
    assert list(summarize(episodes)) == names and list(intervals(episodes)) == names


def test_what_each_role_said_is_a_mean_over_the_episodes_that_tell(episodes: list[Episode]) -> None:
    results = intervals([*episodes, Episode("c", (), {})])
    assert (
        results["tokens_said/solver"].mean == (2 + 4) / 2
        and results["tokens_said/solver"].count == 2
    )
    assert results["tokens_said/helper"].mean == (8 + 0) / 2


def test_agents_of_a_role_are_counted_together() -> None:
    messages = {"solver_0": 5, "helper_0": 2, "helper_1": 3}
    results = summarize([Episode("a", (), {}, tokens_said=messages)])
    assert (results["tokens_said/solver"], results["tokens_said/helper"]) == (5.0, 5.0)


def test_where_all_have_one_role_it_is_not_told_apart() -> None:
    results = summarize([Episode("a", (), {}, tokens_said={"author_0": 2, "author_1": 3})])
    assert results["tokens_said"] == 5.0 and "tokens_said/author" not in results


def test_where_nobody_thinks_what_is_spent_is_what_is_said(episodes: list[Episode]) -> None:
    metrics = summarize(episodes[1:])
    assert metrics["tokens_thought"] == 0.0
    assert metrics["tokens_spent"] == metrics["tokens_said"] == 4.0
    uncounted = [Episode("a", (), {}, tokens_said={"x": 2})]
    assert "tokens_spent" not in summarize(uncounted)


def test_what_an_environment_measures_is_averaged_over_the_episodes_that_have_it() -> None:
    measured = [Episode("a", (), {}, measures={"overlap": value}) for value in (0.5, 0.25)]
    results = summarize([*measured, Episode("a", (), {})])
    assert results["overlap"] == 0.375 and list(results)[-1] == "overlap"
    assert intervals(measured)["overlap"].count == 2


def test_a_prefix_is_put_before_each_name() -> None:
    assert prefixed({"accuracy": 0.5}, "eval/") == {"eval/accuracy": 0.5}


def test_wilson_without_trials_says_anything_is_possible() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("successes", "count", "expected"),
    [
        # z^2 = 3.841459. At 0 of 10 the upper end is z^2 / (10 + z^2) = 3.841459 / 13.841459.
        (0, 10, (0.0, 0.277533)),
        (10, 10, (0.722467, 1.0)),
        # 8 of 10: center (0.8 + 0.192073) / 1.384146 = 0.716740; half width
        # 1.959964 * sqrt(0.016 + 0.009604) / 1.384146 = 0.226577.
        (8, 10, (0.490162, 0.943318)),
        # 1 of 1: the lower end is 1 / (1 + z^2) = 1 / 4.841459.
        (1, 1, (0.206549, 1.0)),
    ],
)
def test_wilson_is_the_interval_worked_out_by_hand(
    successes: int, count: int, expected: tuple[float, float]
) -> None:
    assert wilson(successes, count) == pytest.approx(expected, abs=2e-6)


def many(count: int) -> list[Episode]:
    """Episodes with 10 or 20 tokens, half each, and one silent turn of two in every second."""
    return [
        Episode(
            task=str(i),
            turns=(turn("x", True), turn("" if i % 2 else "y", False)),
            rewards={"helper_1": (0.0,)},
            solved=i % 5 > 0,
            tokens_said={"helper_1": 10 + 10 * (i % 2)},
        )
        for i in range(count)
    ]


def test_a_bootstrapped_mean_has_the_interval_of_the_normal_approximation() -> None:
    # Mean 15, standard deviation 5, 400 episodes: 15 +- 1.96 * 5 / 20 = 15 +- 0.49.
    result = intervals(many(400))["tokens_said"]
    assert (result.mean, result.count) == (15.0, 400)
    assert (result.low, result.high) == pytest.approx((14.51, 15.49), abs=0.06)


def test_a_share_of_turns_is_resampled_by_episode() -> None:
    # Half of the episodes have share 1/2, the others 0: mean 1/4, deviation 1/4 between episodes,
    # 1/4 +- 1.96 * 0.25 / 20 = 1/4 +- 0.0245; 800 turns are behind it.
    result = intervals(many(400))["silence_rate"]
    assert (result.mean, result.count) == (0.25, 800)
    assert (result.low, result.high) == pytest.approx((0.2255, 0.2745), abs=0.003)


def test_accuracy_has_the_wilson_interval() -> None:
    result = intervals(many(10))["accuracy"]
    assert (result.mean, result.count) == (0.8, 10)
    assert (result.low, result.high) == pytest.approx((0.490162, 0.943318), abs=2e-6)


def test_a_share_at_the_edge_still_has_an_interval() -> None:
    # All 10 informed turns, one an episode, spoke: Wilson for 10 of 10.
    result = intervals(many(10))["spoke_if_informed"]
    assert (result.low, result.high) == pytest.approx((0.722467, 1.0), abs=2e-6)


def test_a_single_episode_has_means_without_spread() -> None:
    result = intervals(many(1))["tokens_said"]
    assert (result.mean, result.low, result.high, result.count) == (10.0, 10.0, 10.0, 1)


def test_resamples_without_a_turn_of_the_kind_are_passed_over() -> None:
    some = [Episode(task="a", turns=(), rewards={}) for _ in range(3)]
    result = intervals([*some, *many(2)])["silent_if_uninformed"]
    assert result.mean == 0.5
    assert 0.0 <= result.low <= result.high <= 1.0


def test_the_same_seed_gives_the_same_intervals_and_json_can_hold_them() -> None:
    episodes = many(30)
    assert intervals(episodes, seed=3) == intervals(episodes, seed=3)
    assert intervals(episodes, seed=3) != intervals(episodes, seed=4)
    result = intervals(episodes)["tokens_said"]
    assert json.loads(json.dumps([result.mean, result.low, result.high, result.count]))


def test_intervals_of_a_thousand_episodes_take_no_time() -> None:
    episodes = many(1000)
    started = time.perf_counter()
    intervals(episodes)
    assert time.perf_counter() - started < 1.0


def test_where_only_solved_episodes_pay_the_reward_leaves_the_bills_of_others_out(
    episodes: list[Episode],
) -> None:
    late = [replace(episode, when="solved") for episode in episodes]
    # 1 less 0.4; the other is not solved and pays nothing, though its words are billed.
    assert summarize(late)["reward"] == pytest.approx((0.6 + 0.0) / 2)
    assert summarize(late)["billed"] == pytest.approx(0.4)


def test_an_environment_without_bills_has_the_mean_return_of_its_agents() -> None:
    plain = Episode("a", (), {"x": (0.0, 1.0), "y": (-0.2, 0.8)})
    assert summarize([plain])["reward"] == pytest.approx((1.0 + 0.6) / 2)
    assert "billed" not in summarize([plain]) and "task_reward" not in summarize([plain])


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        *((name, (0.0, math.inf)) for name in ("tokens_said", "tokens_said/helper", "rounds")),
        *((name, (0.0, math.inf)) for name in ("billed", "cost", "months", "tokens_spent")),
        *((name, (0.0, 1.0)) for name in ("accuracy", "silence_rate", "survived", "gate_f1")),
        # A game may cost more than it pays, and nothing is known of another package's measure.
        *((name, (-math.inf, math.inf)) for name in ("score", "reward", "task_reward", "theirs")),
    ],
)
def test_a_metric_has_bounds(name, ends):
    assert bounds(name) == ends


def test_every_share_of_the_glossaries_is_bounded_and_shown_in_percent():
    declared = {name: metric.meaning for name, metric in metrics().items()}
    gated = {name: metric.meaning for name, metric in METRICS.metrics.items()}
    glossaries = (GLOSSARY, MEASURES, THINKING, SPENDING, gated, declared)
    shares = {
        name
        for glossary in glossaries
        for name, meaning in glossary.items()
        if meaning.startswith("Share") or ": share of the turns" in meaning
    }
    assert len(shares) >= 16 and all(map(is_share, shares))
    assert {bounds(name) for name in shares} == {(0.0, 1.0)}
    assert not is_share("gain") and bounds("gain") == (0.0, math.inf)
    assert not is_share("equality") and bounds("equality") == (0.0, 1.0)


def test_episodes_of_all_tasks_count_by_their_weights(episodes):
    weights = (0.75, 0.25)
    first, second = (replace(each, weight=w) for each, w in zip(episodes, weights, strict=True))
    results = summarize([first, second])
    assert results["accuracy"] == pytest.approx(3 / 4)
    assert results["reward"] == pytest.approx((3 * 0.6 - 0.4) / 4)
    # Silent turns: 1 of 4 in the first episode, 1 of 2 in the second.
    assert results["silence_rate"] == pytest.approx((3 * 1 + 1) / (3 * 4 + 2))
    figures = intervals([first, second])
    assert {name: figure.mean for name, figure in figures.items()} == pytest.approx(results)
    assert all(math.isnan(figure.low) and figure.count == 2 for figure in figures.values())
    assert outcomes([first, second])["accuracy"] == Outcomes((1.5, 0.0), (1.5, 0.5))
    # A part of all tasks, or each played twice, has an interval.
    for some in ([first, replace(second, weight=0.1)], [first, second] * 2):
        assert all(math.isfinite(figure.low) for figure in intervals(some).values())
    equal = [replace(each, weight=7.0) for each in episodes]
    assert summarize(equal) == summarize(episodes) and intervals(equal) == intervals(episodes)
