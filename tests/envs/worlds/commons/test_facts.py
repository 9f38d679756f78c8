"""What an agent of a commons knows, in numbers."""

from __future__ import annotations

from laconic.envs.worlds.commons.facts import FACTS, of_stock
from laconic.envs.worlds.commons.state import Month, State

MONTH = Month(100, {"a_0": 12, "a_1": 9}, {"a_0": 12, "a_1": 9}, 10)


def test_the_last_harvest_is_known_as_far_as_it_is_public():
    state = State(("a_0", "a_1"), 79, (MONTH,), talk=0)
    known = of_stock(state, "a_0", public=True, inverse=False)
    assert known == {
        "month": 0,
        "stock": 79,
        "last_wanted": 12,
        "last_caught": 12,
        "last_total": 21,
        "last_overuse": 1,
        "last_fair": 10,
    }
    own = of_stock(state, "a_1", public=False, inverse=False)
    assert (own["last_wanted"], own["last_total"], own["last_overuse"]) == (9, 0, 0)
    assert set(known) <= set(FACTS)


def test_before_the_first_harvest_nothing_is_known_of_a_last_one():
    first = of_stock(State(("a_0",), 100), "a_0", public=True, inverse=False)
    assert {name for name, value in first.items() if value} == {"stock"}
