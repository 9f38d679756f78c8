"""Optimisers for every policy: which part of it each moves, and that a state is gone on from."""

from __future__ import annotations

import copy
import sys

import pytest
import torch

from laconic.learners.training.optimizers import Muon, adamw8bit


def weights(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((3, 4), (4,))]


def stepped(parameters, optimizer, seed):
    generator = torch.Generator().manual_seed(seed)
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    optimizer.step()


def test_matrices_move_as_by_muon_and_vectors_as_by_adamw():
    parameters, plain = weights(), weights()
    mine = Muon(parameters, lr=0.01, weight_decay=0.1)
    matrix = torch.optim.Muon(plain[:1], lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    vector = torch.optim.AdamW(plain[1:], lr=0.01, weight_decay=0.1, betas=(0.9, 0.99))
    for seed in (1, 2, 3):
        stepped(parameters, mine, seed)
        stepped(plain, vector, seed)
        matrix.step()
    assert all(torch.equal(*pair) for pair in zip(parameters, plain, strict=True))


def test_the_learning_rate_of_the_groups_is_that_of_both_parts():
    parameters = weights()
    before = [parameter.clone() for parameter in parameters]
    mine = Muon(parameters, lr=0.01)
    for group in mine.param_groups:
        group["lr"] = 0.0
    stepped(parameters, mine, 1)
    assert all(torch.equal(*pair) for pair in zip(parameters, before, strict=True))


def test_from_a_saved_state_it_goes_on_as_if_nothing_had_happened():
    parameters = weights()
    mine = Muon(parameters, lr=0.01)
    stepped(parameters, mine, 1)
    state, saved = (
        copy.deepcopy(mine.state_dict()),
        [parameter.detach().clone() for parameter in parameters],
    )
    stepped(parameters, mine, 2)
    again = [torch.nn.Parameter(weight) for weight in saved]
    other = Muon(again, lr=0.5)
    other.load_state_dict(state)
    stepped(again, other, 2)
    assert all(torch.equal(*pair) for pair in zip(parameters, again, strict=True))


@pytest.mark.parametrize("shape", [(2, 2), (3,), (2, 2, 2)])
def test_parameters_of_one_shape_alone_are_enough(shape):
    parameter = torch.nn.Parameter(torch.ones(shape))
    optimizer = Muon([parameter], lr=0.1)
    stepped([parameter], optimizer, 1)
    assert not torch.equal(parameter, torch.ones(shape))
    optimizer.zero_grad()
    assert parameter.grad is None


def test_an_old_torch_and_a_missing_package_are_said(monkeypatch):
    monkeypatch.delattr(torch.optim, "Muon")
    with pytest.raises(ImportError, match="needs torch 2.9 or later"):
        Muon(weights())
    monkeypatch.setitem(sys.modules, "bitsandbytes.optim", None)
    with pytest.raises(ImportError, match="pip install bitsandbytes"):
        adamw8bit(weights(), lr=1.0)
