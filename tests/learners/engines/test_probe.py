"""The probe tells the weights a server samples with from those it should have."""

from __future__ import annotations

import math

import pytest
import torch

from laconic.learners.engines import probe
from laconic.learners.engines.client import Completion
from laconic.learners.engines.probe import ProbeReference, ProbeReply
from laconic.learners.errors import ServerError

# Log-probabilities of three tokens by version 2, and by weights a server could have instead.
EXPECTED = [-1.0, -2.0, -3.0]
ALTERNATIVES = {"the version before": [-1.1, -2.0, -3.0], "the base": [-2.0, -2.0, -3.0]}


def test_the_distance_is_the_mean_absolute_difference():
    # (|-1 + 1.1| + 0 + |-3 + 3.2|) / 3 = 0.1
    distance = probe.mean_distance([-1.0, -2.0, -3.0], [-1.1, -2.0, -3.2])
    assert distance == pytest.approx(0.1)
    assert probe.mean_distance([-1.0], [-1.0, -2.0]) == math.inf
    assert probe.mean_distance([math.nan], [-1.0]) == math.inf
    assert probe.mean_distance([], []) == math.inf


@pytest.mark.parametrize(
    ("received", "tolerance", "message"),
    [
        # 0.1 / 3 from expected and 0 from the version before, whatever the tolerance is.
        ([-1.1, -2.0, -3.0], 1.0, "samples with the version before"),
        ([-1.99, -2.0, -3.0], 1.0, "samples with the base"),
        ([-1.0, -2.0, -4.0], 0.1, r"0.33 nats per token from the trainer's; at most 0.1"),
        ([-1.0, -2.0], 1.0, "inf nats"),
    ],
)
def test_known_other_weights_are_named_and_unknown_ones_are_too_far(received, tolerance, message):
    with pytest.raises(ServerError, match=f"version 2 was loaded.*{message}"):
        probe.check_distance(received, EXPECTED, ALTERNATIVES, tolerance, "version 2 was loaded")


def test_rounding_passes_even_if_the_update_changed_less_than_it():
    # 1e-5 from expected, 0.8e-5 from the version before: the probe cannot tell them apart.
    received, before = [-1.0 + 1e-5], [-1.0 + 1.8e-5]
    distance = probe.check_distance(
        received, [-1.0], {"the version before": before}, 1e-4, "context"
    )
    assert distance == pytest.approx(1e-5)


@pytest.mark.parametrize(
    ("server", "trainer", "expected"),
    [
        ("float32", "float32", 1e-4),
        (None, "float32", 1e-4),
        ("bfloat16", "bfloat16", 0.05),
        (None, "bfloat16", 0.05),
        ("bfloat16", "float32", 0.05),
        ("float32", "bfloat16", 0.05),
    ],
)
def test_the_default_tolerance_is_that_of_the_coarser_type(server, trainer, expected):
    assert probe.default_tolerance(server, trainer) == expected


def test_the_text_leaves_room_for_a_reply(make_policy):
    policy = make_policy()
    policy.positions = 20
    assert len(probe.probe_text(policy)) == 10


def test_scores_are_those_of_plain_forward_passes_at_the_policys_temperature(make_policy):
    policy = make_policy(temperature=0.7)
    text = probe.probe_text(policy)
    assert 10 < len(text) <= probe.PROMPT_TOKENS
    state = probe.read_prompt(policy, text)

    @torch.no_grad()
    def by_hand(ids):
        logits = policy.model(input_ids=torch.tensor([list(ids)])).logits[0, -1].float() / 0.7
        return torch.log_softmax(logits, -1)

    assert torch.allclose(state.logprobs, by_hand(text), atol=1e-5)
    expected = [by_hand(text)[7], by_hand((*text, 7))[8], by_hand((*text, 7, 8))[9]]
    # Twice, because the first call must not change the state.
    for _ in range(2):
        scores = probe.continue_prompt(policy, state, (7, 8, 9))
        assert scores == pytest.approx([float(score) for score in expected], abs=1e-5)
    assert probe.continue_prompt(policy, state, (7,)) == scores[:1]


def test_a_trained_adapter_is_told_from_the_base_and_from_other_versions(make_team, nudge):
    policies = make_team()
    reference = ProbeReference({"solver_0": policies["solver_0"]}, None)

    def reply(version):
        """Return the reply of a server that samples with some version."""
        row = reference._logprobs[version]["solver_0"].tolist()
        completion = Completion((), (0,), (row[0],), (dict(enumerate(row[:20])),))
        return ProbeReply("solver_0", "http://here", completion)

    def check(reply, version):
        reference.check(reply, version, "float32", "it was loaded")

    reference.update(0)
    fresh = reply(0)
    # A new adapter equals the base.
    check(fresh, 0)
    nudge(policies)
    reference.update(1)
    with pytest.raises(ServerError, match="samples with the (version before|base)"):
        check(fresh, 1)
    nudge(policies, seed=1)
    reference.update(2)
    # A restored server is checked for every live version, each against its own reference.
    check(reply(1), 1)
    with pytest.raises(ServerError, match="samples with version 2"):
        check(reply(2), 1)
    reference.keep([2])
    assert list(reference._logprobs) == [2]
