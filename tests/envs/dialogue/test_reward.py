"""The price of tokens, with the team solver_0, helper_0."""

from __future__ import annotations

import math

import pytest

from laconic.envs.dialogue.reward import Account, Pay, Reward
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Score

SOLVED = Score(1.0, True, "7")
FAILED = Score(0.0, False, "8")
TOKENS = {"solver_0": 2, "helper_0": 4}


def rewards(account, tokens, score):
    """Pay the last round of an episode, or one in which nothing was graded."""
    return {agent: pay.reward for agent, pay in account.pay(tokens, score).items()}


@pytest.mark.parametrize("price", [-0.1, math.nan, math.inf, "1", True, None])
def test_a_price_below_zero_or_no_number_is_refused(price):
    with pytest.raises(
        SettingError, match=r"env\.reward\.price must be a finite number of at least"
    ):
        Reward(price=price)


@pytest.mark.parametrize("normalizer", [0, -1, math.nan, math.inf, "100", False])
def test_a_normalizer_that_cannot_divide_is_refused(normalizer):
    with pytest.raises(
        SettingError, match=r"env\.reward\.normalizer must be a finite number above"
    ):
        Reward(normalizer=normalizer)


def test_a_price_for_a_token_that_overflows_is_refused():
    for dear in ({"price": 1e308}, {"price": 2e6}, {"read_price": 1e308}):
        with pytest.raises(SettingError, match="must be at most 1,000,000; got"):
            Reward(**dear, normalizer=1)
    with pytest.raises(SettingError, match="must be at most 1,000,000; got"):
        Reward(price=1e308, normalizer=1e-3)
    for name in ("thought_weight", "round_price"):
        with pytest.raises(SettingError, match=rf"env\.reward\.{name} must be .* at most 1e\+06"):
            Reward(**{name: 1e308})


def test_unknown_words_are_refused_with_the_known_ones():
    with pytest.raises(
        UnknownNameError, match=r"env\.reward\.charge 'all'.*Known: listeners, own, team"
    ):
        Reward(charge="all")
    with pytest.raises(UnknownNameError, match=r"env\.reward\.when 'never'.*Known: always, solved"):
        Reward(when="never")
    with pytest.raises(UnknownNameError, match=r"env\.reward\.paid 'turn'.*Known: end, round"):
        Reward(paid="turn")
    with pytest.raises(SettingError, match="true or false; got 1"):
        Reward(exempt_answer=1)


def test_own_charges_each_speaker_and_team_charges_everybody_in_full():
    # A token costs 0.5 / 10 = 0.05.
    own = Reward(price=0.5, normalizer=10, charge="own").bills_and_charges(TOKENS)[1]
    assert own == pytest.approx({"solver_0": 0.1, "helper_0": 0.2}, rel=1e-12)
    team = Reward(price=0.5, normalizer=10, charge="team").bills_and_charges(TOKENS)[1]
    assert team == pytest.approx({"solver_0": 0.3, "helper_0": 0.3}, rel=1e-12)


def test_silence_and_a_price_of_zero_give_a_plain_positive_zero():
    for reward in (Reward(price=0.0), Reward(price=0), Reward(price=1.0, when="solved")):
        for tokens in ({"solver_0": 0}, {"solver_0": 5}):
            paid = rewards(Account(reward), tokens, None)["solver_0"]
            assert (paid, math.copysign(1, paid)) == (0.0, 1.0)
    silent = rewards(Account(Reward(price=1.0)), {"solver_0": 0}, None)["solver_0"]
    assert (silent, math.copysign(1, silent)) == (0.0, 1.0)


def test_always_charges_in_the_round_of_the_message_and_adds_the_task_reward_at_the_end():
    account = Account(Reward(price=0.5, normalizer=10))
    assert rewards(account, TOKENS, None) == pytest.approx({"solver_0": -0.1, "helper_0": -0.2})
    last = rewards(account, {"solver_0": 2, "helper_0": 0}, SOLVED)
    assert last == pytest.approx({"solver_0": 0.9, "helper_0": 1.0}, rel=1e-12)


def test_always_charges_failed_episodes_too():
    last = rewards(Account(Reward(price=0.5, normalizer=10)), TOKENS, FAILED)
    assert last == pytest.approx({"solver_0": -0.1, "helper_0": -0.2}, rel=1e-12)


def test_solved_charges_the_whole_episode_at_the_end_of_a_solved_one():
    account = Account(Reward(price=0.5, normalizer=10, when="solved"))
    assert rewards(account, TOKENS, None) == {"solver_0": 0.0, "helper_0": 0.0}
    # solver_0 owes 0.1 + 0.1, helper_0 owes 0.2 + 0.
    last = rewards(account, {"solver_0": 2, "helper_0": 0}, SOLVED)
    assert last == pytest.approx({"solver_0": 0.8, "helper_0": 0.8}, rel=1e-12)


def test_solved_charges_nothing_for_a_failed_episode():
    account = Account(Reward(price=0.5, normalizer=10, when="solved"))
    rewards(account, TOKENS, None)
    assert rewards(account, TOKENS, FAILED) == {"solver_0": 0.0, "helper_0": 0.0}


def test_partial_credit_is_paid_in_part():
    account = Account(Reward(price=0.5, normalizer=10))
    paid = rewards(account, TOKENS, Score(0.25, False, "x"))
    assert paid == pytest.approx({"solver_0": 0.15, "helper_0": 0.05}, rel=1e-12)


def test_a_bill_is_the_same_whoever_is_charged_and_when():
    # A token costs 0.5 / 10: solver_0's 2 cost 0.1, helper_0's 4 cost 0.2.
    for charge in ("own", "team"):
        for when in ("always", "solved"):
            reward = Reward(price=0.5, normalizer=10, charge=charge, when=when)
            for score in (SOLVED, FAILED, None):
                pay = Account(reward).pay(TOKENS, score)
                bills = {agent: value.billed for agent, value in pay.items()}
                assert bills == {"solver_0": 0.05 * 2, "helper_0": 0.05 * 4}


def test_pay_says_what_the_task_paid_and_what_was_taken_off():
    pay = Account(Reward(price=0.5, normalizer=10, charge="team")).pay(TOKENS, SOLVED)
    assert pay["solver_0"] == Pay(task_reward=1.0, billed=0.05 * 2, charged=0.05 * 6)
    assert pay["solver_0"].reward == 1.0 - 0.05 * 6
    assert pay["solver_0"].info == {"task_reward": 1.0, "billed": 0.1, "charged": 0.05 * 6}
    # The charge of both rounds is due at the end of a solved episode.
    account = Account(Reward(price=0.5, normalizer=10, when="solved"))
    assert account.pay(TOKENS, None)["helper_0"] == Pay(0.0, 0.2, 0.0)
    last = account.pay({"solver_0": 0, "helper_0": 2}, SOLVED)
    assert last["helper_0"] == Pay(1.0, 0.1, 0.2 + 0.1)
    assert last["solver_0"] == Pay(1.0, 0.0, 0.1)
