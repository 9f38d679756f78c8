"""What an agent is paid in each round, before anything is compared.

Credit turns the rewards of an episode into the pay of each agent and round; `sequences.py` sums the
pay over what a sequence covers. Pure functions of one episode; they know neither groups nor tokens.

`own`, `team` and `outcome` pay what came of an episode. `silence` and `shapley` pay a message for
the difference it made; a collector measures that by replays and notes it in the turns
(`learners.rollout.collectors`), which a learner sees to by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.episode import Episode

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


def outcome(episode: Episode) -> dict[str, tuple[float, ...]]:
    """Pay every agent the team's whole return in the last round.

    What a reply is paid from its round on is then the same for all replies of an episode, whatever
    was charged before or after it (Dr. MAS, arXiv 2602.08847: every call of an agent carries the
    reward of the whole trajectory).

    Args:
        episode: one play of a task.

    Returns:
        Zeros and at the end the sum of what `team` pays; an episode without rounds pays nothing.
    """
    paid = team(episode)
    return {
        agent: (*([0.0] * (len(pay) - 1)), sum(pay)) if pay else () for agent, pay in paid.items()
    }


def worth(episode: Episode) -> dict[str, tuple[float, ...]]:
    """Pay every message the difference it made, as a collector measured it.

    Args:
        episode: one play of a task whose turns know their worth.

    Returns:
        The worth of each agent's message per round; 0 for silence and where an agent had no turn.
        What came of a message later is in its worth already: see `WHOLE`.

    Raises:
        SettingError: a turn was not measured.
    """
    paid = {agent: [0.0] * len(rewards) for agent, rewards in episode.rewards.items()}
    for turn in episode.turns:
        if turn.worth is None:
            raise SettingError(
                f"credit 'silence' and 'shapley' need the worth of every message, and that of"
                f" {turn.agent!r} in round {turn.round} of task {episode.task!r} was not measured;"
                " let the learner's own `collect` play the episodes, or choose credit 'own'"
            )
        if turn.agent in paid:
            paid[turn.agent][turn.round] = turn.worth
    return {agent: tuple(pay) for agent, pay in paid.items()}


CREDITS: Mapping[str, Credit] = MappingProxyType(
    {"own": own, "team": team, "outcome": outcome, "silence": worth, "shapley": worth}
)
"""The kinds of credit by the name a config uses."""
WHOLE: tuple[Credit, ...] = (worth,)
"""Kinds whose pay of a round holds what came of it later, so a single reply is paid its round alone
and not the rounds after it too."""


def credit(kind: str) -> Credit:
    """Look a kind of credit up by name.

    Args:
        kind: `own`, `team`, `outcome`, `silence` or `shapley`.

    Returns:
        The function from an episode to the pay of each agent in each round.

    Raises:
        UnknownNameError: there is no such kind.
    """
    if kind not in CREDITS:
        raise UnknownNameError("credit", kind, CREDITS)
    return CREDITS[kind]
