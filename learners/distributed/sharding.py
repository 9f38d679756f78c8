"""Sharded weights, one shard on each process: FSDP2 (`torch.distributed.fsdp.fully_shard`).

In training the layers of a model are unsharded one by one, for as long as a pass goes through them.
Where no gradient is wanted (episodes, log-probabilities, states) the whole model is unsharded once
instead: a reply has many tokens, and each process writes its own at its own pace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

from laconic.envs.errors import SettingError

_BFLOAT16 = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)


def shard(model: nn.Module, plugin: Any, mesh: DeviceMesh, autocast: bool = False) -> None:
    """Shard a model layer by layer, in place; all processes hold the same weights before.

    Args:
        model: a causal language model on its device.
        plugin: accelerate's settings (`FullyShardedDataParallelPlugin`).
        mesh: of all processes, with one dimension.
        autocast: whether passes are computed in bfloat16. Weights come together in it then, unless
            the settings say otherwise; gradients are summed in float32.

    Raises:
        SettingError: the model has no layers of the names that the settings have.
    """
    names = layer_names(model, plugin)
    layers = [module for module in model.modules() if type(module).__name__ in names]
    if not layers:
        raise SettingError(
            f"fsdp_transformer_layer_cls_to_wrap names {', '.join(sorted(names)) or 'no class'},"
            f" and {type(model).__name__} has no such layers; leave it out, which takes the"
            " model's own, or name the class of its layers"
        )
    own = _BFLOAT16 if autocast else MixedPrecisionPolicy()
    settings: dict[str, Any] = {
        "mesh": mesh,
        "mp_policy": plugin.mixed_precision_policy or own,
        "offload_policy": plugin.cpu_offload,
    }
    for layer in layers:
        fully_shard(layer, reshard_after_forward=bool(plugin.reshard_after_forward), **settings)
    fully_shard(model, reshard_after_forward=False, **settings)
    # The first pass goes through the root, and tells all parts that they are parts of it.
    with torch.no_grad():
        model(input_ids=torch.zeros(1, 1, dtype=torch.long, device=mesh.device_type))
    model.reshard()  # type: ignore[operator]


def layer_names(model: nn.Module, plugin: Any) -> set[str]:
    """The classes of layers that are sharded: those of the settings, or else the model's own."""
    chosen = plugin.transformer_cls_names_to_wrap
    return set(chosen or getattr(model, "_no_split_modules", None) or ())


@contextmanager
def unshard(models: Sequence[nn.Module]) -> Iterator[None]:
    """Put models together on every process, and shard them again at the end."""
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
