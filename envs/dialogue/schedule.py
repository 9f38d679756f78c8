"""Whose turn it is in each round.

`all` lets everybody speak in every round. A list names who speaks in the first round, the second
and so on, and starts again when it ends; each entry is a role or a list of roles.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from laconic.envs.dialogue.team import role_of
from laconic.envs.errors import SettingError, UnknownNameError

Schedule = str | Sequence[str | Sequence[str]]


def speakers(schedule: Schedule, agents: Collection[str]) -> tuple[frozenset[str], ...]:
    """The agents that speak in each round of the cycle.

    Args:
        schedule: `all`, or one entry per round of the cycle.
        agents: the agents of the team.

    Raises:
        UnknownNameError: an entry names a role the team does not have.
        SettingError: the list is empty or has an entry that names no role.
    """
    if schedule == "all":
        return (frozenset(agents),)
    if isinstance(schedule, str):
        raise UnknownNameError("schedule", schedule, ["all", "a list of roles"])
    entries = schedule if isinstance(schedule, Sequence) else ()
    cycle = [[entry] if isinstance(entry, str) else entry for entry in entries]
    if not cycle or not all(isinstance(turn, Collection) and turn for turn in cycle):
        raise SettingError(
            f"env.schedule must be 'all' or a list with at least one role for each round;"
            f" got {schedule!r}"
        )
    roles = {role_of(agent) for agent in agents}
    for role in (role for turn in cycle for role in turn):
        if role not in roles:
            raise UnknownNameError("role in env.schedule", role, roles)
    return tuple(frozenset(agent for agent in agents if role_of(agent) in turn) for turn in cycle)
