"""Price schedules: which part of the environment's price is charged at a training step.

A team that still earns little learns silence from a full price, because the charge is certain and
the gain of a message rare. A late or rising price lets it learn to solve tasks first. `Fixed` and
`Ramp` follow the step, `PassRate` follows the pass rate. Lagrange multipliers are in
`learners.prices.steering`. Knows nothing of rewards, episodes or policies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from laconic.envs.checks import number, whole
from laconic.envs.errors import SettingError


class Price(ABC):
    """Schedule that a training loop asks before the episodes of a step, and informs after them."""

    __slots__ = ()

    @abstractmethod
    def at(self, step: int, price: float) -> float:
        """Return the price to set in the environment for a step.

        Args:
            step: training step, from 0.
            price: the environment's own price, reward units per normalizer.
        """

    def observe(self, metrics: Mapping[str, float]) -> None:  # noqa: B027
        """Adjust the price to the metrics of the step's episodes; nothing by default."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state that a resumed run needs; empty by default."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: B027
        """Continue from a state of `state_dict`."""


@dataclass(frozen=True, slots=True)
class Fixed(Price):
    """Price of the environment from the first step on."""

    def at(self, step: int, price: float) -> float:
        """Return `price` itself; see `Price`."""
        return price


@dataclass(frozen=True, slots=True)
class Ramp(Price):
    """Price 0 for `delay` steps, then a straight line up to the full price."""

    delay: int = 0
    """Training steps at price 0 before the rise."""
    steps: int = 0
    """Training steps the rise takes; 0 jumps to the full price when the delay is over."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        whole("learner.price.delay", self.delay, 0)
        whole("learner.price.steps", self.steps, 0)

    def at(self, step: int, price: float) -> float:
        """Return 0 up to step `delay`, `price` from `delay + steps` on, a straight line between."""
        if step < 0:
            raise SettingError(f"step counts training steps from 0; got {step!r}")
        risen = step - self.delay
        if risen >= self.steps:
            return price
        return price * risen / self.steps if risen > 0 else 0.0


@dataclass(slots=True)
class PassRate(Price):
    """Price of the environment times a power of the smoothed pass rate of an update.

    It replaces `learner.charge_power` for learners with a critic, which cannot know the pass rate
    of a group. It starts at 0, before anything was played.
    """

    power: float = 2.0
    """Power of the pass rate: 1 is in proportion to it, 2 to its square."""
    smoothing: float = 0.5
    """Weight of the past in the running mean of the pass rate; 0 takes the last step alone."""
    _rate: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        number("learner.price.power", self.power, above=0)
        number("learner.price.smoothing", self.smoothing, lowest=0, below=1)

    def at(self, step: int, price: float) -> float:
        """Return price * rate ** power; 0 before the first update."""
        return 0.0 if self._rate is None else price * self._rate**self.power

    def observe(self, metrics: Mapping[str, float]) -> None:
        """Take in the pass rate of the step's episodes.

        Raises:
            SettingError: the metrics have no `pass_rate`.
        """
        if "pass_rate" not in metrics:
            raise SettingError(
                "learner/price=pass_rate follows the pass rate, and the environment's infos"
                " do not say what was `solved`; choose learner/price=fixed or ramp"
            )
        now, past = metrics["pass_rate"], self._rate
        self._rate = now if past is None else self.smoothing * past + (1 - self.smoothing) * now

    def state_dict(self) -> dict[str, Any]:
        """Return the running mean of the pass rate."""
        return {"rate": self._rate}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`."""
        self._rate = state["rate"]
