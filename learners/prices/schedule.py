"""How the price of a token moves over training.

The environment's setting says what a token costs in the end (`envs.dialogue.reward.Reward.price`);
a schedule says which part of it is asked at a training step. A team that still earns little learns
silence from a full price, because the charge is certain and the gain of a message rare; a late or
rising price lets it learn to solve tasks first. Knows nothing of rewards, episodes or policies.

`Fixed` and `Ramp` follow the step alone, `PassRate` how much is solved; Lagrange multipliers are in
`learners.prices.steering`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from laconic.envs.checks import number, whole
from laconic.envs.errors import SettingError


class Price(ABC):
    """What a training loop asks before it collects the episodes of a step, and tells after it."""

    __slots__ = ()

    @abstractmethod
    def at(self, step: int, price: float) -> float:
        """Price to set in the environment for a step.

        Args:
            step: training step, from 0.
            price: the environment's own price, reward units per normalizer.

        Raises:
            SettingError: the step is negative.
        """

    def observe(self, metrics: Mapping[str, float]) -> None:  # noqa: B027
        """Take in the metrics of the step's episodes; a price that follows the step needs none."""

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs; nothing, unless the price follows what was observed."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: B027
        """Go on from a state of `state_dict`."""


@dataclass(frozen=True, slots=True)
class Fixed(Price):
    """The environment's own price from the first step on."""

    def at(self, step: int, price: float) -> float:
        """`price` itself; see `Price`."""
        _check_step(step)
        return price


@dataclass(frozen=True, slots=True)
class Ramp(Price):
    """Free for `delay` steps, then rising on a straight line to the full price."""

    delay: int = 0
    """Training steps at price 0 before the rise."""
    steps: int = 0
    """Training steps the rise takes; 0 jumps to the full price when the delay is over."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        whole("learner.price.delay", self.delay, 0)
        whole("learner.price.steps", self.steps, 0)

    def at(self, step: int, price: float) -> float:
        """`price` from step `delay + steps` on, 0 up to step `delay`, a straight line between."""
        _check_step(step)
        risen = step - self.delay
        if risen >= self.steps:
            return price
        return price * risen / self.steps if risen > 0 else 0.0


@dataclass(slots=True)
class PassRate(Price):
    """The environment's price times a power of the smoothed pass rate of an update.

    It is the form of `learner.charge_power` for learners with a critic, which cannot know the pass
    rate of a group. It starts at 0, because nothing was played yet.
    """

    power: float = 2.0
    """1 is in proportion to the pass rate, 2 to its square."""
    smoothing: float = 0.5
    """Weight of the past in the running mean of the pass rate; 0 takes the last step alone."""
    _rate: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        number("learner.price.power", self.power, above=0)
        number("learner.price.smoothing", self.smoothing, lowest=0, below=1)

    def at(self, step: int, price: float) -> float:
        """Return price * rate ** power; 0 before the first update."""
        _check_step(step)
        return 0.0 if self._rate is None else price * self._rate**self.power

    def observe(self, metrics: Mapping[str, float]) -> None:
        """Take in the pass rate of the step's episodes.

        Raises:
            SettingError: the metrics have no `pass_rate`.
        """
        if "pass_rate" not in metrics:
            raise SettingError(
                "learner/price=pass_rate follows how much is solved, and the environment's infos"
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


def _check_step(step: int) -> None:
    if step < 0:
        raise SettingError(f"step counts training steps from 0; got {step!r}")
