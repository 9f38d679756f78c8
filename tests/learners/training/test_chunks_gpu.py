"""The most memory of log-probabilities in chunks, as a GPU's own allocator counts it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from laconic.learners.training.chunks import chosen_logprobs

pytestmark = pytest.mark.gpu
TOKENS, WIDTH, VOCABULARY, ROWS = 4000, 8, 50_003, 500


def peak(compute: Callable[[], Tensor]) -> int:
    """Return the peak memory of a forward and a backward pass, in additional bytes."""
    compute().sum().backward()  # What libraries keep for themselves is there from now on.
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    compute().sum().backward()
    return torch.cuda.max_memory_allocated() - before


@pytest.mark.parametrize(("autocast", "limit"), [(False, 1.3), (True, 0.8)])
def test_the_peak_is_a_chunk_where_whole_logits_are_three_matrices(autocast, limit):
    head = nn.Linear(WIDTH, VOCABULARY, bias=False, device="cuda")
    states = torch.randn(TOKENS, WIDTH, device="cuda", requires_grad=True)
    targets = torch.arange(TOKENS, device="cuda")

    def in_chunks() -> Tensor:
        with torch.autocast("cuda", torch.bfloat16, autocast):
            return chosen_logprobs(head, [head.weight], states, targets, 1.0, ROWS)

    def at_once() -> Tensor:
        with torch.autocast("cuda", torch.bfloat16, autocast):
            whole = torch.log_softmax(head(states).float() / 1.0, dim=-1)
            return whole.gather(-1, targets[:, None]).squeeze(-1)

    # float32
    assert peak(in_chunks) < limit * ROWS * VOCABULARY * 4
    assert peak(at_once) > 2.9 * TOKENS * VOCABULARY * 4
