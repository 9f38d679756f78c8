"""The shards of a checkpoint: what processes hold in parts, each writes and reads its own part of.

`torch.distributed.checkpoint` (DCP) does it, and reads into another number of shards as well, or
into whole tensors without any other process. In the state itself a tensor without data (of the
device `meta`) stands for each that is sharded; they are numbered in its order.
"""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.distributed.checkpoint import metadata as index
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import (
    FileSystemReader,
    FileSystemWriter,
    _StorageInfo,
)
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.tensor import DTensor, Shard
from torch.serialization import _get_layout

from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes, map_tensors

_KNOWN = {
    (one.__module__, one.__name__)
    for one in (
        index.Metadata,
        index.MetadataIndex,
        index.StorageMeta,
        index.TensorProperties,
        index.TensorStorageMetadata,
        index.ChunkStorageMetadata,
        index._MEM_FORMAT_ENCODING,
        _StorageInfo,
        _get_layout,
    )
} | {("torch", "Size")}
"""What the index of the shards is made of, besides paths and types of numbers."""


def take_shards(state: Any) -> tuple[Any, dict[str, Tensor]]:
    """A state with a tensor without data for every sharded one, and those by number.

    All processes have to call it.
    """
    found: dict[str, Tensor] = {}

    def take(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, DTensor):
            return tensor
        if tuple(tensor.placements) != (Shard(0),):  # Nothing of FSDP2, which cuts rows.
            return tensor.full_tensor().cpu()
        found[str(len(found))] = tensor
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")

    return map_tensors(take, state), found


def write(folder: Path, shards: dict[str, Tensor]) -> list[str]:
    """Write what this process has of some tensors, while all others do so, and wait for them.

    Returns the names of the files that all have written.

    Raises:
        OSError: one of the processes could not; on all of them.
    """
    try:
        written = save(shards, storage_writer=FileSystemWriter(folder))
    except CheckpointException as error:
        _fail(error)
    files = {one.relative_path for one in written.storage_data.values()}
    return [".metadata", *sorted(files)]


def read(folder: Path, state: Any, processes: Processes = SINGLE_PROCESS) -> Any:
    """A state of `take_shards` with its tensors again: this process's shards of them, or whole.

    Raises:
        OSError: what is there is not what the state asks for.
    """
    found: dict[str, Any] = {}

    def make(tensor: Tensor) -> Tensor:
        if not tensor.is_meta:
            return tensor
        made = found[str(len(found))] = processes.empty(tensor.shape, tensor.dtype)
        return made

    made = map_tensors(make, state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled", UserWarning)
        try:
            load(found, storage_reader=_Reader(folder), no_dist=not processes.sharded)
        except CheckpointException as error:
            _fail(error)
    return made


class _Reader(FileSystemReader):
    def read_metadata(self, *_args: Any, **_kwargs: Any) -> index.Metadata:
        """The index, of which nothing is run: it is a pickle, and may be of somebody else."""
        with open(Path(self.path) / ".metadata", "rb") as file:
            found = _Unpickler(file).load()
        if not isinstance(found, index.Metadata):
            raise pickle.UnpicklingError(f"it holds {type(found).__name__}")
        return found


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """What `_KNOWN` has, paths, and types of numbers."""
        path = module.startswith("pathlib") and name in ("PosixPath", "WindowsPath")
        number = module == "torch" and isinstance(getattr(torch, name, None), torch.dtype)
        if path or number or (module, name) in _KNOWN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"its index names {module}.{name}")


def _fail(error: CheckpointException) -> NoReturn:
    """What went wrong on the first process on which something did."""
    rank, (cause, _) = min(error.failures.items(), key=lambda one: one[0])
    said = cause if isinstance(cause, OSError) else f"{type(cause).__name__}: {cause}"
    raise OSError(f"shards of process {rank}: {said}") from cause
