"""Processes that a launcher has started: `accelerate launch` or `torchrun`, on any machines.

accelerate connects them and reads the launcher's settings; it is imported only for several
processes. This module decides which of its ways to split work are used and which are refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import cache, cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from laconic.envs.errors import SettingError, install
from laconic.learners.distributed.launcher import started
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes, map_tensors
from laconic.learners.errors import ProcessError

T = TypeVar("T")

_LOST = re.compile(r"by peer|broken pipe|remote process exited|unhandled system error", re.I)
"""What gloo and NCCL say when the process at the other end is gone."""

PATIENCE = timedelta(hours=1)
"""Longest time to wait for another process that is silent. One that ends is noticed at once."""
_KNOWN = ("MULTI_CPU", "MULTI_GPU", "FSDP")
"""Distribution types of accelerate that are supported."""


@cache
def launched() -> Processes:
    """Return this process and those it was started with, connected at the first call.

    Raises:
        SettingError: accelerate is missing, or splits work in an unsupported way.
    """
    return Launched() if started() > 1 else SINGLE_PROCESS


class Launched(Processes):
    """Several processes, connected by accelerate."""

    def __init__(self) -> None:
        """Connect to the others; see `launched`."""
        try:
            from accelerate import Accelerator
            from accelerate.utils import InitProcessGroupKwargs
        except ImportError as error:
            raise SettingError(
                f"several processes need the package accelerate: {install('distributed')}"
            ) from error
        self._accelerator = Accelerator(
            cpu=not torch.cuda.is_available(),
            kwargs_handlers=[InitProcessGroupKwargs(timeout=PATIENCE)],
        )
        self._plugin = _plugin(self._accelerator)
        _check(self._accelerator, self._plugin)
        self.rank = self._accelerator.process_index
        self.count = self._accelerator.num_processes
        self.sharded = self._plugin is not None
        self._models: list[nn.Module] = []

    def gather(self, values: list[T]) -> list[T]:
        """Return the values of all processes, which are pickled; tensors come on the CPU."""
        from accelerate.utils import gather_object

        on_cpu = map_tensors(lambda tensor: tensor.detach().cpu(), values)
        with _waiting():
            gathered: list[T] = gather_object(on_cpu)
        return gathered

    def add(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all processes, in place."""
        with _waiting():
            torch.distributed.all_reduce(tensor)

    def shard(self, model: nn.Module, autocast: bool = False) -> None:
        """Shard a model by FSDP2, if the launcher asks for it."""
        if self._plugin is not None:
            from laconic.learners.distributed import sharding

            sharding.shard(model, self._plugin, self._mesh, autocast)
            self._models.append(model)

    def unshard(self) -> AbstractContextManager[None]:
        """Hold all weights of sharded models on every process for a while."""
        if not self._models:
            return super().unshard()
        from laconic.learners.distributed import sharding

        return sharding.unshard(self._models)

    def empty(self, shape: torch.Size, dtype: torch.dtype) -> Tensor:
        """Allocate a tensor of a checkpoint, with rows for each process if weights are sharded."""
        if not self.sharded:
            return super().empty(shape, dtype)
        from torch.distributed.tensor import Shard, empty

        return empty(shape, dtype=dtype, device_mesh=self._mesh, placements=[Shard(0)])

    @cached_property
    def _mesh(self) -> Any:
        from torch.distributed.device_mesh import init_device_mesh

        return init_device_mesh(self._accelerator.device.type, (self.count,))

    def close(self) -> None:
        """Leave the group, which ends when all have left."""
        self._accelerator.end_training()


@contextmanager
def _waiting() -> Iterator[None]:
    """Wait for other processes; say so in one line if one of them ended.

    Raises:
        ProcessError: the connection to another process was lost.
    """
    try:
        yield
    except RuntimeError as error:
        if not _LOST.search(str(error)):
            raise
        raise ProcessError(
            "another process of this run ended, so this one ends too; the message of the other is"
            " the cause, or it was killed. Start all of them again with resume=true"
        ) from error


def _plugin(accelerator: Any) -> Any:
    """Return the FSDP settings of the launcher; None without FSDP.

    accelerate reads them on GPUs only; two processes on a CPU can shard too, for a test.
    """
    if os.environ.get("ACCELERATE_USE_FSDP", "false").lower() != "true":
        return None
    if accelerator.distributed_type.name == "FSDP":
        return accelerator.state.fsdp_plugin
    from accelerate.utils import FullyShardedDataParallelPlugin

    return FullyShardedDataParallelPlugin()


def _check(accelerator: Any, plugin: Any) -> None:
    """Refuse settings of accelerate that are not supported, and name those that are."""
    kind, precision = accelerator.distributed_type.name, accelerator.mixed_precision
    if kind not in _KNOWN:
        raise SettingError(
            f"accelerate was told to split work by {kind}; several processes work with plain data"
            " parallel training (--multi_gpu) and with FSDP2 (--use_fsdp --fsdp_version 2)"
        )
    if plugin is None and precision != "no":
        raise SettingError(
            f"accelerate's mixed_precision={precision} works with FSDP alone;"
            " pass --mixed_precision no, and set agent.precision, which has the same effect here"
        )
    for message in () if plugin is None else _refusals(plugin):
        raise SettingError(message)


def _refusals(plugin: Any) -> Iterator[str]:
    if plugin.fsdp_version != 2:
        yield f"fsdp_version must be 2; got {plugin.fsdp_version}: pass --fsdp_version 2"
    if not plugin.reshard_after_forward:
        yield (
            "fsdp_reshard_after_forward must be true: the layers of a model are gathered for one"
            " pass only; pass --fsdp_reshard_after_forward true"
        )
    if type(plugin.cpu_offload).__name__ == "CPUOffloadPolicy":
        yield (
            "fsdp_offload_params must be false, because the inputs of an update stay beside the"
            " weights; pass --fsdp_offload_params false"
        )
    if plugin.cpu_ram_efficient_loading:
        yield (
            "fsdp_cpu_ram_efficient_loading must be false, because every process reads the weights"
            " itself; pass --fsdp_cpu_ram_efficient_loading false"
        )
