"""Memory that runs out is said in one line with the setting that lowers it."""

from __future__ import annotations

import pytest
import torch

from laconic.learners.errors import OutOfMemoryError, refuse_memory
from laconic.learners.interfaces import Request


def fill(*_):
    """Ask for more memory than any machine has."""
    torch.empty(2**50, dtype=torch.float64)


def test_a_rollout_that_needs_too_much_memory_names_the_setting(make_policy):
    policy = make_policy()
    policy.model.base_model.register_forward_pre_hook(fill)
    with pytest.raises(OutOfMemoryError) as caught:
        policy.reply([Request("solver_0", "Hi")], seed=0, greedy=True)
    message = str(caught.value)
    assert "memory ran out" in message and "lower agent.sampling.generate_tokens" in message
    assert "\n" not in message and len(message) < 400


@pytest.mark.parametrize(
    "error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")]
)
def test_every_kind_of_full_memory_is_recognised(error):
    with pytest.raises(OutOfMemoryError, match="lower learner.microbatch_tokens"):
        refuse_memory(error, "learner.microbatch_tokens")


def test_other_errors_are_left_as_they_are():
    error = RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")
    assert refuse_memory(error, "learner.microbatch_tokens") is None
