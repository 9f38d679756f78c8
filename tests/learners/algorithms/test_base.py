"""Interface of a learner, and defaults of a user's own learner."""

from __future__ import annotations

import pytest

from laconic.learners.algorithms.base import Learner, as_learner
from laconic.learners.prices.schedule import Fixed, PassRate
from laconic.learners.rollout.play import collect


class Least:
    """Has `update` and nothing else."""

    def update(self, groups):
        return {"groups": float(len(groups))}


class More(Least):
    """Has all that a learner may have, without inheriting from ours."""

    def __init__(self):
        self.price, self.count = PassRate(power=3), 0

    def collect(self, *arguments, seed):
        return [arguments, seed]

    def check(self, group_size):
        raise ValueError(f"no groups of {group_size}")

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def test_a_learner_with_update_alone_has_the_defaults():
    result = as_learner(Least())
    assert isinstance(result, Learner) and result.update([1, 2]) == {"groups": 2.0}
    assert result.price == Fixed() and result.collector.play is collect
    assert not result.resumable and result.state_dict() == {} and result.name == "Least"
    result.check(1)
    result.load_state_dict({})


def test_what_a_learner_of_a_users_own_has_is_used():
    mine = More()
    result = as_learner(mine)
    assert result.price == PassRate(power=3) and result.resumable and result.name == "More"
    assert result.collector("a", seed=1) == [("a",), 1]
    result.load_state_dict({"count": 4})
    assert mine.count == 4 and result.state_dict() == {"count": 4}
    with pytest.raises(ValueError, match="no groups of 5"):
        result.check(5)


def test_half_a_state_is_none():
    class Half(Least):
        def state_dict(self):
            return {"a": 1}

    assert not as_learner(Half()).resumable


def test_who_inherits_is_returned_as_it_is():
    class Mine(Learner):
        def update(self, groups):
            return {}

    mine = Mine()
    assert as_learner(mine) is mine and mine.price == Fixed() and mine.name == "Mine"
