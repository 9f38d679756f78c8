"""Number types of weights and of passes through a model.

Trained weights stay in float32: a step of AdamW at 1e-6 is far smaller than the distance between
two bfloat16 numbers of the size of most weights, and would be rounded away. Passes use bfloat16
where it pays (autocast; arXiv 1710.03740, 1905.12322).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import torch

from laconic.envs.errors import UnknownNameError
from laconic.learners.agents.sampling import AUTOCAST, PRECISIONS

log = logging.getLogger(__name__)

LARGE = 50_000_000
"""Parameters above which `auto` computes in bfloat16."""


@dataclass(frozen=True, slots=True)
class Precision:
    """Number types of a model."""

    dtype: str
    """Type of the weights, as torch names it."""
    autocast: bool = False
    """True if passes use bfloat16, whatever the type of the weights."""

    @property
    def exact(self) -> bool:
        """True if sampling and training agree up to the rounding of float32."""
        return not self.autocast and self.dtype in ("float32", "float64")

    @property
    def computed(self) -> str:
        """Type in which passes are computed, as torch names it."""
        return "bfloat16" if self.autocast else self.dtype


FLOAT32 = Precision("float32")


def multiplies_bfloat16(device: str) -> bool:
    """Return whether a device has instructions for bfloat16: GPUs and some processors.

    Others emulate them and are many times slower in bfloat16 than in float32.

    Args:
        device: torch's name of the device, or `auto` for a GPU if there is one.
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
    """Return the precision of a model.

    Args:
        name: one of `PRECISIONS`. `auto` is `bfloat16_autocast` for more than `LARGE` parameters
            on a device that multiplies in bfloat16, and `float32` otherwise. Any other name is the
            type of weights and passes.
        parameters: counts the model's parameters; called for `auto` only.
        trained: whether the weights are trained. Frozen weights and the base of adapters lose
            nothing in bfloat16, so `bfloat16_autocast` stores them in it.
        device: device of the model; used for `auto` only.

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
            " learner/changed_weights is the fraction of weights that the first update changed",
            name,
            name,
            AUTOCAST,
        )
    return Precision(name)
