"""The processes of a launcher, here one that has met itself alone (gloo)."""

from __future__ import annotations

import socket
import sys

import pytest
import torch
from torch.distributed.tensor import Shard

from laconic.envs.errors import SettingError
from laconic.learners.distributed.launched import Launched, launched
from laconic.learners.distributed.processes import SINGLE_PROCESS


@pytest.fixture
def no_launcher(monkeypatch):
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    launched.cache_clear()
    yield
    launched.cache_clear()


@pytest.fixture
def process(monkeypatch):
    """Set up one process as a launcher does, in its own group."""
    pytest.importorskip("accelerate")
    from accelerate.state import AcceleratorState, PartialState

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    names = {"WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}
    for name, value in (names | {"MASTER_PORT": str(port), "ACCELERATE_USE_CPU": "true"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    AcceleratorState._reset_state(True)
    yield Launched()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    AcceleratorState._reset_state(True)
    PartialState._reset_state()


def test_without_a_launcher_a_process_is_alone(no_launcher):
    assert launched() is SINGLE_PROCESS


def test_without_accelerate_one_learns_what_to_install(no_launcher, monkeypatch):
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(SettingError, match=r"pip install 'laconic-marl\[distributed\]'"):
        Launched()


def test_one_that_was_launched_gathers_its_own_and_keeps_its_weights_whole(process):
    assert (process.rank, process.count, process.sharded, process.is_main) == (0, 1, False, True)
    parameter = torch.nn.Parameter(torch.ones(2))
    (gathered,) = process.gather([{"a": [parameter * 2], "b": "text"}])
    assert gathered["b"] == "text" and gathered["a"][0].tolist() == [2.0, 2.0]
    # What other processes are sent has no graph behind it.
    assert not gathered["a"][0].requires_grad
    model = torch.nn.Linear(2, 1)
    process.shard(model)
    with process.unshard():
        assert model(torch.ones(1, 2)).shape == (1, 1)
    state = {"weight": model.weight}
    assert process.full_state(state) is state and process.shard_like(state, state) == state


def test_room_for_a_checkpoint_is_in_shards_where_weights_are(process):
    whole = process.empty(torch.Size([3, 2]), torch.bfloat16)
    assert (type(whole), whole.shape, whole.dtype) == (torch.Tensor, (3, 2), torch.bfloat16)
    process.sharded = True
    rows = process.empty(torch.Size([3, 2]), torch.bfloat16)
    assert (rows.shape, rows.dtype) == ((3, 2), torch.bfloat16)
    # As FSDP2 has weights, so that they need not be moved again.
    assert rows.placements == (Shard(0),) and rows.device_mesh.size() == 1
    assert process.shard_like({"a": rows}, {"a": rows})["a"] is rows
