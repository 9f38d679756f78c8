"""Settings by name: a name is a role or an agent, and the agent's own comes first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from laconic.envs.dialogue.roster import role_of
from laconic.envs.errors import UnknownNameError

Value = TypeVar("Value")


def by_agent(kind: str, named: Mapping[str, Value], agents: Sequence[str]) -> dict[str, Value]:
    """What a mapping of roles and agents holds for each agent.

    Args:
        kind: what the names are of, for the message.
        named: by role (`helper`) or agent (`helper_1`); an agent's own entry replaces its role's.
        agents: the agents of an environment, `<role>_<number>`.

    Returns:
        Agent -> value; agents that neither they nor their role are named of are left out.

    Raises:
        UnknownNameError: a name is neither a role nor an agent of the environment.
    """
    known = {*agents, *map(role_of, agents)}
    for name in named:
        if name not in known:
            raise UnknownNameError(kind, name, known)
    return {
        agent: named[agent] if agent in named else named[role_of(agent)]
        for agent in agents
        if agent in named or role_of(agent) in named
    }
