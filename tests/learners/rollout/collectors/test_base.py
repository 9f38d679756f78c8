"""Interface of a collector, and defaults of a user's own collector."""

from __future__ import annotations

from laconic.learners.rollout.collectors.base import Collector, Extra, Independent, as_collector
from laconic.learners.rollout.play import collect


def test_a_collector_that_is_complete_stays_as_it_is():
    mine = Extra(2)
    assert as_collector(mine) is mine and mine.members(8) == 10


def test_a_function_has_the_defaults():
    result = as_collector(lambda *arguments, seed: [arguments, seed])
    assert isinstance(result, Collector) and result("a", "b", seed=1) == [("a", "b"), 1]
    assert result.members(8) == 8 and result.state_dict() == {} and result.metrics == {}
    assert result.credit is None and result.unit is None and result.kind == "function"
    result.load_state_dict({"anything": 1})
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

    result = as_collector(Twice())
    assert result.unit == "reply" and result.credit is None and result.members(3) == 3
    result(seed=0)
    result(seed=0)
    assert result.metrics == result.state_dict() == {"calls": 2.0} and result.kind == "Twice"
    result.load_state_dict({"calls": 7.0})
    assert result.metrics == {"calls": 7.0}
