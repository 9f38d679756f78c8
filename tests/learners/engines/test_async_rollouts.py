"""Rollouts of coming steps run meanwhile, and groups that are too old are not trained on."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from laconic.learners.engines.async_rollouts import AsyncRollouts, drop_stale_groups
from laconic.learners.episode import Episode, Group, Turn


def test_coming_steps_are_rolled_out_meanwhile_and_each_only_once():
    played, go = [], threading.Event()

    def play(step):
        if step > 1:
            assert go.wait(5)
        played.append(step)
        return step * 10

    rollouts = AsyncRollouts(play, max_staleness=2, last_step=4)
    # A later step that is still running delays no earlier step.
    rollouts.begin(1)
    assert rollouts.take(1) == 10
    assert played == [1]
    go.set()
    assert [rollouts.take(2), rollouts.take(3)] == [20, 30]
    rollouts.begin(4)
    rollouts.settle()
    assert sorted(played) == [1, 2, 3, 4]
    assert rollouts.take(4) == 40


def test_an_error_is_raised_for_the_step_that_needs_the_rollout():
    def play(step):
        if step == 2:
            raise ValueError("no server")
        return step

    rollouts = AsyncRollouts(play, max_staleness=1, last_step=9)
    rollouts.begin(1)
    rollouts.settle()
    with pytest.raises(ValueError, match="no server"):
        rollouts.take(2)


def group(*versions, trained=True):
    turn = Turn("a", 0, "x", (1,), (2,), (-1.0,), trained=trained)
    episodes = [
        Episode("t", (replace(turn, version=version),), {"a": (0.0,)}) for version in versions
    ]
    return Group("t", tuple(episodes))


def test_a_group_with_one_stale_reply_is_dropped_whole_and_counted():
    groups = [group(5, 5), group(4, 5), group(3, 5)]
    # Newest 5: the lags of the remaining groups are 0, 0, 1, 0.
    fresh, metrics = drop_stale_groups(groups, 5, 1)
    assert fresh == groups[:2]
    assert metrics == {"staleness": 0.25, "dropped_groups": 1.0}


def test_without_versions_nothing_is_counted_and_untrained_turns_are_never_stale():
    assert drop_stale_groups([group(0, 0)], None, 0) == ([group(0, 0)], {})
    old = group(0, 0, trained=False)
    metrics = {"staleness": 0.0, "dropped_groups": 0.0}
    assert drop_stale_groups([old], 7, 0) == ([old], metrics)
