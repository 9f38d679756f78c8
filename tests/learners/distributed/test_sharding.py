"""Models are sharded at their layers, put together, and sharded again; here by one process."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch.distributed.fsdp import MixedPrecisionPolicy
from torch.distributed.tensor import DTensor

from laconic.learners.distributed import sharding
from laconic.learners.distributed.processes import Processes

PLUGIN = SimpleNamespace(
    transformer_cls_names_to_wrap=None,
    mixed_precision_policy=None,
    cpu_offload=None,
    reshard_after_forward=True,
)


class Layer(torch.nn.Linear):
    pass


class Model(torch.nn.Module):
    """A language model of two layers whose head is its embedding."""

    _no_split_modules = ("Layer",)

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = torch.nn.Embedding(5, 4)
        self.layers = torch.nn.Sequential(Layer(4, 4), Layer(4, 4))
        self.head = torch.nn.Linear(4, 5, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, input_ids):
        return self.head(self.layers(self.embedding(input_ids)))


class Sharded(Processes):
    sharded = True


@pytest.fixture
def mesh(tmp_path):
    from torch.distributed.device_mesh import init_device_mesh

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1
    )
    yield init_device_mesh("cpu", (1,))
    torch.distributed.destroy_process_group()


def test_layers_are_those_of_the_settings_or_of_the_model():
    assert sharding.layer_names(Model(), PLUGIN) == {"Layer"}
    plugin = SimpleNamespace(transformer_cls_names_to_wrap=["Linear"])
    assert sharding.layer_names(Model(), plugin) == {"Linear"}
    assert sharding.layer_names(torch.nn.Linear(1, 1), PLUGIN) == set()


def test_a_sharded_model_computes_what_it_did_and_comes_together_for_a_while(mesh):
    whole, model = Model(), Model()
    sharding.shard(model, PLUGIN, mesh)
    assert all(isinstance(parameter, DTensor) for parameter in model.parameters())
    ids = torch.tensor([[0, 3]])
    with torch.no_grad(), sharding.unshard([model]):
        assert not isinstance(model.layers[0].weight, DTensor)
        torch.testing.assert_close(model(ids), whole(ids), rtol=1e-6, atol=1e-6)
    assert all(isinstance(parameter, DTensor) for parameter in model.parameters())


def test_a_model_is_sharded_again_when_what_is_done_with_it_fails(mesh):
    model = Model()
    sharding.shard(model, PLUGIN, mesh)
    with pytest.raises(ZeroDivisionError), sharding.unshard([model]):
        raise ZeroDivisionError
    assert all(isinstance(parameter, DTensor) for parameter in model.parameters())


def test_a_full_state_is_whole_and_goes_back_into_shards(mesh):
    whole, model = Model(), Model()
    sharding.shard(model, PLUGIN, mesh)
    processes = Sharded()
    full = processes.full_state({"model": model.state_dict(keep_vars=True), "step": [1, (2,)]})
    assert full["step"] == [1, (2,)]
    for name, tensor in whole.state_dict().items():
        assert not isinstance(full["model"][name], DTensor)
        assert torch.equal(full["model"][name], tensor)
    # Tied weights stay one tensor.
    assert full["model"]["head.weight"] is full["model"]["embedding.weight"]
    # The main process alone has them.
    processes.rank = 1
    rest = processes.full_state({"model": model.state_dict(keep_vars=True), "step": 1})
    assert rest["step"] == 1 and all(value.is_meta for value in rest["model"].values())
    # Of another shape, or with no name there: as it is.
    others = {"head.weight": torch.zeros(()), "other": torch.zeros(2)}
    back = processes.shard_like(full["model"] | others, model.state_dict())
    assert isinstance(back["embedding.weight"], DTensor)
    assert not isinstance(back["head.weight"], DTensor) and back["other"].shape == (2,)
    assert torch.equal(back["embedding.weight"].full_tensor(), whole.embedding.weight)


def test_under_autocast_weights_come_together_in_bfloat16_and_are_kept_in_float32(mesh):
    whole, model = Model(), Model()
    sharding.shard(model, PLUGIN, mesh, autocast=True)
    ids = torch.tensor([[0, 3]])
    with torch.no_grad(), sharding.unshard([model]):
        assert model.layers[0].weight.dtype == torch.bfloat16
    model(ids).float().sum().backward()
    whole(ids).sum().backward()
    for parameter, plain in zip(model.parameters(), whole.parameters(), strict=True):
        assert parameter.dtype == parameter.grad.dtype == torch.float32
        # Eight bits of a number are kept, and sums of some such numbers lose a little more.
        torch.testing.assert_close(parameter.grad.full_tensor(), plain.grad, rtol=0.05, atol=0.05)


def test_what_accelerate_was_told_goes_before_our_own_precision(mesh):
    plugin = SimpleNamespace(**{**vars(PLUGIN), "mixed_precision_policy": MixedPrecisionPolicy()})
    model = Model()
    sharding.shard(model, plugin, mesh, autocast=True)
    with torch.no_grad(), sharding.unshard([model]):
        assert model.layers[0].weight.dtype == torch.float32
