"""Mistyped names are answered with the nearest, and far-fetched ones are not offered."""

from __future__ import annotations

import pytest

from laconic.experiments.command_line.names import nearest


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("train.epochs", "train.steps"),
        ("train.batch_size", "train.group_size"),
        ("env.speed", "env.seed_word"),
        ("learner.temperature", "learner.minibatches"),
    ],
)
def test_a_far_fetched_name_is_not_offered(typed, known):
    assert nearest(typed, [known]) is None


@pytest.mark.parametrize(
    ("typed", "known"),
    [("num_agents", "agent"), ("env.max_tokens", "env.max_rounds")],
)
def test_a_far_fetched_suggestion_is_worse_than_none(typed, known):
    assert nearest(typed, [known, "seed"]) is None
