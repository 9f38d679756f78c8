"""What an agent knows of a commons, in numbers."""

from __future__ import annotations

from collections.abc import Mapping

from laconic.envs.worlds.commons.measures import overuse
from laconic.envs.worlds.commons.state import State

FACTS: Mapping[str, float] = {
    "month": 12.0,
    "months": 12.0,
    "stock": 100.0,
    "agents": 5.0,
    "fair": 20.0,
    "harvest": 1.0,
    "talk": 1.0,
    "present": 1.0,
    "last_wanted": 100.0,
    "last_caught": 100.0,
    "last_total": 100.0,
    "last_overuse": 5.0,
    "last_fair": 20.0,
    "joined": 1.0,
    "inverse": 1.0,
}
"""Names, and the greatest that each usually is."""


def of_stock(state: State, agent: str, *, public: bool, inverse: bool) -> dict[str, float]:
    """The facts about the stock and the last harvest.

    Args:
        state: the moment.
        agent: who knows.
        public: whether what others got is known.
        inverse: whether less than the fair share is the wrong.
    """
    found: dict[str, float] = {"month": state.month, "stock": state.stock}
    found |= dict.fromkeys((name for name in FACTS if name.startswith("last_")), 0.0)
    if not state.months:
        return found
    last = state.months[-1]
    found["last_wanted"] = last.wanted.get(agent, 0)
    found["last_caught"] = last.caught.get(agent, 0)
    found["last_fair"] = last.fair
    if public:
        found["last_total"] = sum(last.caught.values())
        found["last_overuse"] = overuse(last, inverse)
    return found
