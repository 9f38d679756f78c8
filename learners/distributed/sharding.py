"""Sharded weights, one shard on each process: FSDP2 in training, shards in a checkpoint.

In training (`torch.distributed.fsdp.fully_shard`) the layers of a model are gathered one by one,
for as long as a pass goes through them. Passes without gradient (episodes, log-probabilities,
states) gather the whole model once instead: a reply has many tokens, and each process samples its
own at its own pace.

In a checkpoint each process writes and reads its own shards by `torch.distributed.checkpoint`,
which also reads into another number of shards, or into whole tensors on one process. In the state
itself a tensor without data (device `meta`) replaces each sharded one; shards are numbered in that
order.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.distributed.checkpoint import metadata as index
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import (
    FileSystemReader,
    FileSystemWriter,
    _StorageInfo,
)
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard
from torch.serialization import _get_layout

from laconic.envs.errors import SettingError
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes, map_tensors

_BFLOAT16 = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
_INDEX_CLASSES = {
    (each.__module__, each.__name__)
    for each in (
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
"""Classes and functions in the index of the shards, other than paths and dtypes."""


def shard(model: nn.Module, plugin: Any, mesh: DeviceMesh, autocast: bool = False) -> None:
    """Shard a model layer by layer, in place; all processes hold the same weights before.

    Args:
        model: a causal language model on its device.
        plugin: accelerate's settings (`FullyShardedDataParallelPlugin`).
        mesh: mesh of all processes, with one dimension.
        autocast: whether passes are computed in bfloat16. Weights are gathered in it then, unless
            the settings say otherwise; gradients are summed in float32.

    Raises:
        SettingError: the model has no layers of the classes in the settings.
    """
    names = layer_names(model, plugin)
    layers = [module for module in model.modules() if type(module).__name__ in names]
    if not layers:
        raise SettingError(
            f"fsdp_transformer_layer_cls_to_wrap names {', '.join(sorted(names)) or 'no class'},"
            f" and {type(model).__name__} has no such layers; leave it out, which takes the"
            " model's own, or name the class of its layers"
        )
    precision = _BFLOAT16 if autocast else MixedPrecisionPolicy()
    settings: dict[str, Any] = {
        "mesh": mesh,
        "mp_policy": plugin.mixed_precision_policy or precision,
        "offload_policy": plugin.cpu_offload,
    }
    for layer in layers:
        fully_shard(layer, reshard_after_forward=bool(plugin.reshard_after_forward), **settings)
    fully_shard(model, reshard_after_forward=False, **settings)
    # The first pass must go through the root, so that all parts know their root.
    with torch.no_grad():
        model(input_ids=torch.zeros(1, 1, dtype=torch.long, device=mesh.device_type))
    model.reshard()  # type: ignore[operator]


def layer_names(model: nn.Module, plugin: Any) -> set[str]:
    """Return the classes of layers to shard: those of the settings, or else the model's own."""
    chosen = plugin.transformer_cls_names_to_wrap
    return set(chosen or getattr(model, "_no_split_modules", None) or ())


@contextmanager
def unshard(models: Sequence[nn.Module]) -> Iterator[None]:
    """Gather models on every process, and shard them again at the end."""
    parts = [part for model in models for part in model.modules() if isinstance(part, FSDPModule)]
    roots = {id(model) for model in models}
    layers = [part for part in parts if id(part) not in roots]
    for layer in layers:
        layer.set_reshard_after_forward(False, recurse=False)
    for part in parts:
        part.unshard()
    try:
        yield
    finally:
        for part in parts:
            part.reshard()
        for layer in layers:
            layer.set_reshard_after_forward(True, recurse=False)


# ---------------------------------------------------------------- shards of a checkpoint


def take_shards(state: Any) -> tuple[Any, dict[str, Tensor]]:
    """Return a state with a tensor without data for each sharded one, and these by number.

    All processes must call it.
    """
    shards: dict[str, Tensor] = {}

    def take(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, DTensor):
            return tensor
        if tuple(tensor.placements) != (Shard(0),):  # Not of FSDP2, which shards rows.
            return tensor.full_tensor().cpu()
        shards[str(len(shards))] = tensor
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")

    return map_tensors(take, state), shards


def write(folder: Path, shards: dict[str, Tensor]) -> list[str]:
    """Write this process's part of some tensors, wait for the others, and return all file names.

    Raises:
        OSError: one of the processes could not; on all of them.
    """
    try:
        written = save(shards, storage_writer=FileSystemWriter(folder))
    except CheckpointException as error:
        _raise_first(error)
    files = {entry.relative_path for entry in written.storage_data.values()}
    return [".metadata", *sorted(files)]


def read(folder: Path, state: Any, processes: Processes = SINGLE_PROCESS) -> Any:
    """Fill a state of `take_shards` with its tensors: this process's shards of them, or whole.

    Raises:
        OSError: the files lack tensors of the state.
    """
    shards: dict[str, Any] = {}

    def allocate(tensor: Tensor) -> Tensor:
        if not tensor.is_meta:
            return tensor
        allocated = shards[str(len(shards))] = processes.empty(tensor.shape, tensor.dtype)
        return allocated

    filled = map_tensors(allocate, state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled", UserWarning)
        try:
            load(shards, storage_reader=_Reader(folder), no_dist=not processes.sharded)
        except CheckpointException as error:
            _raise_first(error)
    return filled


class _Reader(FileSystemReader):
    def read_metadata(self, *_args: Any, **_kwargs: Any) -> index.Metadata:
        """Read the index without running it: it is a pickle, and may come from someone else."""
        with open(Path(self.path) / ".metadata", "rb") as file:
            content = _Unpickler(file).load()
        if not isinstance(content, index.Metadata):
            raise pickle.UnpicklingError(f"it holds {type(content).__name__}")
        return content


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Allow `_INDEX_CLASSES`, paths and dtypes only."""
        path = module.startswith("pathlib") and name in ("PosixPath", "WindowsPath")
        dtype = module == "torch" and isinstance(getattr(torch, name, None), torch.dtype)
        if path or dtype or (module, name) in _INDEX_CLASSES:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"its index names {module}.{name}")


def _raise_first(error: CheckpointException) -> NoReturn:
    """Raise the error of the first process that failed."""
    rank, (cause, _) = min(error.failures.items(), key=lambda failure: failure[0])
    reason = cause if isinstance(cause, OSError) else f"{type(cause).__name__}: {cause}"
    raise OSError(f"shards of process {rank}: {reason}") from cause
