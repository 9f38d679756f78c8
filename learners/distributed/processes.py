"""The processes that train together, as the code sees them that has to know of the others.

Every process holds all weights, draws the same tasks, plays its own share of a step's groups, and
is handed those of all others. So each of them knows everything about a step that can be counted,
compared or averaged (advantages, divisors, moving averages, prices, minibatches), and works it out
by itself as one process alone would. What is dear is split: episodes, forward and backward passes.
Gradients are summed before the step, so all take the same one.

`Processes` is one process by itself, for which all of this costs nothing. Others say how they
`gather` and `add`, and, where weights are in parts, how these come together:
`learners.distributed.launched`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

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
    """Whether weights are in parts, of which each process has its own. All then make the same
    number of passes through a model, and its gradients are means over the processes."""

    @property
    def is_main(self) -> bool:
        """Whether this is the one that writes and speaks."""
        return self.rank == 0

    def gather(self, values: list[T]) -> list[T]:
        """What all processes have, one after the other; tensors come on the CPU."""
        return values

    def add(self, tensor: Tensor) -> None:
        """Put the sum over all processes in the place of a tensor."""

    def shard(self, model: nn.Module) -> None:
        """Leave this process its own part of the weights, if weights are to be in parts."""

    def whole(self) -> AbstractContextManager[None]:
        """While it lasts weights are whole everywhere, and passes need no other process."""
        return nullcontext()

    def full(self, state: Any) -> Any:
        """A state, nested as it may be, with every tensor whole; all processes have to ask."""
        return state

    def placed(self, state: Mapping[str, Tensor], like: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Tensors by name, each in the parts in which that of `like` is."""
        return dict(state)

    def close(self) -> None:
        """Part from the others."""

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

    def own(self, items: Sequence[T]) -> Sequence[T]:
        """The items that are this process's to see to: as many as others have, or one less."""
        bounds = [len(items) * rank // self.count for rank in (self.rank, self.rank + 1)]
        return items[bounds[0] : bounds[1]]

    def spread(self, items: Sequence[T], function: Callable[[Sequence[T]], Sequence[R]]) -> list[R]:
        """Let every process make something of its own items, with whole weights.

        Args:
            items: of all processes, the same everywhere.
            function: makes a list of a list, which may be empty.

        Returns:
            The results of all processes, in the order of items.
        """
        with self.whole():
            made = list(function(self.own(items)))
        return self.gather(made)

    def clip(self, parameters: Sequence[Tensor], most: float) -> float:
        """Sum the gradients over the processes and scale them down.

        Args:
            parameters: of one policy; one that has a gradient nowhere stays without.
            most: the norm that they have afterwards at most.

        Returns:
            The norm of the sums.
        """
        if self.count > 1:
            self._sum_gradients([one for one in parameters if not _in_parts(one)])
        norm: Any = torch.nn.utils.clip_grad_norm_(parameters, most)
        return float(norm.full_tensor() if _in_parts(norm) else norm)

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
                # Their losses were multiplied (`microbatches.passes`) for gradients that come as
                # means; whole weights beside those in parts have sums.
                flat /= self.count
            for one, part in zip(bucket, flat.split([one.numel() for one in bucket]), strict=True):
                one.copy_(part.view_as(one))


ALONE = Processes()
"""The process that has no others."""


def _in_parts(tensor: Tensor) -> bool:
    return hasattr(tensor, "full_tensor")


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
