"""Prices as Lagrange multipliers: of a token target, or of an accuracy floor.

Both are dual ascent on a constrained problem. The price is the multiplier of the constraint, and
each step moves it by the distance to the constraint. An integral term alone overshoots, because a
policy reacts to a price some updates later, so a proportional term is added (PI control of the
multiplier: Stooke et al., "Responsive Safety in Reinforcement Learning by PID Lagrangian Methods",
arXiv 2007.03964):

    level = clip(level + integral_gain * error, 0, max_price)
    share of the environment's price = clip(level + proportional_gain * error, 0, max_price)

The error is measured on the sampled episodes of a training step, and smoothed, because a step has
few tasks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from laconic.envs.checks import NotNegative, Positive, Share, check_fields
from laconic.envs.errors import SettingError
from laconic.learners.prices.schedule import Price


@dataclass(slots=True)
class LagrangePrice(Price):
    """Lagrange multiplier under PI control; with an error above 0 tokens are too cheap."""

    integral_gain: NotNegative = 0.02
    """Increase of the price per step at an error of 1, in parts of the environment's price."""
    proportional_gain: NotNegative = 0.5
    """Increase of the price during an error of 1, in parts of the environment's price."""
    smoothing: Share = 0.7
    """Weight of the past in the running mean of the measurement; 0 takes the last step alone."""
    max_price: NotNegative = 4.0
    """Highest price, in parts of the environment's. At too high a price a team falls silent before
    the measurement shows it."""
    _level: float = field(default=0.0, init=False)
    _measured: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        check_fields(self, "learner.price")

    @abstractmethod
    def measure(self, metrics: Mapping[str, float]) -> float:
        """Return the constrained metric of a training step's episodes."""

    @abstractmethod
    def error(self, measured: float) -> float:
        """Return the distance to the constraint: above 0 tokens are too cheap, below too dear."""

    def share(self, step: int) -> float:
        """Return the part of the price that a step charges, from 0 to `max_price`; 0 at first."""
        now = 0.0 if self._measured is None else self.error(self._measured)
        return self._bounded(self._level + self.proportional_gain * now)

    def observe(self, metrics: Mapping[str, float]) -> None:
        """Take in the metrics of a step's episodes.

        Raises:
            SettingError: the constrained metric is missing.
        """
        try:
            value = self.measure(metrics)
        except KeyError as error:
            raise SettingError(
                f"{type(self).__name__} needs the metric {error}, which the environment's infos do"
                f" not give; got {', '.join(metrics)}: choose learner/price=fixed or pass_rate"
            ) from error
        past = value if self._measured is None else self._measured
        self._measured = self.smoothing * past + (1 - self.smoothing) * value
        self._level = self._bounded(self._level + self.integral_gain * self.error(self._measured))

    def state_dict(self) -> dict[str, Any]:
        """Return the level, in parts of the environment's price, and the running mean."""
        return {"level": self._level, "measured": self._measured}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`."""
        self._level, self._measured = state["level"], state["measured"]

    def _bounded(self, level: float) -> float:
        return min(max(level, 0.0), self.max_price)


@dataclass(slots=True)
class TargetTokens(LagrangePrice):
    """Token target: maximize accuracy subject to tokens said <= `tokens`.

    A policy that is below the target at price 0 stays there; nothing pulls tokens up.
    """

    tokens: Positive = 40.0
    """Largest number of tokens said per episode, all agents together."""

    def measure(self, metrics: Mapping[str, float]) -> float:
        """Return the tokens said per episode."""
        return metrics["tokens_said"]

    def error(self, measured: float) -> float:
        """Return the distance of the tokens above the target, as a part of it."""
        return (measured - self.tokens) / self.tokens


@dataclass(slots=True)
class AccuracyFloor(LagrangePrice):
    """Accuracy floor: minimize tokens subject to accuracy >= `accuracy`.

    The price rises while accuracy is above the floor, and falls below it. An error of 1 is accuracy
    1. Accuracy can fall further below the floor than rise above it, so the price falls faster than
    it rises.
    """

    integral_gain: NotNegative = 0.15
    """Integral gain; larger than for a target, because errors above the floor are small."""
    proportional_gain: NotNegative = 1.5
    """Proportional gain; larger for the same reason."""
    smoothing: Share = 0.8
    """Smoothing; larger, because accuracy is noisier than tokens."""
    max_price: NotNegative = 8.0
    """Highest price; larger, because the price falls in time below the floor."""
    accuracy: Share = 0.95
    """Smallest fraction of solved tasks, 0 to 1."""

    def measure(self, metrics: Mapping[str, float]) -> float:
        """Return the fraction of solved tasks."""
        return metrics["accuracy"]

    def error(self, measured: float) -> float:
        """Return the distance of accuracy above the floor, as a part of 1 less the floor."""
        return (measured - self.accuracy) / max(1.0 - self.accuracy, 0.01)
