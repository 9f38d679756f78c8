"""Compute the demand curve for words: how many tokens a team would buy at each price.

Pure functions of the worths of messages (`extras.analysis.demand_measure`). There are two margins:

- extensive (`bought`): a message is bought whole if it is worth more than its tokens cost;
- intensive (`bought_cut`): a message is cut where worth minus cost is highest.

A price is the cost of `normalizer` tokens. Prices, worths and surplus are in reward units.
Intervals are 95 %, by the percentile bootstrap over episodes (B. Efron, 1979).

`PredictionCheck` tests a claim: below the choke price, the tokens of a trained team are within 25 %
of the prediction, and every run that falls silent has a price above it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laconic.learners.metrics import RESAMPLES, Interval, resample

Array = NDArray[np.float64]
_LEVEL = 1e-9
"""Differences of worth below this, in reward units, are rounding."""
FILE = "demand.jsonl"
"""File in a run folder with a row for each measurement."""
_STEP = 1.25
"""Factor by which a price is raised and lowered to compute the elasticity."""

GLOSSARY: Mapping[str, str] = {
    "worth": "Gross worth of a message: the loss of return when it is not said.",
    "worth_informed": "The same of agents with something useful to tell.",
    "worth_uninformed": "The same of agents with nothing useful to tell.",
    "worthless_tokens": "Share of tokens that do not change the worth of their message.",
    "needed_share": (
        "Share of a useful message after which the rest changes nothing, mean over the"
        " messages that are worth something."
    ),
    "spare_tokens": (
        "Share of tokens that stand in stretches without which the message is worth no less."
    ),
    "tokens": "Tokens said in an episode.",
    "bought": "Tokens an episode of messages that are worth more than they cost.",
    "bought_cut": "Tokens an episode of messages that are cut where they pay best.",
    "pays": "Share of useful messages that are worth more than they cost.",
    "surplus": "Worth less cost of the messages that are bought, reward units an episode.",
    "elasticity": (
        "By how many percent `bought` changes when the price rises by one: arc elasticity from"
        " four fifths to five quarters of the price."
    ),
    "choke_price": "Price at which the tokens bought of useful messages are halved.",
    "weakest_link": (
        "Price at which, in half of the episodes, a message that is worth something stops paying,"
        " answers too."
    ),
}
"""Figures of demand and their meanings; `bought` to `elasticity` are at the configured price."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as its buyer sees it."""

    episode: int
    """Index of its episode."""
    useful: bool | None
    """True if the author held relevant statements; None for an answering agent."""
    worth: tuple[float, ...]
    """Gross worth of its first k tokens, (tokens + 1,)."""
    charged: tuple[int, ...]
    """Number of charged tokens among the first k, (tokens + 1,)."""
    spans: tuple[tuple[int, float], ...] = ()
    """Tokens of each stretch, and loss of worth without it."""

    @property
    def tokens(self) -> int:
        """Length in tokens."""
        return len(self.worth) - 1

    @property
    def highest(self) -> float:
        """Rate (reward units per token) at which worth equals cost."""
        if self.charged[-1] == 0:
            return np.inf if self.worth[-1] > -_LEVEL else -np.inf
        return self.worth[-1] / self.charged[-1]

    @property
    def needed(self) -> int:
        """Number of tokens after which the worth no longer changes."""
        other = [k for k, worth in enumerate(self.worth) if abs(worth - self.worth[-1]) > _LEVEL]
        return max(other, default=-1) + 1

    def bought(self, rate: float) -> bool:
        """Return whether it is worth more than it costs; free and harmless messages are bought."""
        return self.highest > rate + _LEVEL

    def best_cut(self, rate: float) -> int:
        """Return after how many tokens worth minus cost is highest; the smallest of several."""
        net = np.array(self.worth) - rate * np.array(self.charged)
        return int(np.argmax(net > net.max() - _LEVEL))


@dataclass(frozen=True, slots=True)
class Curve:
    """Demand at several prices."""

    prices: tuple[float, ...]
    """Prices in reward units per `normalizer` tokens, rising."""
    bought: tuple[Interval, ...]
    """Tokens bought per episode, messages whole or not at all."""
    bought_cut: tuple[Interval, ...]
    """Tokens bought per episode, messages cut where they pay best."""
    pays: tuple[float, ...]
    """Share of useful messages that pay; NaN without any."""
    surplus: tuple[float, ...]
    """Surplus in reward units per episode."""


def curve(
    messages: Sequence[Message], episodes: int, prices: Sequence[float], normalizer: float
) -> Curve:
    """Return the demand at each price, over this number of episodes."""
    weights = _weights(episodes)
    useful = [message for message in messages if message.useful]

    def points(tokens: Callable[[Message, float], float]) -> tuple[Interval, ...]:
        sums = np.zeros((episodes, len(prices)))
        for message in messages:
            sums[message.episode] += [tokens(message, price / normalizer) for price in prices]
        low, high = np.percentile(weights @ sums / episodes, (2.5, 97.5), axis=0)
        ends = zip(sums.mean(axis=0), low, high, strict=True)
        return tuple(Interval(float(m), float(a), float(b), episodes) for m, a, b in ends)

    rates = [price / normalizer for price in prices]
    return Curve(
        tuple(prices),
        points(lambda item, rate: item.tokens * item.bought(rate)),
        points(lambda item, rate: item.best_cut(rate)),
        tuple(
            float(np.mean([float(message.bought(r)) for message in useful] or [np.nan]))
            for r in rates
        ),
        tuple(sum(_gain(message, rate) for message in messages) / episodes for rate in rates),
    )


def figures(
    messages: Sequence[Message], episodes: int, price: float, normalizer: float
) -> dict[str, Interval]:
    """Return the figures of `GLOSSARY` with their intervals, without those that have no data."""
    rate, weights = price / normalizer, _weights(episodes)
    measured: dict[str, Interval] = {}
    for name, column in _columns(rate).items():
        sums = np.zeros((2, episodes))
        for item in messages:
            sums[:, item.episode] += column(item)
        if name in _PER_EPISODE:
            sums[1] = 1.0
        if sums[1].sum():
            with np.errstate(invalid="ignore"):
                samples = (weights @ sums[0]) / (weights @ sums[1])
            measured[name] = _interval(sums[0].sum() / sums[1].sum(), samples, int(sums[1].sum()))
    levels = np.zeros((2, episodes))
    for message in messages:
        levels[:, message.episode] += [
            message.tokens * message.bought(r) for r in (rate / _STEP, rate * _STEP)
        ]
    if levels.sum() and rate:
        measured["elasticity"] = _interval(
            float(_elasticity(levels.sum(axis=1)[None])[0]),
            _elasticity(weights @ levels.T),
            episodes,
        )
    useful = [message for message in messages if message.useful and message.highest > 0]
    if useful:
        once = choke(useful, np.ones((1, episodes)))[0] * normalizer
        measured["choke_price"] = _interval(once, choke(useful, weights) * normalizer, len(useful))
    links = _weakest(messages, episodes)
    there = np.isfinite(links)
    if there.any():
        of_all = float(_middle(links[there], there[None, there].astype(np.float64))[0])
        samples = _middle(links[there], weights[:, there])
        measured["weakest_link"] = _interval(
            of_all * normalizer, samples * normalizer, int(there.sum())
        )
    return measured


_PER_EPISODE = ("tokens", "bought", "bought_cut", "surplus")


def _columns(rate: float) -> dict[str, Callable[[Message], tuple[float, float]]]:
    """Return for each figure a function from a message to its numerator and denominator."""
    return {
        "worth": lambda message: (message.worth[-1], 1),
        "worth_informed": lambda message: (message.worth[-1], 1) if message.useful else (0, 0),
        "worth_uninformed": lambda message: (
            (message.worth[-1], 1) if message.useful is False else (0, 0)
        ),
        "worthless_tokens": lambda message: (_level_steps(message), message.tokens),
        "needed_share": _needed,
        "spare_tokens": lambda message: (
            sum(tokens for tokens, lost in message.spans if lost < _LEVEL),
            sum(tokens for tokens, _ in message.spans),
        ),
        "tokens": lambda message: (message.tokens, 1),
        "bought": lambda message: (message.tokens * message.bought(rate), 1),
        "bought_cut": lambda message: (message.best_cut(rate), 1),
        "pays": lambda message: (message.bought(rate), 1) if message.useful else (0, 0),
        "surplus": lambda message: (_gain(message, rate), 1),
    }


def _needed(message: Message) -> tuple[float, float]:
    return (
        (message.needed / message.tokens, 1)
        if message.useful and message.worth[-1] > _LEVEL
        else (0, 0)
    )


def _level_steps(message: Message) -> int:
    return int(np.count_nonzero(np.abs(np.diff(message.worth)) < _LEVEL))


def _gain(message: Message, rate: float) -> float:
    return message.worth[-1] - rate * message.charged[-1] if message.bought(rate) else 0.0


def _weights(episodes: int) -> Array:
    """Return how often each episode is drawn, (resamples, episodes)."""
    return resample(RESAMPLES, episodes, np.random.default_rng(0))


def _interval(mean: float, samples: Array, count: int) -> Interval:
    # A resample may hold nothing that counts.
    finite = samples[np.isfinite(samples)]
    low, high = np.percentile(finite, (2.5, 97.5)) if len(finite) else (np.nan, np.nan)
    return Interval(float(mean), float(low), float(high), count)


def _elasticity(levels: Array) -> Array:
    """Return the relative change of demand (draws, 2) over that of the price."""
    low, high = levels.T
    relative = 2 * (_STEP - 1 / _STEP) / (_STEP + 1 / _STEP)
    with np.errstate(invalid="ignore"):
        elasticity: Array = 2 * (high - low) / (high + low) / relative
    return elasticity


def choke(messages: Sequence[Message], weights: Array) -> Array:
    """Return the rate (draws,) at which half of the tokens of messages are bought."""
    tokens = weights[:, [message.episode for message in messages]] * [
        message.tokens for message in messages
    ]
    return _middle(np.array([message.highest for message in messages]), tokens)


def _weakest(messages: Sequence[Message], episodes: int) -> Array:
    """Return the lowest rate (episodes,) at which a message of positive worth stops paying.

    It is infinite for an episode without such a message.
    """
    lowest = np.full(episodes, np.inf)
    for message in messages:
        if message.worth[-1] > _LEVEL:
            lowest[message.episode] = min(lowest[message.episode], message.highest)
    return lowest


def _middle(values: Array, weights: Array) -> Array:
    """Return the weighted median (draws,) of values, with weights (draws, values)."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[:, order], axis=1)
    total = cumulative[:, -1:]
    median = values[order][np.argmax(cumulative >= total / 2, axis=1)]
    return np.where(total[:, 0] > 0, median, np.nan)


@dataclass(frozen=True, slots=True)
class TrainedRun:
    """Outcome of a run under a price, and its prediction before training."""

    run: str
    """Name of its folder."""
    seed: str
    """Seed of the run."""
    price: float
    """Price in reward units per `normalizer` tokens."""
    tokens_said: float
    """Tokens said per episode after training."""
    accuracy: float
    """Share of tasks solved after training; NaN if unknown."""
    spoke_if_informed: float
    """Share of informed turns with a message after training; NaN if unknown."""
    bought: float
    """Tokens predicted per episode, messages whole or not at all."""
    bought_cut: float
    """Tokens predicted per episode, messages cut where they pay best."""
    collapsed: bool
    """True if the team speaks in less than a tenth of its informed turns."""
    below_choke: bool
    """True if the price is below the choke price."""
    near: bool
    """True if the tokens are within 25 % of one of the two predictions."""


_NEAR, _COLLAPSED = 0.25, 0.1


def trained(
    messages: Sequence[Message],
    episodes: int,
    normalizer: float,
    runs: Sequence[tuple[str, str, float, Mapping[str, float]]],
) -> list[TrainedRun]:
    """Compare trained runs with the predictions from the messages for their prices.

    Args:
        messages: messages of the untrained team.
        episodes: number of episodes they come from.
        normalizer: number of tokens that cost one price.
        runs: folder, seed, price, and metrics after training.

    Returns:
        Runs in the order of rising prices.
    """
    useful = [message for message in messages if message.useful and message.highest > 0]
    highest = float(choke(useful, np.ones((1, episodes)))[0]) * normalizer if useful else np.nan
    compared = []
    for run, seed, price, metrics in sorted(runs, key=lambda row: (row[2], row[1])):
        rate, tokens_said = price / normalizer, metrics["tokens_said"]
        bought = sum(message.tokens * message.bought(rate) for message in messages) / episodes
        cut = sum(message.best_cut(rate) for message in messages) / episodes
        spoke = metrics.get("spoke_if_informed", np.nan)
        near = any(abs(tokens_said - predicted) <= _NEAR * predicted for predicted in (bought, cut))
        at = run, seed, price, tokens_said, metrics.get("accuracy", np.nan), spoke, bought, cut
        silent, below = bool(spoke < _COLLAPSED), bool(price < highest)
        compared.append(TrainedRun(*at, silent, below, near))
    return compared


@dataclass(frozen=True, slots=True)
class PredictionCheck:
    """Number of runs that agree with the prediction."""

    below: int
    """Number of runs with a price below the choke price."""
    near: int
    """Number of these that agree with the prediction."""
    collapsed: int
    """Number of runs that fell silent."""
    above: int
    """Number of these whose price is not below the choke price."""

    @classmethod
    def of(cls, runs: Sequence[TrainedRun]) -> PredictionCheck:
        """Count the runs."""
        below = [run for run in runs if run.below_choke]
        silent = [run for run in runs if run.collapsed]
        above = sum(not run.below_choke for run in silent)
        return cls(len(below), sum(run.near for run in below), len(silent), above)

    def __str__(self) -> str:
        """Return one line."""
        return (
            f"{self.near} of {self.below} runs below the choke price are within 25 % of their"
            f" prediction; {self.above} of {self.collapsed} runs that fell silent are above it"
        )
