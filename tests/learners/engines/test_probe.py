"""The probe tells the weights that speak from those that should."""

from __future__ import annotations

import math

import pytest
import torch

from laconic.learners.engines import probe
from laconic.learners.errors import ServerError

# What version 2 gives a text of three tokens, and what version 1, the base, and a mate would.
WANTED = [-1.0, -2.0, -3.0]
OTHERS = {"the version before": [-1.1, -2.0, -3.0], "the base": [-2.0, -2.0, -3.0]}


def test_the_distance_is_the_mean_absolute_difference():
    # (|-1 + 1.1| + 0 + |-3 + 3.2|) / 3 = 0.1
    assert probe.distance([-1.0, -2.0, -3.0], [-1.1, -2.0, -3.2]) == pytest.approx(0.1)
    assert probe.distance([-1.0], [-1.0, -2.0]) == math.inf
    assert probe.distance([math.nan], [-1.0]) == math.inf
    assert probe.distance([], []) == math.inf


@pytest.mark.parametrize(
    ("given", "limit", "word"),
    [
        # 0.1 / 3 from what was wanted and 0 from the version before, however wide the limit is.
        ([-1.1, -2.0, -3.0], 1.0, "speaks with the version before"),
        ([-1.99, -2.0, -3.0], 1.0, "speaks with the base"),
        ([-1.0, -2.0, -4.0], 0.1, r"0.33 nats a token from the trainer's, and at most 0.1"),
        ([-1.0, -2.0], 1.0, "inf nats"),
    ],
)
def test_other_weights_are_named_and_unknown_ones_are_far(given, limit, word):
    with pytest.raises(ServerError, match=f"version 2 was loaded.*{word}"):
        probe.judge(given, WANTED, OTHERS, limit, "version 2 was loaded")


def test_rounding_passes_also_where_an_update_changed_less_than_it():
    # 1e-5 from what was wanted, 0.8e-5 from the version before: nothing tells them apart.
    given, before = [-1.0 + 1e-5], [-1.0 + 1.8e-5]
    found = probe.judge(given, [-1.0], {"the version before": before}, 1e-4, "it")
    assert found == pytest.approx(1e-5)


@pytest.mark.parametrize(
    ("server", "trainer", "expected"),
    [
        ("float32", "float32", 1e-4),
        (None, "float32", 1e-4),
        ("bfloat16", "bfloat16", 0.05),
        ("bfloat16", "float32", 0.05),
    ],
)
def test_the_tolerance_is_that_of_the_coarser_type(server, trainer, expected):
    assert probe.tolerance(server, trainer) == expected


def test_the_text_leaves_room_to_go_on_with_it(make_policy):
    policy = make_policy()
    policy.positions = 20
    assert len(probe.text_of(policy)) == 10


def test_a_reading_is_that_of_forward_passes_at_the_policys_temperature(make_policy):
    policy = make_policy(temperature=0.7)
    text = probe.text_of(policy)
    assert 10 < len(text) <= probe.TOKENS
    reading = probe.read(policy, text)

    @torch.no_grad()
    def by_hand(ids):
        logits = policy.model(input_ids=torch.tensor([list(ids)])).logits[0, -1].float() / 0.7
        return torch.log_softmax(logits, -1)

    assert torch.allclose(reading.row, by_hand(text), atol=1e-5)
    expected = [by_hand(text)[7], by_hand((*text, 7))[8], by_hand((*text, 7, 8))[9]]
    for _ in range(2):
        found = probe.go_on(policy, reading, (7, 8, 9))
        assert found == pytest.approx([float(one) for one in expected], abs=1e-5)
    assert probe.go_on(policy, reading, (7,)) == found[:1]
