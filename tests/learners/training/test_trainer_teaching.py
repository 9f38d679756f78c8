"""What has no advantage is not computed, and the step is the one that computing it would take."""

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
from laconic.learners.training.sequences import TokenSequence

ADAMW = partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.1)


@pytest.fixture
def updated(make_policy, make_env, monkeypatch):
    """Takes two updates on the same episodes with chosen advantages, from the same weights.

    The second one comes from all advantages, so that moments are at work. Rows are read whole, so
    that they can be counted.
    """
    monkeypatch.setattr(logprobs, "WORTH", 0.0)
    policy = make_policy(max_reply_tokens=6)
    policies = dict.fromkeys(make_env().possible_agents, policy)
    group = played(policies, make_env)
    before = copy.deepcopy(policy.model.state_dict())

    def update(advantages: Sequence[float], everything: bool, **settings):
        policy.model.load_state_dict(before)
        policy.recompute_logprobs = settings.pop("recompute_logprobs", False)
        learner = GroupLearner(policies, ADAMW, **{"minibatches": 3, **settings})
        (trainer,) = learner._trainers
        made = learner.sequences(group)
        chosen = [
            replace(one, advantage=advantages[n % len(advantages)]) for n, one in enumerate(made)
        ]
        trainer.update([replace(one, advantage=(-1.0) ** n) for n, one in enumerate(made)], 0)
        passes: list[int] = []
        handle = policy.model.register_forward_pre_hook(
            lambda _, arguments, named: passes.append(len(named["input_ids"])), with_kwargs=True
        )
        with (
            patch.object(Objective, "has_gradient", lambda *_: True)
            if everything
            else nullcontext()
        ):
            rows = trainer.update(chosen, 1)
        handle.remove()
        return rows, copy.deepcopy(policy.model.state_dict()), sum(passes), len(made)

    return update


@pytest.mark.parametrize("average", ["sequence", "token", "sum"])
def test_the_step_is_the_one_that_computing_all_takes(updated, average):
    objective = Objective(average=average)
    some = (0.0, 1.0, 0.0, -0.5, 0.0)
    few, weights, passed, made = updated(some, False, objective=objective)
    every, expected, all_passed, _ = updated(some, True, objective=objective)
    # of twelve, indices 1, 3, 6, 8 and 11 have an advantage
    assert (made, passed, all_passed) == (12, 5, 12)
    for name, one in weights.items():
        torch.testing.assert_close(one, expected[name], rtol=1e-6, atol=1e-7)
    for one, other in zip(few, every, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-6, abs=1e-9)
        assert one["grad_norm"] == pytest.approx(other["grad_norm"], rel=1e-5)
        assert one["sequences"] == other["sequences"] == 4.0


def test_without_any_advantage_weights_decay_and_moments_fade_as_before(updated):
    none, weights, passed, _ = updated((0.0,), False)
    every, expected, all_passed, _ = updated((0.0,), True)
    assert (passed, all_passed) == (0, 12)
    assert all(torch.equal(one, expected[name]) for name, one in weights.items())
    for row, other in zip(none, every, strict=True):
        assert row == {
            "loss": 0.0, "sequences": 4.0, "grad_norm": 0.0, "steps": 1.0,
            "learning_rate": other["learning_rate"],
        }  # fmt: skip


def test_a_kl_is_learned_from_without_advantage(updated):
    _, _, passed, made = updated((0.0,), False, objective=Objective(kl=0.1))
    assert passed == made


def test_only_what_teaches_is_computed_again(updated):
    some = (0.0, 1.0, 0.0, 0.0)
    rows, _, passed, made = updated(some, False, recompute_logprobs=True)
    assert (made, passed) == (12, 2 * 3)
    assert sum(row["sequences"] for row in rows) == 12.0


@pytest.mark.parametrize("settings", [{"minibatches": 1}, {"objective": Objective(ratio="none")}])
def test_what_no_ratio_needs_is_not_computed_again(updated, settings):
    rows, _, passed, made = updated((1.0,), False, recompute_logprobs=True, **settings)
    assert passed == made
    assert all(row["ratio_mean"] == 1.0 and row["approx_kl"] == 0.0 for row in rows)


def test_a_sequence_that_teaches_nothing_keeps_its_place(make_policy, make_env):
    policy = make_policy(max_reply_tokens=6)
    policies = dict.fromkeys(make_env().possible_agents, policy)
    learner = GroupLearner(policies, ADAMW)
    (trainer,) = learner._trainers
    made: list[TokenSequence] = [
        replace(one, advantage=float(n % 2), behavior_logprobs=(0.0,) * len(one.token_ids))
        for n, one in enumerate(learner.sequences(played(policies, make_env)))
    ]
    again = trainer._recomputed(made)
    assert [one.token_ids for one in again] == [one.token_ids for one in made]
    assert [any(one.behavior_logprobs) for one in again] == [bool(n % 2) for n in range(len(made))]
