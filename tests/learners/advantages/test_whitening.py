"""Advantages on the scale of an update, worked by hand."""

from __future__ import annotations

import pytest

from laconic.learners.advantages.whitening import whitened


def test_long_sequences_weigh_more_in_mean_and_variance() -> None:
    # Tokens have advantages 4, 4, 4 and 0: mean 3, squares 1 + 1 + 1 + 9 = 12 over 3 = 4, std 2.
    assert whitened([4.0, 0.0], [3, 1]) == pytest.approx([0.5, -1.5], rel=1e-8)


def test_equal_advantages_become_zero() -> None:
    assert whitened([0.3, 0.3], [2, 5]) == [0.0, 0.0]


@pytest.mark.parametrize("tokens", [[], [0], [1], [0, 1]])
def test_fewer_than_two_tokens_have_no_variance(tokens: list[int]) -> None:
    assert whitened([2.0] * len(tokens), tokens) == [0.0] * len(tokens)


def test_a_sequence_without_tokens_has_no_weight() -> None:
    first, _, last = whitened([4.0, 1e6, 0.0], [3, 0, 1])
    assert (first, last) == pytest.approx((0.5, -1.5), rel=1e-8)
