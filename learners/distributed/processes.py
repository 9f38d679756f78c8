"""The processes that train together, for the code that has to know of the others.

Every process holds all weights, draws the same tasks, plays its own share of a step's groups, and
is handed the groups of all others. So each computes advantages, divisors, moving averages, prices
and minibatches of the whole step by itself, as one process alone would. What is expensive is split:
episodes, forward and backward passes. Gradients are summed before the step, so all take the same.

`Processes` is one process by itself, for which all of this costs nothing. Others say how they
`gather` and `add`, and how sharded weights come together: `learners.distributed.launched`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from laconic.learners.errors import ProcessError

T = TypeVar("T")
R = TypeVar("R")

_BUCKET = 2**25
"""Numbers that are summed at a time, if no single tensor has more."""


class Processes:
    """One process by itself: nothing is split, sent or waited for.

    All processes call the same methods in the same order; one that does not is waited for.
    """

    rank: int = 0
    """Which of the processes this one is, from 0."""
    count: int = 1
    """How many there are."""
    sharded: bool = False
    """Whether weights are sharded (FSDP2). All processes then make the same number of passes
    through a model, and its gradients are means over the processes."""

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes files and prints."""
        return self.rank == 0

    def gather(self, values: list[T]) -> list[T]:
        """The values of all processes, in the order of ranks; tensors come on the CPU."""
        return values

    def add(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all processes, in place."""

    def shard(self, model: nn.Module, autocast: bool = False) -> None:
        """Leave this process its own shard of the weights, if weights are to be sharded.

        Args:
            model: alike on all processes.
            autocast: whether passes are computed in bfloat16; weights come together in it then.
        """

    def unshard(self) -> AbstractContextManager[None]:
        """While it lasts all weights are on every process, and passes need no other process."""
        return nullcontext()

    def close(self) -> None:
        """Leave the other processes."""

    def empty(self, shape: torch.Size, dtype: torch.dtype) -> Tensor:
        """Room for a tensor of a checkpoint: sharded if weights are, else whole and on the CPU."""
        return torch.empty(shape, dtype=dtype)

    def full_state(self, state: Any) -> Any:
        """A state (nested dicts, lists, tuples) with sharded tensors whole on the main process.

        They are on the CPU there; elsewhere each is a tensor without data (of the device `meta`).
        All processes have to call it. A parameter with two names (tied weights) stays one tensor.
        """
        if not self.sharded:
            return state
        found: dict[int, Tensor] = {}

        def full(tensor: Any) -> Any:
            if _is_sharded(tensor) and id(tensor) not in found:
                whole = tensor.full_tensor().detach()
                found[id(tensor)] = whole.to("cpu" if self.is_main else "meta")
            return found.get(id(tensor), tensor)

        return map_tensors(full, state)

    def shard_like(
        self, state: Mapping[str, Tensor], like: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Tensors by name; whole ones sharded as those of `like` with that name and shape are."""
        return {name: _shard_like(tensor, like.get(name)) for name, tensor in state.items()}

    def first(self, value: T) -> T:
        """The value that the main process has."""
        return self.gather([value])[0]

    def any(self, flag: bool) -> bool:
        """Whether it is true of any process."""
        return any(self.gather([flag]))

    def total(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Counts by name, summed over the processes."""
        every = self.gather([dict(counts)])
        names = dict.fromkeys(name for one in every for name in one)
        return {name: sum(one.get(name, 0.0) for one in every) for name in names}

    def main(self, function: Callable[[], T]) -> T:
        """Let the main process alone do something, while the others wait; all get the result.

        Raises:
            SystemExit: on the others, where it raises on the main process, which tells why.
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
        """This process's share of some items: as many as others have, or one less."""
        bounds = [len(items) * rank // self.count for rank in (self.rank, self.rank + 1)]
        return items[bounds[0] : bounds[1]]

    def map_sharded(
        self,
        items: Sequence[T],
        function: Callable[[Sequence[T]], Sequence[R]],
        *,
        unshard: bool = True,
    ) -> list[R]:
        """Apply a function to every process's share of some items, by default with whole weights.

        The items are the same on all processes; the function is given a list, which may be empty.
        Without `unshard` it must pass nothing through a model. Returns the results of all
        processes, in the order of items.

        Raises:
            ProcessError: the function failed on another process; on that one its own error.
        """
        made: list[R] = []
        failed: Exception | None = None
        with self.unshard() if unshard else nullcontext():
            try:
                made = list(function(self.local_shard(items)))
            except Exception as error:
                if self.count == 1:
                    raise
                failed = error
        parts = self.gather([(made, "" if failed is None else f"{failed}")])
        if failed is not None:
            raise failed
        if wrong := {rank: why for rank, (_, why) in enumerate(parts) if why}:
            rank, why = next(iter(wrong.items()))
            raise ProcessError(f"process {rank} of {self.count} failed: {why}")
        return [one for part, _ in parts for one in part]

    def clip(self, parameters: Sequence[Tensor], max_norm: float) -> float:
        """Sum the gradients over the processes, then scale them down to a norm of all together.

        A parameter that has a gradient on no process stays without. Returns the norm of the sums
        before they are scaled.
        """
        if self.count > 1:
            self._sum_gradients([one for one in parameters if not _is_sharded(one)])
        norm: Any = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
        return float(norm.full_tensor() if self.sharded and _is_sharded(norm) else norm)

    def _sum_gradients(self, parameters: Sequence[Tensor]) -> None:
        held = self.gather([[one.grad is not None for one in parameters]])
        gradients = []
        for parameter, *flags in zip(parameters, *held, strict=True):
            if any(flags):
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                gradients.append(parameter.grad)
        for bucket in _buckets(gradients):
            flat = torch.cat([one.reshape(-1) for one in bucket])
            self.add(flat)
            if self.sharded:
                # Losses were multiplied for the gradients of sharded weights, which come as means;
                # those of whole weights beside them come as sums.
                flat /= self.count
            for one, part in zip(bucket, flat.split([one.numel() for one in bucket]), strict=True):
                one.copy_(part.view_as(one))


ALONE = Processes()
"""The process that has no others."""


def map_tensors(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    """A nested value (dicts, lists, tuples) with a function applied to every tensor in it."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, Mapping):
        return {name: map_tensors(function, one) for name, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map_tensors(function, one) for one in value)
    return value


def _is_sharded(tensor: Tensor | None) -> bool:
    return hasattr(tensor, "full_tensor")


def _shard_like(tensor: Tensor, like: Any) -> Tensor:
    if _is_sharded(tensor) or not _is_sharded(like) or tensor.shape != like.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements)


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Runs of tensors of one type and device that are summed together."""
    bucket: list[Tensor] = []
    for tensor in tensors:
        alike = bucket and (tensor.dtype, tensor.device) == (bucket[0].dtype, bucket[0].device)
        if bucket and not (alike and sum(map(Tensor.numel, bucket)) + tensor.numel() <= _BUCKET):
            yield bucket
            bucket = []
        bucket.append(tensor)
    if bucket:
        yield bucket
