"""Who is paid what, by hand."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.advantages.credit import CREDITS, counterfactual, credit, outcome, own, team
from laconic.learners.episode import Episode, Turn


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


def test_the_outcome_is_all_paid_in_the_last_round_so_that_every_round_earns_it() -> None:
    # Team pay 0.25 and 1.25 by round (see above); from either round on it is 1.5.
    paid = outcome(episode({"a": (-0.5, 0.0), "b": (1.0, 2.5)}))
    assert paid == {"a": (0.0, 1.5), "b": (0.0, 1.5)}


def test_an_outcome_without_rounds_is_nothing() -> None:
    assert outcome(episode({"a": ()})) == {"a": ()}


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


def test_a_message_is_credited_with_what_was_measured_of_it_and_nothing_elsewhere() -> None:
    turns = (
        Turn("a", 0, "hm", credit=0.5),
        Turn("b", 1, "", credit=0.0),
        Turn("a", 2, "7", credit=2.0),
    )
    played = Episode(task="t", turns=turns, rewards={"a": (9.0, 9.0, 9.0), "b": (9.0, 9.0)})
    assert counterfactual(played) == {"a": (0.5, 0.0, 2.0), "b": (0.0, 0.0)}


def test_credit_that_was_not_measured_names_the_message() -> None:
    played = Episode(task="t", turns=(Turn("a", 0, "hm"),), rewards={"a": (1.0,)})
    with pytest.raises(SettingError, match="'a' in round 0 of task 't' was not measured"):
        counterfactual(played)
