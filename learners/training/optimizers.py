"""Optimizers beyond those of torch.

Each is made like an optimizer of torch, from an iterable of parameters and settings. A file in
`conf/optimizer/` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.optim import AdamW, Optimizer


class Muon(Optimizer):
    """Muon (Jordan et al. 2024, `torch.optim.Muon`) for matrices, AdamW for all other parameters.

    Steps of matrices are scaled to the size of AdamW's (arXiv 2502.16982), so that one learning
    rate fits both. Parameters come without names: an embedding is a matrix too.
    """

    def __init__(
        self,
        params: Iterable[torch.Tensor],
        lr: float = 1e-4,
        momentum: float = 0.95,
        betas: tuple[float, float] = (0.9, 0.99),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        """Split the parameters by their shape.

        Args:
            params: tensors of any shape.
            lr: learning rate of both.
            momentum: momentum of Muon.
            betas: decay rates of AdamW's moments.
            eps: number added to the denominator of AdamW.
            weight_decay: decoupled weight decay of both.

        Raises:
            ImportError: torch is older than 2.9.
        """
        if not hasattr(torch.optim, "Muon"):
            raise ImportError(f"optimizer=muon needs torch 2.9 or later; got {torch.__version__}")
        parameters = list(params)
        matrices = [parameter for parameter in parameters if parameter.ndim == 2]
        others = [parameter for parameter in parameters if parameter.ndim != 2]
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
        """Take one step of both; return the loss of the closure, if there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self._parts:
            part.step()
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state of `state_dict`."""
        super().load_state_dict(state_dict)
        self._link()

    def _link(self) -> None:
        """Make both optimizers use the groups and the state of this one."""
        for part, group in zip(self._parts, self.param_groups, strict=True):
            part.param_groups, part.state = [group], self.state


def adamw8bit(
    params: Iterable[torch.Tensor],
    lr: float = 1e-4,
    betas: tuple[float, float] = (0.9, 0.99),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> Optimizer:
    """Make an AdamW with moments in 8 bits (arXiv 2110.02861), of the package bitsandbytes.

    Raises:
        ImportError: it is not installed.
    """
    try:
        from bitsandbytes.optim import AdamW8bit
    except ImportError as error:
        raise ImportError(
            "optimizer=adamw8bit needs the package bitsandbytes: pip install bitsandbytes, or set"
            " optimizer=adafactor, which needs little memory for moments"
        ) from error
    optimizer: Optimizer = AdamW8bit(params, lr, betas, eps, weight_decay)
    return optimizer
