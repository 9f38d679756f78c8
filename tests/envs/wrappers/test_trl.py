"""An agent as an environment of TRL; `tests/judges/test_trl.py` trains it."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.errors import UnknownNameError
from laconic.envs.wrappers.trl import OVER, seat

SETTINGS = {"rounds": 2, "tasks": 4, "reward": {"price": 0.5, "normalizer": 50}}


def make():
    return envs.make("gsm8k", free=True, **SETTINGS)


def test_a_seat_reads_speaks_and_earns():
    player = seat(make, "helper_0")()
    task = next(iter(make().tasks))
    assert "You are helper_0" in player.reset(task=task, seed=0, prompt="a column of the data")
    # Five tokens at 0.01 each; the other agents are silent.
    assert player.say("one two three four five") not in ("", OVER)
    assert player.say("") == OVER and player.say("late") == OVER
    assert player.get_reward() == pytest.approx(-0.05)


def test_who_calls_no_more_is_silent_to_the_end():
    player = seat(make, "helper_0")()
    player.reset(seed=0)
    assert player.get_reward() == 0.0 and player.say("late") == OVER


def test_an_episode_begins_anew():
    player = seat(make, "helper_0")()
    first = player.reset(seed=0)
    player.say("one"), player.get_reward()
    assert player.reset(seed=0) == first and player.get_reward() == 0.0


def test_a_seat_that_is_not_there_is_refused_at_once():
    with pytest.raises(UnknownNameError, match="solver_0"):
        seat(make, "solver_9")
