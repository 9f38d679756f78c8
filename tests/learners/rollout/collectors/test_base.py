"""What is asked of a collector, and what one that a user brings has by default."""

from __future__ import annotations

from laconic.learners.rollout.collectors.base import Collector, Extra, Independent, as_collector
from laconic.learners.rollout.play import collect


def test_a_collector_that_is_complete_stays_as_it_is():
    mine = Extra(2)
    assert as_collector(mine) is mine and mine.members(8) == 10


def test_a_function_has_the_defaults():
    found = as_collector(lambda *arguments, seed: [arguments, seed])
    assert isinstance(found, Collector) and found("a", "b", seed=1) == [("a", "b"), 1]
    assert found.members(8) == 8 and found.state_dict() == {} and found.metrics == {}
    assert found.credit is None and found.unit is None and found.kind == "function"
    found.load_state_dict({"anything": 1})
    assert Independent().play is collect


def test_what_an_object_of_a_users_own_has_is_used():
    class Twice:
        """Counts its calls, and asks for replies as sequences."""

        unit = "reply"

        def __init__(self):
            self.metrics = {}

        def __call__(self, *arguments, seed):
            self.metrics = {"calls": self.metrics.get("calls", 0.0) + 1.0}
            return []

        def state_dict(self):
            return dict(self.metrics)

        def load_state_dict(self, state):
            self.metrics = dict(state)

    found = as_collector(Twice())
    assert found.unit == "reply" and found.credit is None and found.members(3) == 3
    found(seed=0)
    found(seed=0)
    assert found.metrics == found.state_dict() == {"calls": 2.0} and found.kind == "Twice"
    found.load_state_dict({"calls": 7.0})
    assert found.metrics == {"calls": 7.0}
