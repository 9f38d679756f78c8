"""Advantages on the scale of an update, worked by hand."""

from __future__ import annotations

import pytest

from laconic.learners.advantages.whitening import whitened
from laconic.learners.training.sequences import TokenSequence


def sequence(advantage: float, generated: int) -> TokenSequence:
    """One read token and some generated ones."""
    mask = (False,) + (True,) * generated
    zeros = (0.0,) * len(mask)
    return TokenSequence(
        "t", "a", 0, None, tuple(range(len(mask))), mask, zeros, 0.0, advantage=advantage
    )


def test_long_sequences_weigh_more_in_mean_and_variance() -> None:
    # Tokens are paid 4, 4, 4 and 0: mean 3, squares 1 + 1 + 1 + 9 = 12 over 3 = 4, std 2.
    got = whitened([sequence(4.0, 3), sequence(0.0, 1)])
    assert [one.advantage for one in got] == pytest.approx([0.5, -1.5], rel=1e-8)


def test_equal_advantages_become_zero() -> None:
    assert [one.advantage for one in whitened([sequence(0.3, 2), sequence(0.3, 5)])] == [0.0, 0.0]


@pytest.mark.parametrize("counts", [[], [0], [1], [0, 1]])
def test_fewer_than_two_tokens_have_no_variance(counts: list[int]) -> None:
    got = whitened([sequence(2.0, count) for count in counts])
    assert [one.advantage for one in got] == [0.0] * len(counts)


def test_a_sequence_without_tokens_has_no_say() -> None:
    got = whitened([sequence(4.0, 3), sequence(1e6, 0), sequence(0.0, 1)])
    assert got[0].advantage == pytest.approx(0.5, rel=1e-8)
    assert got[2].advantage == pytest.approx(-1.5, rel=1e-8)


def test_nothing_but_the_advantage_changes() -> None:
    before = [sequence(4.0, 3), sequence(0.0, 1)]
    assert [one.generated for one in whitened(before)] == [one.generated for one in before]
    assert [one.advantage for one in before] == [4.0, 0.0]
