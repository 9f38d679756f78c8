"""Playing ahead: nobody waits who need not, and what is too old is not learned from."""

from __future__ import annotations

import threading

import pytest

from laconic.learners.engines.ahead import Ahead, fresh
from laconic.learners.episode import Episode, Group, Turn


def test_the_next_steps_are_played_meanwhile_and_each_only_once():
    played, go = [], threading.Event()

    def play(step):
        if step > 1:
            assert go.wait(5)
        played.append(step)
        return step * 10

    ahead = Ahead(play, most=2, last=4)
    # A later step that is not over holds up none before it.
    ahead.begin(1)
    assert ahead.take(1) == 10
    assert played == [1]
    go.set()
    assert [ahead.take(2), ahead.take(3)] == [20, 30]
    ahead.begin(4)
    ahead.settle()
    assert sorted(played) == [1, 2, 3, 4]
    assert ahead.take(4) == 40


def test_what_went_wrong_is_said_to_the_step_that_needed_it():
    def play(step):
        if step == 2:
            raise ValueError("no server")
        return step

    ahead = Ahead(play, most=1, last=9)
    ahead.begin(1)
    ahead.settle()
    with pytest.raises(ValueError, match="no server"):
        ahead.take(2)


def group(*versions, trained=True):
    turn = Turn("a", 0, "x", (1,), (2,), (-1.0,), trained=trained)
    from dataclasses import replace

    episodes = [Episode("t", (replace(turn, version=one),), {"a": (0.0,)}) for one in versions]
    return Group("t", tuple(episodes))


def test_a_group_with_one_reply_that_is_too_old_is_left_out_whole_and_counted():
    groups = [group(5, 5), group(4, 5), group(3, 5)]
    # Newest 5: lags of the kept ones are 0, 0, 1, 0.
    kept, figures = fresh(groups, 5, 1)
    assert kept == groups[:2]
    assert figures == {"staleness": 0.25, "dropped_groups": 1.0}


def test_without_an_engine_nothing_is_counted_and_context_has_no_age():
    assert fresh([group(0, 0)], None, 0) == ([group(0, 0)], {})
    old = group(0, 0, trained=False)
    assert fresh([old], 7, 0) == ([old], {"staleness": 0.0, "dropped_groups": 0.0})
