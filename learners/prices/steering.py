"""Prices that steer themselves: most accuracy under a token target, or fewest tokens above a floor.

Both are dual ascent on a constrained problem: the price is the multiplier of a constraint and moves
by how far the last step was from it. A plain integral overshoots, because the policy answers a
price only some updates later, so a proportional term is added (PI control of the multiplier:
Stooke et al., "Responsive Safety in Reinforcement Learning by PID Lagrangian Methods",
arXiv 2007.03964). What is measured is the mean over the episodes of a training step, sampled, not
greedy; it is smoothed, because a step has few tasks.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from laconic.envs.errors import SettingError
from laconic.learners.prices.schedule import Price


@dataclass(slots=True)
class Steered(Price):
    """A price that follows an error: above 0 tokens are too cheap, below 0 too dear."""

    gain: float = 0.02
    """What an error of 1 adds to the price at each step, in parts of the environment's price."""
    proportional: float = 0.5
    """What an error of 1 adds to the price while it lasts, in parts of the environment's price."""
    smoothing: float = 0.7
    """Weight of the past in the running mean of what is measured; 0 takes the last step alone."""
    most: float = 4.0
    """Highest price, in parts of the environment's: at too high a price a team falls silent
    before the steering notices."""
    _level: float = field(default=0.0, init=False)
    _measured: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            SettingError: a number is outside its range.
        """
        for name, low, high in (
            ("gain", 0.0, math.inf),
            ("proportional", 0.0, math.inf),
            ("smoothing", 0.0, 1.0),
            ("most", 0.0, math.inf),
        ):
            _check(name, getattr(self, name), low, high)

    @abstractmethod
    def measure(self, metrics: Mapping[str, float]) -> float:
        """What is steered, out of the metrics of a training step's episodes."""

    @abstractmethod
    def error(self, measured: float) -> float:
        """How much too cheap tokens are, as a part of the target; below 0 they are too dear."""

    def at(self, step: int, price: float) -> float:
        """The price that the steps so far have led to.

        Args:
            step: training step; the price depends on what was observed, not on the count.
            price: the environment's price, reward units per normalizer; the unit of steering.

        Returns:
            0 before the first observation, then from 0 to `most * price`.

        Raises:
            SettingError: the environment's price is 0, which no factor changes.
        """
        if not price > 0:
            raise SettingError(
                f"learner.price moves in parts of the environment's price, so"
                f" env.reward.price must be above 0; got {price!r}"
            )
        now = 0.0 if self._measured is None else self.error(self._measured)
        return price * self._bounded(self._level + self.proportional * now)

    def observe(self, metrics: Mapping[str, float]) -> None:
        """Take in the metrics of a step's episodes (`tokens_said`, `accuracy`: means).

        Raises:
            SettingError: what it steers by is not among them.
        """
        try:
            value = self.measure(metrics)
        except KeyError as error:
            raise SettingError(
                f"{type(self).__name__} steers by {error}, and the environment's infos do not tell"
                f" it; got figures of {', '.join(metrics)}"
            ) from error
        past = value if self._measured is None else self._measured
        self._measured = self.smoothing * past + (1 - self.smoothing) * value
        self._level = self._bounded(self._level + self.gain * self.error(self._measured))

    def state_dict(self) -> dict[str, Any]:
        """The price reached, in parts of the environment's, and the running mean."""
        return {"level": self._level, "measured": self._measured}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self._level, self._measured = state["level"], state["measured"]

    def _bounded(self, level: float) -> float:
        return min(max(level, 0.0), self.most)


@dataclass(slots=True)
class TargetTokens(Steered):
    """Most accuracy under a token target: maximise accuracy subject to tokens said <= `tokens`.

    A policy that is below the target at price 0 stays there; nothing pulls tokens up.
    """

    tokens: float = 40.0
    """Tokens said per episode, all agents together, that are allowed."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            SettingError: a number is outside its range.
        """
        Steered.__post_init__(self)
        _check("tokens", self.tokens, 0.0, math.inf)
        if self.tokens == 0:
            raise SettingError("price.tokens must be above 0; got 0: a team of no words needs none")

    def measure(self, metrics: Mapping[str, float]) -> float:
        """Tokens said per episode."""
        return metrics["tokens_said"]

    def error(self, measured: float) -> float:
        """How far the tokens are above the target, as a part of it."""
        return (measured - self.tokens) / self.tokens


@dataclass(slots=True)
class AccuracyFloor(Steered):
    """Fewest tokens above an accuracy floor: minimise tokens subject to accuracy >= `accuracy`.

    While accuracy is above the floor the price rises, below it the price falls. An error of 1 is
    accuracy 1, and accuracy can fall further below the floor than it can rise above it, so the
    price falls faster than it rises.
    """

    gain: float = 0.15
    """As above; larger, because errors above the floor are small."""
    proportional: float = 1.5
    """As above."""
    smoothing: float = 0.8
    """As above; accuracy is noisier than tokens."""
    most: float = 8.0
    """As above; below the floor the price falls in time."""
    accuracy: float = 0.95
    """Share of solved tasks that is not to be given up, 0 to 1."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            SettingError: a number is outside its range.
        """
        Steered.__post_init__(self)
        _check("accuracy", self.accuracy, 0.0, 1.0)

    def measure(self, metrics: Mapping[str, float]) -> float:
        """Share of solved tasks."""
        return metrics["accuracy"]

    def error(self, measured: float) -> float:
        """How far accuracy is above the floor, as a part of what may be lost at all."""
        return (measured - self.accuracy) / max(1.0 - self.accuracy, 0.01)


def _check(name: str, value: Any, low: float, high: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not low <= value <= high:
        bound = f"from {low:g} to {high:g}" if math.isfinite(high) else f"of at least {low:g}"
        raise SettingError(f"price.{name} must be a finite number {bound}; got {value!r}")
