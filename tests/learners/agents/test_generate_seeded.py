"""Samples on a device depend on the seed only, and its generator stays untouched."""

from __future__ import annotations

import pytest
import torch

from laconic.learners.agents.generate import seeded


def test_the_same_seed_draws_the_same_and_leaves_the_generator_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    draws = []
    for seed in (3, 3, 4):
        with seeded(torch.device("cpu"), seed):
            draws.append(torch.rand(2).tolist())
    assert torch.equal(torch.rand(3), expected)
    assert draws[0] == draws[1] != draws[2]


@pytest.mark.parametrize("fails", [False, True])
def test_the_generator_of_a_mac_is_seeded_and_put_back(monkeypatch, fails):
    """No such device is needed: what it is asked is written down."""
    calls = []
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: "before")
    monkeypatch.setattr(torch.mps, "manual_seed", lambda seed: calls.append(("seed", seed)))
    monkeypatch.setattr(torch.mps, "set_rng_state", lambda state: calls.append(("put back", state)))
    try:
        with seeded(torch.device("mps"), 5):
            calls.append(("drawn", None))
            if fails:
                raise RuntimeError
    except RuntimeError:
        pass
    assert calls == [("seed", 5), ("drawn", None), ("put back", "before")]
    calls.clear()
    with seeded(torch.device("cpu"), 5):
        assert calls == []
