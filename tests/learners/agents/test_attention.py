"""Attention of single queries over short pieces, against torch's kernel."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from laconic.learners.agents import cache
from laconic.learners.agents.cache import PreallocatedLayer, short_attention

ROWS, HEADS, SHARED, TOKENS, WIDTH = 5, 6, 2, 11, 8


def inputs(queries=1, tokens=TOKENS):
    generator = torch.Generator().manual_seed(0)

    def draw(heads, length):
        return torch.randn(ROWS, heads, length, WIDTH, generator=generator)

    module = nn.Module()
    module.num_key_value_groups, module.is_causal = HEADS // SHARED, True
    return module, draw(HEADS, queries), draw(SHARED, tokens), draw(SHARED, tokens)


def masks():
    padded = torch.ones(ROWS, 1, 1, TOKENS, dtype=torch.bool)
    padded[1, ..., :4], padded[3, ..., :10] = False, False
    return {
        "none": None,
        "padded": padded,
        "added": torch.zeros(padded.shape).masked_fill(~padded, torch.finfo(torch.float32).min),
    }


@pytest.mark.parametrize("name", masks())
@pytest.mark.parametrize("scaling", [None, 0.3])
def test_two_products_are_attention(monkeypatch, name, scaling):
    expected, _ = sdpa_attention_forward(*inputs(), masks()[name], scaling=scaling)
    with torch.no_grad(), short_attention():
        monkeypatch.setattr(cache, "_kernel", None)
        states, weights = ALL_ATTENTION_FUNCTIONS["sdpa"](*inputs(), masks()[name], scaling=scaling)
    assert weights is None and states.shape == (ROWS, 1, HEADS, WIDTH)
    torch.testing.assert_close(states, expected, atol=1e-6, rtol=1e-5)


def asked_kernel(monkeypatch, *arguments, **settings):
    """Return whether the kernel of transformers was asked."""
    asked = []
    attend = ALL_ATTENTION_FUNCTIONS["sdpa"]
    with monkeypatch.context() as patch:
        patch.setattr(cache, "_kernel", lambda *_, **__: asked.append(True))
        attend(*arguments, **settings)
    return bool(asked)


@pytest.mark.parametrize(
    ("change", "kernel"),
    [
        ({}, False),
        ({"queries": 3}, True),
        # 24 KiB are 768 tokens of 8 numbers.
        ({"tokens": 768}, False),
        ({"tokens": 769}, True),
    ],
)
def test_the_kernel_computes_many_queries_and_long_pieces(monkeypatch, change, kernel):
    with short_attention():
        assert asked_kernel(monkeypatch, *inputs(**change), None) is kernel


def test_the_kernel_computes_what_is_not_float32_or_has_scores_of_its_own(monkeypatch):
    module, *states = inputs()
    halves = [each.bfloat16() for each in states]
    with short_attention():
        assert asked_kernel(monkeypatch, module, *halves, None)
        bias = torch.zeros(ROWS, HEADS, 1, TOKENS)
        assert asked_kernel(monkeypatch, module, *states, None, position_bias=bias)
        of_heads = torch.ones(ROWS, HEADS, 1, TOKENS, dtype=torch.bool)
        assert asked_kernel(monkeypatch, module, *states, of_heads)
        assert asked_kernel(monkeypatch, module, *states, None, dropout=0.1)


def test_nothing_changes_outside_of_sampling_and_in_other_threads(monkeypatch):
    with short_attention(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(asked_kernel, monkeypatch, *inputs(), None).result()
        with short_attention():
            pass
        assert not asked_kernel(monkeypatch, *inputs(), None)
    assert asked_kernel(monkeypatch, *inputs(), None)


def test_a_function_that_somebody_else_registers_later_is_asked(monkeypatch):
    asked = []
    monkeypatch.setitem(
        ALL_ATTENTION_FUNCTIONS._local_mapping, "sdpa", lambda *_, **__: asked.append(True)
    )
    with monkeypatch.context() as patch:
        patch.setattr(cache, "_kernel", cache._kernel)
        with short_attention():
            ALL_ATTENTION_FUNCTIONS["sdpa"](*inputs(queries=2), None)
    assert asked == [True]


@pytest.mark.parametrize(
    ("width", "tokens", "spare"),
    [
        (32, 100, 3),  # 128 bytes a token
        (64, 90, 1),
        (128, 40, 1),
        (32, 193, 32),  # more than 24 KiB
        (64, 97, 32),
    ],
)
def test_short_pieces_lie_close_together(width, tokens, spare):
    layer = PreallocatedLayer()
    layer.update(*torch.zeros(2, 2, 3, tokens, width))
    assert layer._buffers["keys"].shape == (2, 3, tokens + spare, width)


def test_other_devices_and_types_keep_their_room():
    for other in ({"device": "meta"}, {"dtype": torch.bfloat16}):
        layer = PreallocatedLayer()
        layer.update(*torch.zeros(2, 2, 3, 100, 32, **other))
        assert layer._buffers["keys"].shape == (2, 3, 132, 32)
