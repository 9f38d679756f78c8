"""In which numbers weights are kept, and in which a pass through a model is computed.

Weights that are trained are kept in float32: a step of AdamW at 1e-6 is far smaller than the
distance between two bfloat16 numbers of the size of most weights, and would be rounded away.
Passes are computed in bfloat16 where that is worth it (autocast; arXiv 1710.03740, 1905.12322).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from laconic.envs.errors import UnknownNameError
from laconic.learners.agents.sampling import AUTOCAST, PRECISIONS

log = logging.getLogger(__name__)

LARGE = 50_000_000
"""A model with more parameters than these computes in bfloat16 by itself."""


@dataclass(frozen=True, slots=True)
class Precision:
    """How a model is kept and computed."""

    dtype: str
    """Type of its weights, as torch names it."""
    autocast: bool = False
    """Whether passes are computed in bfloat16, whatever the weights are in."""

    @property
    def exact(self) -> bool:
        """Whether sampling and training compute alike, up to the rounding of float32."""
        return not self.autocast and self.dtype in ("float32", "float64")

    @property
    def computed(self) -> str:
        """Type in which passes are computed, as torch names it."""
        return "bfloat16" if self.autocast else self.dtype

    @contextmanager
    def computing(self, device: torch.device) -> Iterator[None]:
        """Passes of a model within it are computed as this says."""
        if not self.autocast:
            yield
            return
        with torch.autocast(device.type, torch.bfloat16):
            yield


FLOAT32 = Precision("float32")


def multiplies_bfloat16(device: str) -> bool:
    """Whether a device has instructions for bfloat16: a GPU, and some processors.

    Others emulate them, and are many times slower in bfloat16 than in float32.

    Args:
        device: as torch names it, or `auto` for a GPU where there is one.
    """
    if device != "cpu" and (device != "auto" or torch.cuda.is_available()):
        return True
    try:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    except (AttributeError, RuntimeError):
        return False


def choose(
    name: str, parameters: Callable[[], int], trained: bool, device: str = "auto"
) -> Precision:
    """The precision of a model.

    Args:
        name: one of `PRECISIONS`; `auto` is `bfloat16_autocast` for more than `LARGE` parameters
            on a device that multiplies in bfloat16, and else `float32`; any other name is the type
            of weights and passes.
        parameters: counts those of the model; only asked for `auto`.
        trained: whether its weights take steps. Those that do not (frozen ones, the base of
            adapters) lose nothing in bfloat16, and are kept in it under `bfloat16_autocast`.
        device: where it is computed; only asked for `auto`.

    Raises:
        UnknownNameError: there is no such precision.
    """
    if name not in PRECISIONS:
        raise UnknownNameError("agent.precision", name, PRECISIONS)
    if name == "auto":
        large = multiplies_bfloat16(device) and parameters() > LARGE
        name = AUTOCAST if large else "float32"
    if name == AUTOCAST:
        return Precision("float32" if trained else "bfloat16", autocast=True)
    if trained and name in ("bfloat16", "float16"):
        log.warning(
            "agent.precision=%s keeps the weights that are trained in %s, where small steps are"
            " rounded away: a step of AdamW at 1e-6 changes less than one weight in a hundred."
            " Take agent.precision=%s, which computes as fast and keeps float32 weights;"
            " learner/changed_weights says what share the first update has changed",
            name,
            name,
            AUTOCAST,
        )
    return Precision(name)
