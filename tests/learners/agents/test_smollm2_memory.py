"""The memory table of docs/scaling.md, measured on the pretrained model."""

from __future__ import annotations

import pytest
import torch

from laconic.learners.agents import folders
from laconic.learners.agents.cache import _BYTES, cache_argument, default_tokens, preallocated_cache
from laconic.learners.agents.load import load_model

TOKENS = 256
TABLE = {"weights": 538e6, "gradients": 538e6, "moments": 1076e6}
PER_TOKEN = {"keys and values": 46_080, "activations": 1.34e6, "logits": 196_608}


@pytest.mark.slow
@pytest.mark.skipif(folders.find_smollm2() == folders.SMOLLM2_HUB, reason="needs `make smollm2`")
def test_the_table_agrees_with_what_is_measured():
    model, cached, saved = load_model(folders.find_smollm2(), "float32", "cpu"), [], {}
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    ids, cache = torch.randint(0, 1000, (2, TOKENS // 2)), preallocated_cache(model)
    with torch.inference_mode():
        model.base_model(input_ids=ids, use_cache=True, **{cache_argument(model): cache})

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        store = tensor.untyped_storage()
        if store.data_ptr() not in own:
            saved[store.data_ptr()] = store.nbytes()
        cached.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        hidden = model.base_model(input_ids=ids, use_cache=False).last_hidden_state
    hidden.sum().backward()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0)
    optimizer.step()
    moments = [value for state in optimizer.state.values() for value in state.values()]
    grads = {
        "weights": sum(parameter.nbytes for parameter in model.parameters()),
        "gradients": sum(parameter.grad.nbytes for parameter in model.parameters()),
        "moments": sum(tensor.nbytes for tensor in moments),
    }
    held = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    logits = model.lm_head(hidden.detach()).nbytes
    each = {"keys and values": held, "activations": sum(saved.values()), "logits": logits}
    per_token = {name: nbytes / TOKENS for name, nbytes in each.items()}
    print(grads, per_token)
    assert grads == pytest.approx(TABLE, rel=0.15)
    assert per_token == pytest.approx(PER_TOKEN, rel=0.15)
    # The bound that a policy takes by itself is worked out from the config alone.
    assert default_tokens(model) == _BYTES * TOKENS // held
