"""Generalised advantages on paper, at both ends of lambda, and against their definition."""

from __future__ import annotations

import random

import pytest
import torch

from laconic.envs.errors import SettingError
from laconic.learners.advantages.gae import gae

NAN = float("nan")


def table(*rows: list[float]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def every(like: torch.Tensor) -> torch.Tensor:
    return torch.ones(like.shape, dtype=torch.bool)


def test_no_trajectories_and_no_decisions_give_nothing():
    for shape in ((0, 3), (2, 0)):
        empty = torch.zeros(shape)
        assert gae(empty, empty, every(empty), 1.0, 0.95).shape == shape


def test_a_single_decision_is_compared_with_what_was_expected_of_it():
    # Nothing comes after it, so 3 - 1 = 2 whatever gamma and lambda are.
    for gamma, gae_lambda in ((1.0, 1.0), (0.5, 0.0)):
        advantages = gae(table([3.0]), table([1.0]), every(table([3.0])), gamma, gae_lambda)
        assert advantages.tolist() == [[2.0]]


def test_two_decisions_by_hand():
    rewards, values = table([1.0, 2.0]), table([0.5, 4.0])
    # delta_1 = 2 - 4 = -2; delta_0 = 1 + 0.5 * 4 - 0.5 = 2.5
    # A_0 = 2.5 + 0.5 * 0.8 * -2 = 1.7
    advantages = gae(rewards, values, every(rewards), 0.5, 0.8)
    torch.testing.assert_close(advantages, table([1.7, -2.0]), rtol=1e-12, atol=0)


def test_lambda_0_looks_one_decision_ahead():
    rewards, values = table([1.0, 0.0, 5.0]), table([2.0, 3.0, 4.0])
    # 1 + 3 - 2 = 2; 0 + 4 - 3 = 1; 5 - 4 = 1
    assert gae(rewards, values, every(rewards), 1.0, 0.0).tolist() == [[2.0, 1.0, 1.0]]


def test_lambda_1_is_the_return_less_the_value_whatever_is_expected_later():
    rewards = table([1.0, 0.0, 5.0], [1.0, 0.0, 5.0])
    values = table([2.0, 3.0, 4.0], [2.0, -7.0, 90.0])
    # Returns 6, 5 and 5.
    advantages = gae(rewards, values, every(rewards), 1.0, 1.0)
    assert advantages.tolist() == [[4.0, 2.0, 1.0], [4.0, 12.0, -85.0]]


def test_what_is_masked_is_passed_over_even_if_it_is_no_number():
    rewards = table([1.0, NAN, 2.0, NAN], [3.0, NAN, NAN, NAN])
    values = table([0.5, NAN, 4.0, NAN], [1.0, NAN, NAN, NAN])
    mask = ~rewards.isnan()
    advantages = gae(rewards, values, mask, 0.5, 0.8)
    # The decisions of the two cases above, with a hole and an end.
    expected = table([1.7, 0.0, -2.0, 0.0], [2.0, 0.0, 0.0, 0.0])
    torch.testing.assert_close(advantages, expected, rtol=1e-12, atol=0)


def test_values_that_are_right_leave_no_advantage():
    # With gamma 1 the returns are 6, 5, 5.
    rewards, values = table([1.0, 0.0, 5.0]), table([6.0, 5.0, 5.0])
    for gae_lambda in (0.0, 0.5, 1.0):
        assert gae(rewards, values, every(rewards), 1.0, gae_lambda).tolist() == [[0.0] * 3]


def mixture(rewards: list[float], values: list[float], gamma: float, gae_lambda: float) -> float:
    """The first advantage by definition: n-step advantages, weighed by (1 - lambda) lambda^(n-1).

    The last of them, which knows the whole return, has all weight that is left.
    """
    count = len(rewards)
    total = 0.0
    for steps in range(1, count + 1):
        result = sum(gamma**k * rewards[k] for k in range(steps)) - values[0]
        result += gamma**steps * values[steps] if steps < count else 0.0
        weight = gae_lambda ** (steps - 1) * (1 - gae_lambda if steps < count else 1)
        total += weight * result
    return total


@pytest.mark.parametrize(("gamma", "gae_lambda"), [(1.0, 0.95), (0.9, 0.3), (1.0, 1.0), (0.7, 0.0)])
def test_it_is_the_weighed_mean_of_all_n_step_advantages(gamma, gae_lambda):
    draw = random.Random(0)
    rewards = [draw.gauss(0, 1) for _ in range(7)]
    values = [draw.gauss(0, 1) for _ in range(7)]
    advantages = gae(table(rewards), table(values), every(table(rewards)), gamma, gae_lambda)
    expected = [mixture(rewards[t:], values[t:], gamma, gae_lambda) for t in range(7)]
    torch.testing.assert_close(advantages, table(expected), rtol=1e-12, atol=1e-12)


def test_nothing_of_it_has_a_gradient():
    values = table([1.0, 2.0]).requires_grad_()
    assert not gae(values, values, every(values), 1.0, 0.9).requires_grad


def test_shapes_that_differ_are_refused():
    with pytest.raises(SettingError, match="one shape"):
        gae(torch.zeros(2, 3), torch.zeros(2, 2), every(torch.zeros(2, 3)), 1.0, 1.0)
    with pytest.raises(SettingError, match="one shape"):
        gae(torch.zeros(3), torch.zeros(3), every(torch.zeros(3)), 1.0, 1.0)
