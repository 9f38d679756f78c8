"""Who is paid what, by hand."""

from __future__ import annotations

import pytest

from envs.errors import UnknownNameError
from learners.credit import CREDITS, credit, own, team
from learners.episode import Episode


def episode(rewards: dict[str, tuple[float, ...]]) -> Episode:
    return Episode(task="t", turns=(), rewards=rewards)


def test_own_credit_pays_the_agents_own_rewards() -> None:
    rewards = {"helper_0": (-0.25, 0.0), "solver_0": (0.0, 1.0)}
    assert own(episode(rewards)) == rewards


def test_team_credit_pays_everyone_the_mean_of_each_round() -> None:
    # Round 0: (-0.25 + 0 + 0.25) / 3 = 0; round 1: (0 + 1 + 0.5) / 3 = 0.5.
    paid = team(episode({"a": (-0.25, 0.0), "b": (0.0, 1.0), "c": (0.25, 0.5)}))
    assert paid == {"a": (0.0, 0.5), "b": (0.0, 0.5), "c": (0.0, 0.5)}


def test_team_credit_adds_up_to_the_sum_over_the_number_of_agents() -> None:
    played = episode({"a": (-0.5, 2.0), "b": (1.0, 3.0)})
    assert sum(team(played)["a"]) == sum(played.returns.values()) / 2  # (1.5 + 4) / 2 = 2.75


def test_an_agent_that_left_early_counts_as_paid_nothing() -> None:
    assert team(episode({"a": (1.0,), "b": (1.0, 3.0)})) == {"a": (1.0, 1.5), "b": (1.0, 1.5)}


def test_a_lone_agent_is_its_own_team() -> None:
    played = episode({"solver_0": (0.1, 0.7)})
    assert team(played) == own(played)


@pytest.mark.parametrize("kind", list(CREDITS))
def test_an_episode_without_agents_pays_nobody(kind: str) -> None:
    assert credit(kind)(episode({})) == {}


def test_an_unknown_credit_names_the_nearest_kind() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'team'"):
        credit("teams")
