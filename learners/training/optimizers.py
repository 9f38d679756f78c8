"""Optimisers beside those of torch that fit every policy as they are.

Each is made like any optimiser of torch, of an iterable of parameters and its settings; a yaml
below `conf/optimizer/` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.optim import AdamW, Optimizer


class Muon(Optimizer):
    """Muon (Jordan et al. 2024, `torch.optim.Muon`) for matrices, and AdamW for all else.

    Steps of matrices are brought to the size that those of AdamW have (arXiv 2502.16982), so that
    one learning rate fits both. Parameters come without names: an embedding is a matrix, too.
    """

    def __init__(
        self,
        params: Iterable[torch.Tensor],
        lr: float = 1e-6,
        momentum: float = 0.95,
        betas: tuple[float, float] = (0.9, 0.99),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        """Part the parameters by their shape.

        Args:
            params: tensors of any shape.
            lr: learning rate of both.
            momentum: of Muon.
            betas: of AdamW.
            eps: of AdamW.
            weight_decay: of both, decoupled.

        Raises:
            ImportError: torch is older than 2.9.
        """
        if not hasattr(torch.optim, "Muon"):
            raise ImportError(f"optimizer=muon needs torch 2.9 or later; got {torch.__version__}")
        given = list(params)
        matrices = [one for one in given if one.ndim == 2]
        others = [one for one in given if one.ndim != 2]
        both: Any = {"lr": lr, "weight_decay": weight_decay}
        self._parts: list[Optimizer] = []
        if matrices:
            own: Any = {"momentum": momentum, "adjust_lr_fn": "match_rms_adamw"}
            self._parts.append(torch.optim.Muon(matrices, **own, **both))
        if others:
            self._parts.append(AdamW(others, betas=betas, eps=eps, **both))
        super().__init__([group for part in self._parts for group in part.param_groups], {})
        self._link()

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step of both; returns the loss of the closure, where there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self._parts:
            part.step()
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        super().load_state_dict(state_dict)
        self._link()

    def _link(self) -> None:
        """Let the parts work on the groups and the state that this optimiser shows and saves."""
        for part, group in zip(self._parts, self.param_groups, strict=True):
            part.param_groups, part.state = [group], self.state


def adamw8bit(
    params: Iterable[torch.Tensor],
    lr: float = 1e-6,
    betas: tuple[float, float] = (0.9, 0.99),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> Optimizer:
    """AdamW whose moments are kept in 8 bits (arXiv 2110.02861), of the package bitsandbytes.

    Raises:
        ImportError: it is not installed.
    """
    try:
        from bitsandbytes.optim import AdamW8bit
    except ImportError as error:
        raise ImportError(
            "optimizer=adamw8bit needs the package bitsandbytes: pip install bitsandbytes, or take"
            " optimizer=adafactor, which keeps hardly any moments"
        ) from error
    made: Optimizer = AdamW8bit(params, lr, betas, eps, weight_decay)
    return made
