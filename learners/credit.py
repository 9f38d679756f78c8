"""What an agent is paid in each round, before anything is compared.

Credit turns the rewards of an episode into the pay of each agent and round; `sequences.py` sums the
pay over what a sequence covers. Pure functions of one episode; they know neither groups nor tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from envs.errors import UnknownNameError
from learners.episode import Episode

Credit = Callable[[Episode], dict[str, tuple[float, ...]]]
"""Episode -> pay of each agent in each round, in reward units."""


def own(episode: Episode) -> dict[str, tuple[float, ...]]:
    """Pay every agent its own rewards.

    Args:
        episode: one play of a task.

    Returns:
        The rewards of the episode, per agent and round.
    """
    return {agent: tuple(rewards) for agent, rewards in episode.rewards.items()}


def team(episode: Episode) -> dict[str, tuple[float, ...]]:
    """Pay every agent the mean over all agents of their rewards, round by round.

    The mean is the team's sum divided by the number of agents. That constant factor drops out of
    advantages that are scaled, and where they are not it keeps the pay of a large team on the scale
    of a single agent's reward.

    Args:
        episode: one play of a task.

    Returns:
        The same pay per round for every agent. An agent whose rewards end early counts as paid 0
        afterwards; an episode without agents gives an empty dict.
    """
    agents = len(episode.rewards)
    rounds = max((len(rewards) for rewards in episode.rewards.values()), default=0)
    paid = tuple(
        sum(rewards[index] for rewards in episode.rewards.values() if index < len(rewards)) / agents
        for index in range(rounds)
    )
    return dict.fromkeys(episode.rewards, paid)


CREDITS: Mapping[str, Credit] = MappingProxyType({"own": own, "team": team})
"""The kinds of credit by the name a config uses."""


def credit(kind: str) -> Credit:
    """Look a kind of credit up by name.

    Args:
        kind: `own` or `team`.

    Returns:
        The function from an episode to the pay of each agent in each round.

    Raises:
        UnknownNameError: there is no such kind.
    """
    if kind not in CREDITS:
        raise UnknownNameError("credit", kind, CREDITS)
    return CREDITS[kind]
