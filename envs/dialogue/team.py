"""Who takes part. Agents are called `<role>_<number>`, numbered from 0 in each role."""

from __future__ import annotations

from collections.abc import Mapping

from laconic.envs.errors import SettingError


def role_of(agent: str) -> str:
    """The role in an agent's name `<role>_<number>`."""
    return agent.rsplit("_", 1)[0]


def agent_names(team: Mapping[str, int]) -> list[str]:
    """The agents of a team, role by role.

    Args:
        team: number of agents of each role.

    Raises:
        SettingError: the team is empty, a role is no plain word, or a number is not at least 1.
    """
    if not isinstance(team, Mapping) or not team:
        raise SettingError(
            f"env.team must give each role a number of agents, as in {{'solver': 1}}; got {team!r}"
        )
    for role, count in team.items():
        if not isinstance(role, str) or not role.isidentifier():
            raise SettingError(
                f"a role in env.team must be letters, digits and '_', a letter first; got {role!r}"
            )
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise SettingError(
                f"env.team gives each role a number of agents, at least 1; got {role!r}: {count!r}"
            )
    return [f"{role}_{number}" for role, count in team.items() for number in range(count)]
