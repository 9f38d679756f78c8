"""Credit assignment: which reward each agent is credited with in each round of an episode.

`sequences.py` sums the credit over what a sequence covers. Pure functions of one episode that give
the credit of each agent, (rounds,) in reward units; they know neither groups nor tokens. `own`,
`team` and `outcome` share out the rewards of the episode. `silence` and `shapley` are
counterfactual: a message is credited with the difference it made, which a collector measures by
replays (`learners.rollout.collectors`); a learner adds that collector by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.episode import Episode

Credit = Callable[[Episode], dict[str, tuple[float, ...]]]
"""Episode -> credit of each agent in each round, in reward units."""


def own(episode: Episode) -> dict[str, tuple[float, ...]]:
    """Credit every agent with its own rewards."""
    return {agent: tuple(rewards) for agent, rewards in episode.rewards.items()}


def team(episode: Episode) -> dict[str, tuple[float, ...]]:
    """Credit every agent with the mean of all agents' rewards, round by round.

    The mean is the team's sum divided by the number of agents. That constant factor drops out of
    advantages that are scaled; where they are not it keeps the credit of a large team on the scale
    of a single agent's reward. An agent whose rewards end early counts with 0 afterwards; an
    episode without agents gives an empty dict.
    """
    agents = len(episode.rewards)
    rounds = max((len(rewards) for rewards in episode.rewards.values()), default=0)
    mean = tuple(
        sum(rewards[index] for rewards in episode.rewards.values() if index < len(rewards)) / agents
        for index in range(rounds)
    )
    return dict.fromkeys(episode.rewards, mean)


def outcome(episode: Episode) -> dict[str, tuple[float, ...]]:
    """Credit every agent with the team's whole return in the last round.

    The return from a reply's round on is then the same for all replies of an episode, whatever was
    charged before or after it (Dr. MAS, arXiv 2602.08847: every call of an agent carries the
    reward of the whole trajectory). Empty without rounds.
    """
    credits = team(episode)
    return {
        agent: (*([0.0] * (len(each) - 1)), sum(each)) if each else ()
        for agent, each in credits.items()
    }


def counterfactual(episode: Episode) -> dict[str, tuple[float, ...]]:
    """Credit every message with the difference it made (`Turn.credit`), as a collector measured it.

    It is 0 for silence and where an agent had no turn. What came of a message later is in it
    already: see `WHOLE`.

    Raises:
        SettingError: a turn was not measured.
    """
    credits = {agent: [0.0] * len(rewards) for agent, rewards in episode.rewards.items()}
    for turn in episode.turns:
        if turn.credit is None:
            raise SettingError(
                f"credit 'silence' and 'shapley' need every message measured, and that of"
                f" {turn.agent!r} in round {turn.round} of task {episode.task!r} was not measured;"
                " let the learner's own `collect` play the episodes, or choose credit 'own'"
            )
        if turn.agent in credits:
            credits[turn.agent][turn.round] = turn.credit
    return {agent: tuple(each) for agent, each in credits.items()}


CREDITS: Mapping[str, Credit] = MappingProxyType(
    {
        "own": own,
        "team": team,
        "outcome": outcome,
        "silence": counterfactual,
        "shapley": counterfactual,
    }
)
"""The kinds of credit by the name a config uses."""
WHOLE: tuple[Credit, ...] = (counterfactual,)
"""Kinds whose credit of a round holds what came of it later: a single reply is credited with its
round alone and not with the rounds after it too."""


def credit(kind: str) -> Credit:
    """Look a kind of credit up by its name in `CREDITS`.

    Raises:
        UnknownNameError: there is no such kind.
    """
    if kind not in CREDITS:
        raise UnknownNameError("credit", kind, CREDITS)
    return CREDITS[kind]
