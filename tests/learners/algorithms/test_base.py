"""What a training loop may ask of a learner, and what a user's own has by default."""

from __future__ import annotations

import pytest

from laconic.learners.algorithms.base import Learner, as_learner
from laconic.learners.prices.schedule import Fixed, Ramp
from laconic.learners.rollout.play import collect


class Least:
    """Has `update` and nothing else."""

    def update(self, groups):
        return {"groups": float(len(groups))}


class More(Least):
    """Has all that a learner may have, without inheriting from ours."""

    def __init__(self):
        self.price, self.count = Ramp(delay=3), 0

    def collect(self, *arguments, seed):
        return [arguments, seed]

    def check(self, group_size):
        raise ValueError(f"no groups of {group_size}")

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def test_a_learner_with_update_alone_has_the_defaults():
    found = as_learner(Least())
    assert isinstance(found, Learner) and found.update([1, 2]) == {"groups": 2.0}
    assert found.price == Fixed() and found.collector.play is collect
    assert not found.resumable and found.state_dict() == {} and found.name == "Least"
    found.check(1)
    found.load_state_dict({})


def test_what_a_learner_of_a_users_own_has_is_used():
    mine = More()
    found = as_learner(mine)
    assert found.price == Ramp(delay=3) and found.resumable and found.name == "More"
    assert found.collector("a", seed=1) == [("a",), 1]
    found.load_state_dict({"count": 4})
    assert mine.count == 4 and found.state_dict() == {"count": 4}
    with pytest.raises(ValueError, match="no groups of 5"):
        found.check(5)


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
