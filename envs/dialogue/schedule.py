"""Whose turn it is in each round.

`all` lets everybody speak in every round. A list names who speaks in the first round, the second
and so on, and starts again when it ends; each entry is a role or a list of roles.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from laconic.envs.checks import check_names
from laconic.envs.errors import SettingError, UnknownNameError

Schedule = str | Sequence[str | Sequence[str]]


def speakers(
    schedule: Schedule, agents: Mapping[str, Collection[str]]
) -> tuple[frozenset[str], ...]:
    """The agents that speak in each round of the cycle, given those of each role.

    Raises:
        UnknownNameError: an entry names a role the team does not have.
        SettingError: the list is empty or has an entry that names no role.
    """
    if schedule == "all":
        return (frozenset(chain(*agents.values())),)
    if isinstance(schedule, str):
        raise UnknownNameError("env.schedule", schedule, ["all", "a list of roles"])
    entries = schedule if isinstance(schedule, Sequence) else ()
    cycle = [[entry] if isinstance(entry, str) else entry for entry in entries]
    if not cycle or not all(isinstance(turn, Collection) and turn for turn in cycle):
        raise SettingError(
            f"env.schedule must be 'all' or a list with at least one role for each round;"
            f" got {schedule!r}"
        )
    check_names("role in env.schedule", chain(*cycle), agents)
    return tuple(frozenset(chain(*(agents[role] for role in turn))) for turn in cycle)
