"""A loss of one's own, in place of `Objective`.

A loss is a callable from `LossInputs` to `LossOutputs`. Two attributes are read where it has them:

    importance_sampling_level   what its ratio covers, which chooses the correction for engines;
                                `token` by default, `none` if it reads no `behavior_logprobs`
    beta                        weight of a KL; above 0 the inputs have `reference_logprobs`. 0 by
                                default

Its inputs are those of a batch without surprises: float32 or better, 0 where no token was
generated, an advantage and a weight for each token. Tried on a made-up batch before anything is
played, it is refused where it would train wrongly and say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from laconic.envs.errors import SettingError
from laconic.learners.training.objective import LossInputs, LossOutputs, Objective, _generated

Loss = Callable[[LossInputs], LossOutputs]
"""A loss of one's own; it may have `importance_sampling_level` and `beta`."""
_FLOATS = (torch.float32, torch.float64)
_MEASURES = Objective("none")
"""Measures ratios and divergences, which do not depend on a loss."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnLoss(Objective):
    """A loss of one's own, as the learner calls it. Every generated token enters it."""

    loss: Loss = _MEASURES
    """The callable."""
    rows: tuple[str, ...] = ()
    """Names of its metrics, the same in every call and process."""
    weighs: bool = True
    """True if it reads the weights of a correction."""

    def __call__(self, inputs: LossInputs) -> LossOutputs:
        """Compute the loss, and the metrics that need none of the callable.

        Raises:
            SettingError: it returned something else than a loss, or ignores a correction.
        """
        if inputs.weights is not None and not self.weighs and bool((inputs.weights != 1).any()):
            raise SettingError(
                f"learner.objective: expected {_name(self.loss)} to multiply the loss of each token"
                " by inputs.weights, because the engine sampled with other log-probabilities; it"
                " ignores them. Use inputs.mean, or set learner.correction=none"
            )
        outputs = _checked(self.loss, _prepared(inputs))
        if tuple(sorted(outputs.rows)) != self.rows:
            raise _wrong(
                self.loss,
                f"the rows {list(self.rows)} in every call",
                f"{sorted(outputs.rows)}",
                "return the same names always, with zeros where there is nothing to say",
            )
        with torch.no_grad():
            rows = dict(_MEASURES(inputs).rows)
        rows |= {f"loss/{name}": row.detach() for name, row in outputs.rows.items()}
        # Rows are what processes exchange; these add up to the loss.
        rows["loss"] = (outputs.loss.detach() / len(rows["tokens"])).expand_as(rows["tokens"])
        return LossOutputs(outputs.loss, rows)

    def has_gradient(self, advantage: float) -> bool:
        """Return True: a loss of one's own may learn from a sequence without advantage."""
        return True

    def divisor(self, sequences: int, tokens: int) -> float:
        """Return 1: a loss of one's own divides by the counts in its inputs."""
        return 1.0


def as_objective(loss: Any) -> Objective:
    """Return an `Objective` for any loss; one of this package is returned as it is.

    Raises:
        SettingError: the loss is no callable, or fails on a made-up batch: it returns something
            else than a finite scalar with a gradient, changes with tokens that no one generated,
            or is not the sum of the losses of two parts.
    """
    if isinstance(loss, OwnLoss) or type(loss).__call__ is Objective.__call__:
        return loss  # type: ignore[no-any-return]
    if isinstance(loss, type) or not callable(loss):
        made = f"the class {loss.__name__}" if isinstance(loss, type) else repr(loss)
        raise SettingError(
            "learner.objective must be a callable from LossInputs to LossOutputs; got"
            f" {made}: give the class a __call__, and pass an instance (docs/own_algorithm.md)"
        )
    level: Any = getattr(loss, "importance_sampling_level", "token")
    own = OwnLoss(level, beta=getattr(loss, "beta", 0.0), loss=loss)
    rows, weighs = _try(loss, own.beta > 0)
    return replace(own, rows=rows, weighs=weighs)


def _try(loss: Loss, reference: bool) -> tuple[tuple[str, ...], bool]:
    """Try a loss on a made-up batch; return the names of its rows, and whether it weighs."""
    batch = _made_up(reference)
    outputs = _checked(loss, batch)
    value = outputs.loss.item()
    (gradient,) = torch.autograd.grad(outputs.loss, batch.current_logprobs, allow_unused=True)
    if gradient is None or not bool(gradient[batch.generated_mask].any()):
        raise _wrong(
            loss,
            "a gradient for ratios near 1 and advantages of both signs",
            "0 for every token",
            "no weight would ever change; compute it from inputs.current_logprobs, and look for a"
            " detach or a narrow clip",
        )
    if not math.isfinite(value) or not bool(gradient.isfinite().all()):
        raise _wrong(
            loss,
            "a finite loss and gradient for ratios near 1",
            f"{value:g}" if not math.isfinite(value) else f"{value:g} with a gradient that is not",
            "look for 0 / 0, a logarithm or a root of 0",
        )
    again = _checked(loss, batch).loss.item()
    if again != value:
        raise _wrong(
            loss,
            "the same loss for the same inputs",
            f"{value:g}, then {again:g}",
            "a resumed run would not continue the same way; draw and remember nothing in it",
        )
    padded = _checked(loss, _padded(batch)).loss.item()
    if not _close(padded, value):
        raise _wrong(
            loss,
            "a loss of generated tokens alone",
            f"{value:g}, and {padded:g} with three more columns of padding",
            "leave tokens out where inputs.generated_mask is False, as inputs.mean does",
        )
    parts = [_checked(loss, _rows(batch, rows)).loss.item() for rows in (slice(0, 2), slice(2, 4))]
    if not _close(sum(parts), value):
        raise _wrong(
            loss,
            f"losses of two parts of a batch that add up to that of the whole, {value:g}",
            f"{parts[0]:g} + {parts[1]:g}",
            "divide sums by inputs.tokens or inputs.sequences, which count the whole minibatch, as"
            " inputs.mean does",
        )
    weighed = replace(batch, weights=torch.full_like(batch.behavior_logprobs, 0.5))
    return tuple(sorted(outputs.rows)), _checked(loss, weighed).loss.item() != value


def _checked(loss: Loss, inputs: LossInputs) -> LossOutputs:
    """Call a loss and refuse what is no loss of these inputs."""
    try:
        outputs: Any = loss(inputs)
    except (SettingError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        raise SettingError(
            f"learner.objective: {_name(loss)} failed: {type(error).__name__}: {error}"
            " (LACONIC_TRACEBACK=1 shows where); inputs have (sequences, tokens), here"
            f" {tuple(inputs.current_logprobs.shape)} (docs/own_algorithm.md)"
        ) from error
    if not isinstance(outputs, LossOutputs):
        raise _wrong(
            loss, "LossOutputs(loss)", f"an object of {type(outputs).__name__}", "return that"
        )
    value: Any = outputs.loss
    if not isinstance(value, Tensor) or value.ndim or value.dtype not in _FLOATS:
        kind = (
            f"{tuple(value.shape)} {value.dtype}" if isinstance(value, Tensor) else repr(value)[:80]
        )
        raise _wrong(
            loss, "a loss of shape (), float32", f"{kind}", "inputs.mean(per_token) makes one"
        )
    if not value.requires_grad:
        raise _wrong(
            loss,
            "a loss with a gradient",
            "one without",
            "compute it from inputs.current_logprobs, and detach nothing but metrics",
        )
    shape = inputs.advantages.shape[:1]
    for name, row in outputs.rows.items():
        if not isinstance(row, Tensor) or row.shape != shape:
            raise _wrong(
                loss,
                f"rows[{name!r}] of shape {tuple(shape)}, one number for each sequence",
                f"{tuple(row.shape) if isinstance(row, Tensor) else repr(row)[:80]}",
                "reduce it over dimension 1",
            )
    return outputs


def _prepared(inputs: LossInputs) -> LossInputs:
    """Return inputs with numbers for every token, 0 where not generated, and weights."""
    mask, advantages = inputs.generated_mask, inputs.advantages
    current = _generated(inputs.current_logprobs, mask)
    behavior = _generated(inputs.behavior_logprobs.detach(), mask)
    rollout, reference = inputs.rollout_logprobs, inputs.reference_logprobs
    if advantages.ndim == 1:
        advantages = advantages[:, None].expand_as(current)
    return replace(
        inputs,
        current_logprobs=current,
        behavior_logprobs=behavior,
        advantages=_generated(advantages.detach().to(current.dtype), mask),
        reference_logprobs=None if reference is None else _generated(reference.detach(), mask),
        rollout_logprobs=behavior if rollout is None else _generated(rollout.detach(), mask),
        weights=torch.ones_like(behavior) if inputs.weights is None else inputs.weights.detach(),
    )


def _made_up(reference: bool) -> LossInputs:
    """Return a prepared batch of four sequences of one to four tokens, ratios 0.8 to 1.2."""
    mask = torch.arange(5) < torch.tensor([[4], [2], [3], [1]])
    # Drawn by no generator, which would change those of the run.
    wave = torch.sin(torch.arange(20.0)).reshape(4, 5)
    behavior = -1.5 + 0.5 * wave
    current = (behavior + 0.2 * torch.cos(3 * torch.arange(20.0)).reshape(4, 5)).requires_grad_()
    advantages = torch.tensor([1.0, -0.5, -1.0, 0.75])
    return _leaf(
        _prepared(
            LossInputs(
                current,
                behavior,
                mask,
                advantages,
                reference_logprobs=behavior - 0.1 if reference else None,
            )
        )
    )


def _leaf(inputs: LossInputs) -> LossInputs:
    """Return inputs from whose own log-probabilities gradients can be asked."""
    return replace(inputs, current_logprobs=inputs.current_logprobs.detach().requires_grad_())


def _each(inputs: LossInputs, change: Callable[[Tensor], Tensor]) -> LossInputs:
    """Return inputs with every tensor changed."""
    names = (
        *("current_logprobs", "behavior_logprobs", "generated_mask", "advantages"),
        *("reference_logprobs", "rollout_logprobs", "weights"),
    )
    tensors: Mapping[str, Tensor | None] = {name: getattr(inputs, name) for name in names}
    changed = {name: change(each) for name, each in tensors.items() if each is not None}
    return replace(inputs, **changed)  # type: ignore[arg-type]


def _padded(inputs: LossInputs) -> LossInputs:
    return _each(inputs, lambda tensor: torch.nn.functional.pad(tensor, (0, 3)))


def _rows(inputs: LossInputs, rows: slice) -> LossInputs:
    return _each(inputs, lambda tensor: tensor[rows])


def _close(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=1e-3, abs_tol=1e-5)


def _name(loss: Any) -> str:
    function = getattr(loss, "func", loss)
    kind = function if hasattr(function, "__qualname__") else type(function)
    return f"{kind.__module__}.{kind.__qualname__}"


def _wrong(loss: Any, expected: str, received: str, advice: str) -> SettingError:
    return SettingError(
        f"learner.objective: expected of {_name(loss)} {expected}; got {received}: {advice}"
        " (docs/own_algorithm.md)"
    )
