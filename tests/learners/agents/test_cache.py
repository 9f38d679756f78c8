"""A preallocated cache has the content of the stock one, and rarely copies."""

from __future__ import annotations

import pytest
import torch
from transformers.cache_utils import DynamicLayer

from laconic.learners.agents import cache
from laconic.learners.agents.cache import ROOM, PreallocatedLayer, preallocated_cache, selects_rows

ROWS, HEADS, WIDTH = 3, 2, 4


def states(tokens: int, seed: int, rows: int = ROWS) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    keys, values = torch.randn(2, rows, HEADS, tokens, WIDTH, generator=generator)
    return keys, values


def both(*steps):
    """Return a preallocated layer and a stock one after the same steps."""
    layers = PreallocatedLayer(), DynamicLayer()
    for step in steps:
        for layer in layers:
            step(layer)
    return layers


def append(tokens: int, seed: int, rows: int = ROWS):
    return lambda layer: layer.update(*states(tokens, seed, rows))


def assert_equal(layers) -> None:
    ours, stock = layers
    assert ours.get_seq_length() == stock.get_seq_length()
    assert torch.equal(ours.keys, stock.keys) and torch.equal(ours.values, stock.values)


def test_it_holds_what_the_stock_layer_holds_token_by_token():
    assert_equal(both(append(5, 0), *(append(1, seed) for seed in range(1, 3 * ROOM))))


def test_it_returns_all_there_is():
    layer = PreallocatedLayer()
    first, second = states(4, 0), states(2, 1)
    layer.update(*first)
    keys, values = layer.update(*second)
    assert torch.equal(keys, torch.cat([first[0], second[0]], dim=-2))
    assert torch.equal(values, torch.cat([first[1], second[1]], dim=-2))


def test_rows_that_were_picked_go_on_by_themselves():
    def pick(layer):
        layer.batch_select_indices(torch.tensor([2, 0, 0, 1]))

    assert_equal(both(append(5, 0), append(1, 1), pick, append(1, 2, rows=4), append(3, 3, rows=4)))


def test_rows_in_another_order_are_not_taken_for_the_old_ones():
    def turn_round(layer):
        layer.reorder_cache(torch.tensor([2, 1, 0]))

    assert_equal(both(append(5, 0), turn_round, append(1, 1)))


def test_tokens_that_were_cropped_are_overwritten():
    assert_equal(both(append(5, 0), lambda layer: layer.crop(-2), append(1, 1), append(4, 2)))


def test_a_reset_layer_begins_again():
    assert_equal(both(append(5, 0), lambda layer: layer.reset(), append(3, 1), append(1, 2)))


@pytest.mark.parametrize("tokens", [5, 5000])
def test_it_copies_once_for_so_many_tokens(tokens):
    layer = PreallocatedLayer()
    keys, _ = layer.update(*states(tokens, 0))
    places = set()
    for seed in range(layer._buffers["keys"].shape[-2] - tokens):
        keys, _ = layer.update(*states(1, seed))
        places.add(keys.data_ptr())
    assert len(places) == 1
    layer.update(*states(1, 99))
    assert layer.keys.data_ptr() not in places


def test_layers_of_their_own_kind_stay_as_they_are(make_model, architecture):
    cache = preallocated_cache(make_model(architecture, 24))
    stock = {type(layer) for layer in cache.layers} - {PreallocatedLayer}
    assert DynamicLayer not in stock
    assert selects_rows(cache)


# Texts


def test_texts_are_put_into_tokens_once(monkeypatch):
    calls = []
    tokens = cache.remembered(lambda text: calls.append(text) or (1, 2))
    assert [tokens("one"), tokens("two"), tokens("one")] == [(1, 2)] * 3
    assert calls == ["one", "two"]


def test_texts_are_forgotten_by_their_bytes(monkeypatch):
    """A text of 1,000 characters takes some 1,050 bytes, its ten tokens 360: two are in 3,000."""
    monkeypatch.setattr(cache, "_TEXT_BYTES", 3000)
    calls = []
    tokens = cache.remembered(lambda text: calls.append(text[0]) or (0,) * 10)
    for text in "ababca":
        assert tokens(text * 1000) == (0,) * 10
    # The third does not fit, so the first is asked for again.
    assert calls == ["a", "b", "c", "a"]


# Calls


def test_rows_are_called_together_as_far_as_they_fit():
    # Six tokens and a reply of four for each of three rows are 30.
    assert list(cache.batches([6, 2, 5], [4, 4, 4], None, 30)) == [[0, 1, 2]]
    # In 29: by length, two rows of 5 + 4 are 18, three of 6 + 4 were too many.
    assert list(cache.batches([6, 2, 5], [4, 4, 4], None, 29)) == [[1, 2], [0]]
    assert list(cache.batches([6, 2, 5], [4, 4, 4], None, 1)) == [[1], [2], [0]]


def test_rows_without_room_for_the_longest_reply_are_called_apart():
    # Of ten positions 7 + 4 are too many; the third may say nothing.
    assert list(cache.batches([6, 7, 3], [4, 3, 0], 10, 99)) == [[0], [1]]
    assert list(cache.batches([], [], 10, 99)) == []


def test_the_default_is_four_gibibytes(make_model):
    # A layer of one head of 8 numbers of 4 bytes, keys and values: 64 bytes a token.
    assert cache.default_tokens(make_model("llama", 24)) == 4 * 2**30 // 64
    # GPT-2 has two layers of two heads.
    assert cache.default_tokens(make_model("gpt2", 24)) == 4 * 2**30 // 256
