"""Pay and charges under each credit, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.advantages.credit import (
    CREDITS,
    Credits,
    counterfactual,
    credit,
    outcome,
    own,
    pass_rate,
    team,
    team_parts,
)
from laconic.learners.episode import Episode, Parts, Turn

# A dialogue: both agents are paid 1 at the end; a says 2 + 0 tokens and b 1 + 4, at 0.1 each.
DIALOGUE = Episode(
    task="t",
    turns=(),
    rewards={"a": (-0.2, 1.0), "b": (-0.1, 0.6)},
    task_rewards={"a": (0.0, 1.0), "b": (0.0, 1.0)},
    bills={"a": (0.2, 0.0), "b": (0.1, 0.4)},
    solved=True,
    common=True,
)
# A game of the same words in which a gains 3 and b 5.
GAME = replace(DIALOGUE, task_rewards={"a": (1.0, 2.0), "b": (0.0, 5.0)}, common=False)


def close(credits: Credits, task: dict, cost: dict) -> None:
    for item, expected in ((credits.task, task), (credits.cost, cost)):
        assert item.keys() == expected.keys()
        for agent, rounds in expected.items():
            assert item[agent] == pytest.approx(rounds)


def test_own_credit_is_the_agents_own_reward_and_bill() -> None:
    close(own(DIALOGUE), dict(DIALOGUE.task_rewards), dict(DIALOGUE.bills))
    close(own(GAME), dict(GAME.task_rewards), dict(GAME.bills))


def test_own_credit_charges_every_agent_all_bills_where_the_team_pays() -> None:
    # Round 0: 0.2 + 0.1; round 1: 0 + 0.4.
    all_bills = {"a": (0.3, 0.4), "b": (0.3, 0.4)}
    close(own(replace(DIALOGUE, charge="team")), dict(DIALOGUE.task_rewards), all_bills)


def test_team_credit_counts_a_common_reward_once_and_gains_of_their_own_all() -> None:
    all_bills = {"a": (0.3, 0.4), "b": (0.3, 0.4)}
    close(team(DIALOGUE), {"a": (0.0, 1.0), "b": (0.0, 1.0)}, all_bills)
    # 1 + 0 and 2 + 5.
    close(team(GAME), {"a": (1.0, 7.0), "b": (1.0, 7.0)}, all_bills)


def test_own_credit_under_a_team_charge_and_team_credit_pay_alike() -> None:
    for charge in ("own", "team"):
        shared = team(replace(DIALOGUE, charge=charge))
        paid = own(replace(DIALOGUE, charge="team"))
        close(shared, dict(paid.task), dict(paid.cost))


def test_the_outcome_is_all_in_the_last_round_so_that_every_round_earns_it() -> None:
    close(outcome(DIALOGUE), dict.fromkeys("ab", (0.0, 1.0)), dict.fromkeys("ab", (0.0, 0.7)))
    empty = replace(DIALOGUE, rewards={"a": ()}, task_rewards={}, bills={})
    assert outcome(empty) == Credits({"a": ()}, {"a": ()})


def test_only_solved_episodes_are_billed_where_the_environment_says_so() -> None:
    late = replace(DIALOGUE, when="solved", rewards={"a": (0.0, 0.8), "b": (0.0, 0.5)})
    # Solved: in the round of the word, though the reward had it taken off at the end.
    close(own(late), dict(DIALOGUE.task_rewards), dict(DIALOGUE.bills))
    failed = replace(late, solved=False)
    nothing = dict.fromkeys("ab", (0.0, 0.0))
    for kind in (own, team, outcome):
        assert kind(failed).cost == nothing


def test_an_environment_without_bills_is_unpriced() -> None:
    plain = Episode(task="t", turns=(), rewards={"a": (-0.2, 1.0), "b": (-0.1, 0.6)})
    assert own(plain) == Credits(plain.rewards, dict.fromkeys("ab", (0.0, 0.0)))
    close(team(plain), dict.fromkeys("ab", (-0.3, 1.6)), dict.fromkeys("ab", (0.0, 0.0)))


def test_an_agent_that_left_early_counts_as_paid_and_charged_nothing() -> None:
    left = replace(
        DIALOGUE,
        rewards={"a": (-0.2,), "b": (-0.1, 0.6)},
        task_rewards={"a": (0.0,), "b": (0.0, 1.0)},
        bills={"a": (0.2,), "b": (0.1, 0.4)},
    )
    close(team(left), dict.fromkeys("ab", (0.0, 1.0)), dict.fromkeys("ab", (0.3, 0.4)))
    close(
        own(replace(left, charge="team")),
        dict(left.task_rewards),
        {"a": (0.3,), "b": (0.3, 0.4)},
    )


def test_a_lone_agent_is_its_own_team() -> None:
    lone = Episode(
        "t", (), {"s": (0.8,)}, task_rewards={"s": (1.0,)}, bills={"s": (0.2,)}, common=True
    )
    assert team(lone) == own(lone) == outcome(lone)
    assert team_parts(lone) == Parts(1.0, 0.2)


@pytest.mark.parametrize("kind", list(CREDITS))
def test_an_episode_without_agents_pays_no_one(kind: str) -> None:
    empty = Episode("t", (), {})
    assert credit(kind)(empty) == Credits({}, {})
    assert team_parts(empty) == (0.0, 0.0)


def test_an_unknown_credit_names_the_nearest_kind() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'team'"):
        credit("teams")


def test_a_message_is_credited_with_what_was_measured_of_it_and_nothing_elsewhere() -> None:
    turns = (
        Turn("a", 0, "hm", credit=Parts(0.5, 0.1)),
        Turn("b", 1, "", credit=Parts(0.0, 0.0)),
        Turn("a", 2, "7", credit=Parts(2.0, 0.3)),
    )
    played = Episode(task="t", turns=turns, rewards={"a": (9.0, 9.0, 9.0), "b": (9.0, 9.0)})
    assert counterfactual(played) == Credits(
        {"a": (0.5, 0.0, 2.0), "b": (0.0, 0.0)}, {"a": (0.1, 0.0, 0.3), "b": (0.0, 0.0)}
    )


def test_credit_that_was_not_measured_names_the_message() -> None:
    played = Episode(task="t", turns=(Turn("a", 0, "hm"),), rewards={"a": (1.0,)})
    with pytest.raises(SettingError, match="'a' in round 0 of task 't' was not measured"):
        counterfactual(played)


# Pass rate


def test_the_pass_rate_is_the_share_of_solved_episodes() -> None:
    group = [paid(solved, 0.0, solved) for solved in (True, False, False, False)]
    assert pass_rate(group) == 0.25


def test_a_graded_task_passes_by_its_share_of_the_most_reward() -> None:
    # 1 of 4 and 3 of 4: the mean is 0.5, whatever counts as solved.
    graded = [
        replace(
            DIALOGUE,
            max_reward=4.0,
            graded=True,
            task_rewards={"a": (0.0, paid), "b": (0.0, paid)},
        )
        for paid in (1.0, 3.0)
    ]
    assert pass_rate(graded) == 0.5
    below = replace(graded[0], task_rewards={"a": (-2.0,), "b": (-2.0,)})
    assert pass_rate([below, graded[0]]) == 0.125


@pytest.mark.parametrize(
    ("solved", "chance", "rate"),
    # Of four: three above a quarter, two at a half, one below it; and without luck.
    [(3, 0.25, 2 / 3), (2, 0.5, 0.0), (1, 0.5, 0.0), (4, 0.5, 1.0), (3, 0.0, 0.75)],
)
def test_what_luck_solves_is_taken_off(solved: int, chance: float, rate: float) -> None:
    group = [paid(place < solved, place < solved, chance=chance) for place in range(4)]
    assert pass_rate(group) == pytest.approx(rate)


def paid(solved: bool, *rounds: float, **settings: Any) -> Episode:
    """Return an episode that paid both agents these task rewards."""
    rewards = {"a": rounds, "b": rounds}
    played = replace(DIALOGUE, rewards=rewards, task_rewards=rewards, bills={}, solved=solved)
    return replace(played, **{"max_reward": 1.0, **settings})


def test_a_failure_earns_a_part_only_of_a_declared_reward() -> None:
    # A user's environment pays 10 for a try, 2.5 of which are a quarter if it says so.
    for pay, most, rate in ((10, None, 0.0), (10, 10.0, 1.0), (2.5, 10.0, 0.25), (2.5, None, 0.0)):
        assert pass_rate([paid(False, pay, max_reward=most)]) == rate
    assert pass_rate([paid(True, 10, max_reward=None), paid(False, 10, max_reward=None)]) == 0.5
    assert pass_rate([paid(True, 10, max_reward=None, graded=True)]) == 1.0


def test_a_late_answer_passes_like_an_early_one() -> None:
    # Every round pays the answers so far: right in the first of four rounds, or in the last.
    rounds = [paid(True, 1, 1, 1, 1, max_reward=4.0), paid(True, 0, 0, 0, 1, max_reward=4.0)]
    assert [pass_rate([each]) for each in rounds] == [1.0, 1.0]


def test_a_measure_that_pays_is_what_passes() -> None:
    # `measure=stated` pays the form of an answer: a wrong one that is paid is charged like a right.
    assert pass_rate([paid(False, 0, 1, graded=True), paid(True, 0, 1, graded=True)]) == 1.0


def test_partial_work_is_charged_for_its_part() -> None:
    # Two of three boxes on their targets; and a score of an environment that reports no more.
    assert pass_rate([paid(False, 1 / 3, 1 / 3, graded=True)]) == pytest.approx(2 / 3)
    assert pass_rate([paid(False, 0.7), paid(False, 0.0)]) == pytest.approx(0.35)
    # An environment whose scale is unknown: solved is solved, and a loss is no success.
    assert pass_rate([paid(True, -1.0), paid(False, -3.0)]) == 0.5


def test_the_pass_rate_is_a_mean_of_successes() -> None:
    generator = np.random.default_rng(0)
    for _ in range(300):
        most = float(generator.choice([1.0, 3.0, 4.0]))
        episodes = []
        for _ in range(generator.integers(1, 9)):
            rounds = generator.choice([0.0, 0.25, 0.5, 1.0], size=generator.integers(1, 5)) * most
            graded, solved = bool(generator.integers(2)), bool(generator.integers(2))
            episodes.append(paid(solved, *map(float, rounds), max_reward=most, graded=graded))
        expected = []
        for each in episodes:
            share = min(sum(each.task_rewards["a"]) / most, 1.0)
            expected.append(share if each.graded else max(share, float(each.solved or False)))
        rate = pass_rate(episodes)
        assert rate == pytest.approx(sum(expected) / len(expected)) and 0 <= rate <= 1
        # The order of agents and episodes does not matter, and more pay never passes less.
        assert pass_rate(episodes[::-1]) == pytest.approx(rate)
        better = replace(episodes[0], task_rewards={"a": (most,), "b": (most,)})
        assert pass_rate([better, *episodes[1:]]) >= rate - 1e-12


def test_without_a_verdict_or_with_gains_of_their_own_all_of_the_price_is_charged() -> None:
    assert pass_rate([replace(DIALOGUE, solved=None)]) == 1.0
    assert pass_rate([replace(GAME, solved=False)]) == 1.0
    assert pass_rate([]) == 1.0


def test_an_unknown_verdict_passes_whatever_was_paid() -> None:
    # Nothing says that the task was failed, so all of the price is charged.
    assert pass_rate([replace(paid(False, 0.0), solved=None)]) == 1.0
