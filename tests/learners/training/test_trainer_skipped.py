"""Sequences without a gradient are skipped, and the step is the same as if they were computed."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import pytest
import torch
from updates import played

from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.training import logprobs
from laconic.learners.training.objective import Objective
from laconic.learners.training.sequences import TokenSequence, with_advantages

ADAMW = partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.1)


@pytest.fixture
def updated(make_policy, make_env, monkeypatch):
    """Take two updates on the same episodes with chosen advantages, from the same weights.

    All sequences of the first update have an advantage, so that moments are not 0. Rows are read
    whole, so that they can be counted.
    """
    monkeypatch.setattr(logprobs, "WORTH", 0.0)
    policy = make_policy(max_reply_tokens=6)
    policies = dict.fromkeys(make_env().possible_agents, policy)
    group = played(policies, make_env)
    weights = copy.deepcopy(policy.model.state_dict())

    def update(advantages: Sequence[float], compute_all: bool, **settings):
        policy.model.load_state_dict(weights)
        policy.recompute_logprobs = settings.pop("recompute_logprobs", False)
        learner = GroupLearner(policies, ADAMW, **{"minibatches": 3, **settings})
        (trainer,) = learner._trainers
        sequences = learner.sequences(group)
        count = len(sequences)
        trainer.update(with_advantages(sequences, [(-1.0) ** n for n in range(count)]), 0)
        cycled = [advantages[n % len(advantages)] for n in range(count)]
        rows_read: list[int] = []
        handle = policy.model.register_forward_pre_hook(
            lambda _, arguments, keywords: rows_read.append(len(keywords["input_ids"])),
            with_kwargs=True,
        )
        patched = patch.object(Objective, "has_gradient", lambda *_: True)
        with patched if compute_all else nullcontext():
            metrics = trainer.update(with_advantages(sequences, cycled), 1)
        handle.remove()
        return metrics, copy.deepcopy(policy.model.state_dict()), sum(rows_read), count

    return update


@pytest.mark.parametrize("average", ["sequence", "token", "sum"])
def test_a_step_is_the_same_as_if_all_sequences_were_computed(updated, average):
    objective = Objective(average=average)
    advantages = (0.0, 1.0, 0.0, -0.5, 0.0)
    some, weights, rows, count = updated(advantages, False, objective=objective)
    every, expected, all_rows, _ = updated(advantages, True, objective=objective)
    # Of twelve sequences, 1, 3, 6, 8 and 11 have an advantage.
    assert (count, rows, all_rows) == (12, 5, 12)
    for name, weight in weights.items():
        torch.testing.assert_close(weight, expected[name], rtol=1e-6, atol=1e-7)
    for row, other in zip(some, every, strict=True):
        assert row["loss"] == pytest.approx(other["loss"], rel=1e-6, abs=1e-9)
        assert row["grad_norm"] == pytest.approx(other["grad_norm"], rel=1e-5)
        assert row["sequences"] == other["sequences"] == 4.0


def test_without_any_advantage_weights_decay_and_moments_fade_as_before(updated):
    skipped, weights, rows, _ = updated((0.0,), False)
    every, expected, all_rows, _ = updated((0.0,), True)
    assert (rows, all_rows) == (0, 12)
    assert all(torch.equal(weight, expected[name]) for name, weight in weights.items())
    for row, other in zip(skipped, every, strict=True):
        assert row == {
            "loss": 0.0, "sequences": 4.0, "grad_norm": 0.0, "steps": 1.0,
            "learning_rate": other["learning_rate"],
        }  # fmt: skip


def test_a_kl_has_a_gradient_without_advantage(updated):
    _, _, rows, count = updated((0.0,), False, objective=Objective(beta=0.1))
    assert rows == count


def test_only_sequences_with_a_gradient_are_recomputed(updated):
    metrics, _, rows, count = updated((0.0, 1.0, 0.0, 0.0), False, recompute_logprobs=True)
    assert (count, rows) == (12, 2 * 3)
    assert sum(row["sequences"] for row in metrics) == 12.0


@pytest.mark.parametrize("minibatches", [2, 3])
def test_all_is_recomputed_where_a_second_step_needs_ratios(updated, minibatches):
    _, _, rows, count = updated((1.0,), False, recompute_logprobs=True, minibatches=minibatches)
    assert (count, rows) == (12, 12 + 12)


@pytest.mark.parametrize("settings", [{"minibatches": 1}, {"objective": Objective("none")}])
def test_nothing_is_recomputed_that_no_ratio_needs(updated, settings):
    metrics, _, rows, count = updated((1.0,), False, recompute_logprobs=True, **settings)
    assert rows == count
    assert all(row["ratio_mean"] == 1.0 and row["approx_kl"] == 0.0 for row in metrics)


def test_a_sequence_that_is_not_recomputed_keeps_its_place(make_policy, make_env):
    policy = make_policy(max_reply_tokens=6)
    policies = dict.fromkeys(make_env().possible_agents, policy)
    learner = GroupLearner(policies, ADAMW)
    (trainer,) = learner._trainers
    before: list[TokenSequence] = [
        replace(each, advantage=float(n % 2), behavior_logprobs=(0.0,) * len(each.token_ids))
        for n, each in enumerate(learner.sequences(played(policies, make_env)))
    ]
    after = trainer._recomputed(before)
    assert [each.token_ids for each in after] == [each.token_ids for each in before]
    recomputed = [any(each.behavior_logprobs) for each in after]
    assert recomputed == [bool(n % 2) for n in range(len(before))]
