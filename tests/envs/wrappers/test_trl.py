"""A seat as TRL meets it; `tests/judges/test_trl.py` trains one."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.errors import UnknownNameError
from laconic.envs.wrappers.trl import OVER, seat

SETTINGS = {"rounds": 2, "tasks": 4, "reward": {"price": 0.5, "normalizer": 50}}


def make():
    return envs.make("gsm8k", **SETTINGS)


def test_a_seat_reads_speaks_and_earns():
    one = seat(make, "helper_0")()
    task = next(iter(make().tasks))
    assert "You are helper_0" in one.reset(task=task, seed=0, prompt="a column of the data")
    # Five tokens at 0.01 each; nobody else says a word.
    assert one.say("one two three four five") not in ("", OVER)
    assert one.say("") == OVER and one.say("late") == OVER
    assert one.get_reward() == pytest.approx(-0.05)


def test_who_calls_no_more_is_silent_to_the_end():
    one = seat(make, "helper_0")()
    one.reset(seed=0)
    assert one.get_reward() == 0.0 and one.say("late") == OVER


def test_an_episode_begins_anew():
    one = seat(make, "helper_0")()
    first = one.reset(seed=0)
    one.say("one"), one.get_reward()
    assert one.reset(seed=0) == first and one.get_reward() == 0.0


def test_a_seat_that_is_not_there_is_refused_at_once():
    with pytest.raises(UnknownNameError, match="solver_0"):
        seat(make, "solver_9")
