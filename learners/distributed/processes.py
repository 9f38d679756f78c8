"""Processes that train together, as seen by one of them.

Every process holds all weights, draws the same tasks, plays its own share of a step's groups, and
receives the groups of all others. So each computes advantages, divisors, moving averages, prices
and minibatches of the whole step by itself, as a single process would. Expensive work is split:
episodes, forward and backward passes. Gradients are summed before a step, so all take the same.

`Processes` is a single process, for which nothing is split. `learners.distributed.launched` has
several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from laconic.learners.errors import ProcessError

T = TypeVar("T")
R = TypeVar("R")

_BUCKET = 2**25
"""Number of entries summed at a time, if no single tensor has more."""


class Processes:
    """A single process: nothing is split, sent or awaited.

    Several processes call the same methods in the same order; the others wait for one that does
    not.
    """

    rank: int = 0
    """Index of this process, from 0."""
    count: int = 1
    """Number of processes."""
    sharded: bool = False
    """True when weights are sharded (FSDP2). All processes then make the same number of passes
    through a model, and its gradients are means over the processes."""

    @property
    def is_main(self) -> bool:
        """True on the process that writes files and prints."""
        return self.rank == 0

    def gather(self, values: list[T]) -> list[T]:
        """Return the values of all processes in the order of ranks, tensors on the CPU."""
        return values

    def add(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all processes, in place."""

    def shard(self, model: nn.Module, autocast: bool = False) -> None:
        """Leave this process its own shard of the weights, if weights are sharded.

        Args:
            model: a model that is the same on all processes.
            autocast: whether passes are computed in bfloat16; weights are gathered in it then.
        """

    def unshard(self) -> AbstractContextManager[None]:
        """Hold all weights on every process for a while; passes then need no other process."""
        return nullcontext()

    def close(self) -> None:
        """Leave the other processes."""

    def empty(self, shape: torch.Size, dtype: torch.dtype) -> Tensor:
        """Allocate a tensor of a checkpoint: sharded if weights are, else whole and on the CPU."""
        return torch.empty(shape, dtype=dtype)

    def full_state(self, state: Any) -> Any:
        """Gather the sharded tensors of a state (nested dicts, lists, tuples) on the main process.

        They are on the CPU there; elsewhere each is a tensor without data (device `meta`). All
        processes must call it. A parameter with two names (tied weights) stays one tensor.
        """
        if not self.sharded:
            return state
        whole: dict[int, Tensor] = {}

        def full(tensor: Any) -> Any:
            if _is_sharded(tensor) and id(tensor) not in whole:
                gathered = tensor.full_tensor().detach()
                whole[id(tensor)] = gathered.to("cpu" if self.is_main else "meta")
            return whole.get(id(tensor), tensor)

        return map_tensors(full, state)

    def shard_like(
        self, state: Mapping[str, Tensor], like: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Shard whole tensors as the tensors of `like` with the same name and shape are."""
        return {name: _shard_like(tensor, like.get(name)) for name, tensor in state.items()}

    def first(self, value: T) -> T:
        """Return the value of the main process."""
        return self.gather([value])[0]

    def any(self, flag: bool) -> bool:
        """Return whether a flag is set on any process."""
        return any(self.gather([flag]))

    def total(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Sum counts by name over the processes."""
        by_process = self.gather([dict(counts)])
        names = dict.fromkeys(name for each in by_process for name in each)
        return {name: sum(each.get(name, 0.0) for each in by_process) for name in names}

    def main(self, function: Callable[[], T]) -> T:
        """Call a function on the main process while the others wait; all get the result.

        Raises:
            SystemExit: on the others, if it raises on the main process, which reports the error.
        """
        if self.count == 1:
            return function()
        error, result = None, None
        if self.is_main:
            try:
                result = function()
            except BaseException as raised:
                error = raised
        failed, result = self.first((error is not None, result))
        if error is not None:
            raise error
        if failed:
            raise SystemExit(1)
        return result  # type: ignore[return-value]

    def local_shard(self, items: Sequence[T]) -> Sequence[T]:
        """Return this process's share of some items: as many as the others, or one less."""
        start, end = (len(items) * rank // self.count for rank in (self.rank, self.rank + 1))
        return items[start:end]

    def map_sharded(
        self,
        items: Sequence[T],
        function: Callable[[Sequence[T]], Sequence[R]],
        *,
        unshard: bool = True,
    ) -> list[R]:
        """Apply a function to every process's share of items, and return the results of all.

        Args:
            items: the same items on all processes.
            function: maps a share, which may be empty, to one result per item.
            unshard: whether weights are whole meanwhile. If not, the function must pass nothing
                through a model.

        Raises:
            ProcessError: the function failed on another process; on that one its own error.
        """
        if self.count == 1:
            return list(function(items))
        results: list[R] = []
        failure: Exception | None = None
        with self.unshard() if unshard else nullcontext():
            try:
                results = list(function(self.local_shard(items)))
            except Exception as error:
                failure = error
        parts = self.gather([(results, "" if failure is None else f"{failure}")])
        if failure is not None:
            raise failure
        for rank, (_, reason) in enumerate(parts):
            if reason:
                raise ProcessError(f"process {rank} of {self.count} failed: {reason}")
        return [result for part, _ in parts for result in part]

    def sum_gradients(self, parameters: Sequence[Tensor]) -> None:
        """Sum the gradients of whole parameters over the processes; FSDP2 sums those of sharded.

        A parameter that has a gradient on no process stays without.
        """
        whole = [parameter for parameter in parameters if not _is_sharded(parameter)]
        flags = self.gather([[parameter.grad is not None for parameter in whole]])
        gradients: list[Tensor] = []
        for parameter, *present in zip(whole, *flags, strict=True):
            if any(present):
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                gradients.append(parameter.grad)
        for bucket in _buckets(gradients):
            flat = torch.cat([gradient.reshape(-1) for gradient in bucket])
            self.add(flat)
            if self.sharded:
                # Losses were multiplied by the number of processes, because gradients of sharded
                # weights come as means. Those of whole weights beside them come as sums.
                flat /= self.count
            sizes = [gradient.numel() for gradient in bucket]
            for gradient, part in zip(bucket, flat.split(sizes), strict=True):
                gradient.copy_(part.view_as(gradient))


SINGLE_PROCESS = Processes()
"""Process without others."""


def map_tensors(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    """Apply a function to every tensor in a nested value (dicts, lists, tuples)."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, Mapping):
        return {name: map_tensors(function, each) for name, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map_tensors(function, each) for each in value)
    return value


def _is_sharded(tensor: Tensor | None) -> bool:
    return hasattr(tensor, "full_tensor")


def _shard_like(tensor: Tensor, like: Any) -> Tensor:
    if _is_sharded(tensor) or not _is_sharded(like) or tensor.shape != like.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements)


def _buckets(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    """Cut tensors into runs of one type and device that are summed together."""
    buckets: list[list[Tensor]] = []
    for tensor in tensors:
        last = buckets[-1] if buckets else []
        alike = last and (tensor.dtype, tensor.device) == (last[0].dtype, last[0].device)
        if alike and sum(map(Tensor.numel, last)) + tensor.numel() <= _BUCKET:
            last.append(tensor)
        else:
            buckets.append([tensor])
    return buckets
