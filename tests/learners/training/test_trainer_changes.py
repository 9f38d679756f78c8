"""Fraction of weights that an update changes, counted by hand, in float32 and in bfloat16."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from updates import played

from laconic.learners.agents.hf import HFTeam
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.training.trainer import SAMPLED, Changes

ADAMW = partial(torch.optim.AdamW, lr=1e-6, weight_decay=0.0)


def test_weights_without_a_gradient_are_not_counted():
    weights = torch.nn.Parameter(torch.zeros(4))
    changes = Changes([weights])
    weights.grad = torch.tensor([1.0, 0.0, 1.0, 0.0])
    changes.note_gradients()
    weights.grad = torch.tensor([0.0, 0.0, 0.0, 1.0])
    changes.note_gradients()
    # Three had a gradient in one of the two steps; of these the first has changed.
    weights.data[0], weights.data[1] = 1.0, 5.0
    assert changes.fraction(SINGLE_PROCESS) == pytest.approx(1 / 3)


def test_without_any_gradient_there_is_no_fraction():
    weights = torch.nn.Parameter(torch.zeros(4))
    changes = Changes([weights, torch.nn.Parameter(torch.zeros(0))])
    assert changes.fraction(SINGLE_PROCESS) is None
    weights.grad = torch.zeros(4)
    changes.note_gradients()
    assert changes.fraction(SINGLE_PROCESS) is None


def test_a_large_tensor_is_sampled():
    weights = torch.nn.Parameter(torch.zeros(10 * SAMPLED))
    changes = Changes([weights])
    weights.grad = torch.ones_like(weights)
    changes.note_gradients()
    weights.data[::20] = 1.0
    # Every tenth entry is sampled, and every second of these has changed.
    assert changes.fraction(SINGLE_PROCESS) == 0.5


def test_all_processes_are_counted():
    class Two(Processes):
        def total(self, counts):
            return {name: count + 3.0 for name, count in counts.items()}

    weights = torch.nn.Parameter(torch.zeros(1))
    changes = Changes([weights])
    weights.grad = torch.ones(1)
    changes.note_gradients()
    # None of one changed here, and three of three on the other process.
    assert changes.fraction(Two()) == 3 / 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("precision", "low", "high"),
    [("float32", 0.95, 1.0), ("bfloat16_autocast", 0.95, 1.0), ("bfloat16", 0.0, 0.5)],
)
def test_steps_of_a_millionth_change_float32_weights_and_are_lost_in_bfloat16(
    saved, make_env, precision, low, high
):
    policies = HFTeam(str(saved), precision=precision, device="cpu").policies(make_env())
    learner = GroupLearner(policies, ADAMW, minibatches=1)
    group = played(policies, make_env)
    assert low <= learner.update([group])["changed_weights"] <= high
    assert "changed_weights" not in learner.update([group])


@pytest.mark.slow
def test_a_warm_up_is_judged_by_its_first_update(saved, make_env):
    policies = HFTeam(str(saved), device="cpu").policies(make_env())
    learner = GroupLearner(policies, ADAMW, minibatches=1, warmup_updates=2)
    group = played(policies, make_env)
    assert learner.update([group])["changed_weights"] > 0.95
    assert "changed_weights" not in learner.update([group])
