"""Prices that are Lagrange multipliers: of a token target, or of an accuracy floor.

Both are dual ascent on a constrained problem: the price is the multiplier of the constraint and
moves by how far the last step was from it. A plain integral overshoots, because the policy answers
a price only some updates later, so a proportional term is added (PI control of the multiplier:
Stooke et al., "Responsive Safety in Reinforcement Learning by PID Lagrangian Methods",
arXiv 2007.03964). What is measured is the mean over the episodes of a training step, sampled, not
greedy; it is smoothed, because a step has few tasks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from laconic.envs.checks import number
from laconic.envs.errors import SettingError
from laconic.learners.prices.schedule import Price


@dataclass(slots=True)
class LagrangePrice(Price):
    """A Lagrange multiplier under PI control; an error above 0 says that tokens are too cheap."""

    integral_gain: float = 0.02
    """What an error of 1 adds to the price at each step, in parts of the environment's price."""
    proportional_gain: float = 0.5
    """What an error of 1 adds to the price while it lasts, in parts of the environment's price."""
    smoothing: float = 0.7
    """Weight of the past in the running mean of what is measured; 0 takes the last step alone."""
    max_price: float = 4.0
    """Highest price, in parts of the environment's: at too high a price a team falls silent
    before the measurement shows it."""
    _level: float = field(default=0.0, init=False)
    _measured: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        for name in ("integral_gain", "proportional_gain", "max_price"):
            number(f"learner.price.{name}", getattr(self, name), lowest=0)
        number("learner.price.smoothing", self.smoothing, lowest=0, highest=1)

    @abstractmethod
    def measure(self, metrics: Mapping[str, float]) -> float:
        """What is constrained, out of the metrics of a training step's episodes."""

    @abstractmethod
    def error(self, measured: float) -> float:
        """How much too cheap tokens are, as a part of the target; below 0 they are too dear."""

    def at(self, step: int, price: float) -> float:
        """The price that the steps so far have led to, from 0 to `max_price * price`; at first 0.

        Raises:
            SettingError: the environment's price is 0, which no factor changes.
        """
        if not price > 0:
            raise SettingError(
                f"learner.price moves in parts of the environment's price, so"
                f" env.reward.price must be above 0; got {price!r}"
            )
        now = 0.0 if self._measured is None else self.error(self._measured)
        return price * self._bounded(self._level + self.proportional_gain * now)

    def observe(self, metrics: Mapping[str, float]) -> None:
        """Take in the metrics of a step's episodes; without the constrained one `SettingError`."""
        try:
            value = self.measure(metrics)
        except KeyError as error:
            raise SettingError(
                f"{type(self).__name__} is set by {error}, and the environment's infos do not tell"
                f" it; got figures of {', '.join(metrics)}"
            ) from error
        past = value if self._measured is None else self._measured
        self._measured = self.smoothing * past + (1 - self.smoothing) * value
        self._level = self._bounded(self._level + self.integral_gain * self.error(self._measured))

    def state_dict(self) -> dict[str, Any]:
        """The price reached, in parts of the environment's, and the running mean."""
        return {"level": self._level, "measured": self._measured}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self._level, self._measured = state["level"], state["measured"]

    def _bounded(self, level: float) -> float:
        return min(max(level, 0.0), self.max_price)


@dataclass(slots=True)
class TargetTokens(LagrangePrice):
    """A token target: maximise accuracy subject to tokens said <= `tokens`.

    A policy that is below the target at price 0 stays there; nothing pulls tokens up.
    """

    tokens: float = 40.0
    """Tokens said per episode, all agents together, that are allowed."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        LagrangePrice.__post_init__(self)
        number("learner.price.tokens", self.tokens, above=0)

    def measure(self, metrics: Mapping[str, float]) -> float:
        """Tokens said per episode."""
        return metrics["tokens_said"]

    def error(self, measured: float) -> float:
        """How far the tokens are above the target, as a part of it."""
        return (measured - self.tokens) / self.tokens


@dataclass(slots=True)
class AccuracyFloor(LagrangePrice):
    """An accuracy floor: minimise tokens subject to accuracy >= `accuracy`.

    While accuracy is above the floor the price rises, below it the price falls. An error of 1 is
    accuracy 1, and accuracy can fall further below the floor than it can rise above it, so the
    price falls faster than it rises.
    """

    integral_gain: float = 0.15
    """As above; larger, because errors above the floor are small."""
    proportional_gain: float = 1.5
    """As above."""
    smoothing: float = 0.8
    """As above; accuracy is noisier than tokens."""
    max_price: float = 8.0
    """As above; below the floor the price falls in time."""
    accuracy: float = 0.95
    """Share of solved tasks that is not to be given up, 0 to 1."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        LagrangePrice.__post_init__(self)
        number("learner.price.accuracy", self.accuracy, lowest=0, highest=1)

    def measure(self, metrics: Mapping[str, float]) -> float:
        """Share of solved tasks."""
        return metrics["accuracy"]

    def error(self, measured: float) -> float:
        """How far accuracy is above the floor, as a part of what may be lost at all."""
        return (measured - self.accuracy) / max(1.0 - self.accuracy, 0.01)
