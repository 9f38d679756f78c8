"""Sharded tensors are written and read by shards; here by a group of one process."""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict

import pytest
import torch
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, empty

from laconic.learners import checkpoint
from laconic.learners.distributed import sharding
from laconic.learners.distributed.processes import Processes
from laconic.learners.errors import CheckpointError


class Sharded(Processes):
    """One process that has all rows."""

    sharded = True

    def __init__(self, mesh):
        self.mesh = mesh

    def empty(self, shape, dtype):
        return empty(shape, dtype=dtype, device_mesh=self.mesh, placements=[Shard(0)])


@pytest.fixture
def mesh(tmp_path):
    from torch.distributed.device_mesh import init_device_mesh

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1
    )
    yield init_device_mesh("cpu", (1,))
    torch.distributed.destroy_process_group()


WEIGHT = torch.arange(6.0).reshape(3, 2)
MOMENT = torch.tensor([0.5, -1.0], dtype=torch.bfloat16)


@pytest.fixture
def state(mesh):
    """Return two sharded tensors, a whole one, and plain values."""
    return {
        "model": OrderedDict(weight=distribute_tensor(WEIGHT, mesh, [Shard(0)]), bias=MOMENT),
        "optimizer": [(distribute_tensor(MOMENT, mesh, [Shard(0)]), 3), "adamw"],
    }


def test_shards_leave_tensors_without_data_behind(state, mesh):
    rest, shards = sharding.take_shards(state)
    assert list(shards) == ["0", "1"] and all(
        isinstance(value, DTensor) for value in shards.values()
    )
    tensors = rest["model"]["weight"], rest["optimizer"][0][0]
    assert [(tensor.device.type, tensor.shape, tensor.dtype) for tensor in tensors] == [
        ("meta", (3, 2), torch.float32),
        ("meta", (2,), torch.bfloat16),
    ]
    assert rest["model"]["bias"] is MOMENT and rest["optimizer"][1] == "adamw"
    # What is no row of anything is put together instead.
    rest, shards = sharding.take_shards([distribute_tensor(WEIGHT, mesh, [Replicate()])])
    assert shards == {} and torch.equal(rest[0], WEIGHT) and not isinstance(rest[0], DTensor)


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "sharded"])
def test_a_sharded_state_comes_back_bit_for_bit(tmp_path, state, mesh, whole):
    folder = tmp_path / "checkpoints"
    path = checkpoint.save(folder, 1, state, processes=Sharded(mesh))
    assert [path.name for path in folder.iterdir()] == ["step_00000001"]
    shards = sorted(shard.name for shard in (path / "shards").iterdir())
    assert shards == [".metadata", "__0_0.distcp"]
    back = checkpoint.load(path) if whole else checkpoint.load(path, Sharded(mesh))
    (moment, step), name = back["optimizer"]
    assert (step, name) == (3, "adamw") and torch.equal(back["model"]["bias"], MOMENT)
    for tensor, expected in ((back["model"]["weight"], WEIGHT), (moment, MOMENT)):
        assert isinstance(tensor, DTensor) != whole
        assert torch.equal(tensor if whole else tensor.full_tensor(), expected)


def test_without_shards_nothing_more_is_written(tmp_path, mesh):
    plain, sharded = tmp_path / "one", tmp_path / "other"
    for folder, processes in ((plain, Processes()), (sharded, Sharded(mesh))):
        checkpoint.save(folder, 1, {"weight": WEIGHT}, processes=processes)
    files = [
        sorted(path.relative_to(folder) for path in folder.rglob("*"))
        for folder in (plain, sharded)
    ]
    assert files[0] == files[1]


def test_a_damaged_or_missing_shard_is_noticed_and_the_one_before_is_taken(tmp_path, state, mesh):
    folder = tmp_path / "checkpoints"
    first, second, third = (
        checkpoint.save(folder, step, state, keep=3, processes=Sharded(mesh)) for step in (1, 2, 3)
    )
    (third / "shards" / "__0_0.distcp").unlink()
    data = bytearray((second / "shards" / ".metadata").read_bytes())
    data[-5] ^= 1
    (second / "shards" / ".metadata").write_bytes(bytes(data))
    assert checkpoint.find_damage(second) == "the content of shards/.metadata has changed"
    assert checkpoint.latest(folder) == first
    with pytest.raises(CheckpointError, match=r"__0_0\.distcp cannot be read"):
        checkpoint.load(third)


def test_a_shard_that_cannot_be_written_keeps_the_earlier_checkpoint(
    tmp_path, state, mesh, monkeypatch
):
    folder = tmp_path / "checkpoints"
    path = checkpoint.save(folder, 1, state, processes=Sharded(mesh))

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sharding.FileSystemWriter, "write_data", refuse)
    with pytest.raises(CheckpointError, match=r"shards of process 0: .*No space left on device"):
        checkpoint.save(folder, 2, state, processes=Sharded(mesh))
    assert [path.name for path in folder.iterdir()] == ["step_00000001"]
    assert checkpoint.latest(folder) == path


def test_a_shard_that_another_machine_keeps_for_itself_makes_no_checkpoint(
    tmp_path, state, mesh, monkeypatch
):
    monkeypatch.setattr(sharding, "write", lambda folder, _: [".metadata", "__1_0.distcp"])
    with pytest.raises(CheckpointError, match="No such file"):
        checkpoint.save(tmp_path, 2, state, processes=Sharded(mesh))
    assert checkpoint.latest(tmp_path) is None


def test_a_state_that_asks_for_other_shapes_is_refused(tmp_path, state):
    rest, shards = sharding.take_shards(state)
    sharding.write(tmp_path / "shards", shards)
    rest["model"]["weight"] = torch.empty(4, 2, device="meta")
    with pytest.raises(OSError, match=r"shards of process 0: .*\[3, 2\].*\[4, 2\]"):
        sharding.read(tmp_path / "shards", rest)


class Hostile:
    """Makes a folder as soon as it is unpickled."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return os.mkdir, (self.mark,)


@pytest.mark.parametrize("harmless", [True, False])
def test_an_index_of_somebody_elses_runs_nothing(tmp_path, state, harmless):
    rest, shards = sharding.take_shards(state)
    sharding.write(tmp_path / "shards", shards)
    held = 5 if harmless else Hostile(tmp_path / "mark")
    (tmp_path / "shards" / ".metadata").write_bytes(pickle.dumps(held))
    with pytest.raises(OSError, match="holds int" if harmless else r"its index names posix\.mkdir"):
        sharding.read(tmp_path / "shards", rest)
    assert not (tmp_path / "mark").exists()
