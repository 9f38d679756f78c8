"""The demand curve for words: how many tokens a team would buy at each price of one.

Pure functions of what the parts of messages are worth (`extras.analysis.prefixes`).
Extensively, a message is bought whole or not at all: where it is worth more than its tokens cost.
Intensively, each is cut where worth less cost is highest. A price is what `normalizer` tokens cost.
Prices, worths and surplus are in reward units. Intervals are 95 % intervals, by the percentile
bootstrap over whole episodes (B. Efron, 1979).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laconic.learners.metrics import RESAMPLES, Interval, resample

Array = NDArray[np.float64]
_LEVEL = 1e-9
"""Worths that differ by less, in reward units, differ by rounding alone."""
FILE = "demand.jsonl"
"""File of a run folder with a row for each measure."""
_STEP = 1.25
"""By this factor a price is raised and lowered to see how demand answers."""

GLOSSARY: Mapping[str, str] = {
    "worth": "Gross worth of a message: what the return loses when it is not said.",
    "worth_informed": "The same of agents with something useful to tell.",
    "worth_uninformed": "The same of agents with nothing useful to tell.",
    "worthless_tokens": "Share of tokens with which a message is worth what it was without.",
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
"""Figures of a team's demand, and what each means; `bought` to `elasticity` at the price as set."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message as its buyer sees it."""

    episode: int
    """Place of its episode."""
    useful: bool | None
    """Whether its author had something useful to tell; None for one whose part it is to answer."""
    worth: tuple[float, ...]
    """Gross worth of its first k tokens, (tokens + 1,)."""
    charged: tuple[int, ...]
    """How many of these are charged, (tokens + 1,)."""
    spans: tuple[tuple[int, float], ...] = ()
    """Tokens of each stretch, and what the message loses without it."""

    @property
    def tokens(self) -> int:
        """Its length."""
        return len(self.worth) - 1

    @property
    def highest(self) -> float:
        """The rate (reward units a token) at which it is worth just what it costs."""
        if self.charged[-1] == 0:
            return np.inf if self.worth[-1] > -_LEVEL else -np.inf
        return self.worth[-1] / self.charged[-1]

    @property
    def needed(self) -> int:
        """The fewest first tokens from which on its worth stays what it is."""
        other = [k for k, one in enumerate(self.worth) if abs(one - self.worth[-1]) > _LEVEL]
        return max(other, default=-1) + 1

    def bought(self, rate: float) -> bool:
        """Whether it is worth more than it costs; what is free and does no harm is."""
        return self.highest > rate + _LEVEL

    def best_cut(self, rate: float) -> int:
        """After how many tokens worth less cost is highest; the fewest of several."""
        net = np.array(self.worth) - rate * np.array(self.charged)
        return int(np.argmax(net > net.max() - _LEVEL))


@dataclass(frozen=True, slots=True)
class Curve:
    """Demand at some prices, each an estimate with its interval."""

    prices: tuple[float, ...]
    """Reward units that `normalizer` tokens cost, rising."""
    bought: tuple[Interval, ...]
    """Tokens an episode, messages whole or not at all."""
    bought_cut: tuple[Interval, ...]
    """Tokens an episode, messages cut where they pay best."""
    pays: tuple[float, ...]
    """Share of useful messages that pay; NaN without any."""
    surplus: tuple[float, ...]
    """Reward units an episode."""


def curve(
    messages: Sequence[Message], episodes: int, prices: Sequence[float], normalizer: float
) -> Curve:
    """Demand at each price, over so many episodes."""
    weights = _weights(episodes)
    useful = [one for one in messages if one.useful]

    def points(tokens: Callable[[Message, float], float]) -> tuple[Interval, ...]:
        sums = np.zeros((episodes, len(prices)))
        for one in messages:
            sums[one.episode] += [tokens(one, price / normalizer) for price in prices]
        low, high = np.percentile(weights @ sums / episodes, (2.5, 97.5), axis=0)
        ends = zip(sums.mean(axis=0), low, high, strict=True)
        return tuple(Interval(float(m), float(a), float(b), episodes) for m, a, b in ends)

    rates = [price / normalizer for price in prices]
    return Curve(
        tuple(prices),
        points(lambda one, rate: one.tokens * one.bought(rate)),
        points(lambda one, rate: one.best_cut(rate)),
        tuple(float(np.mean([float(one.bought(r)) for one in useful] or [np.nan])) for r in rates),
        tuple(sum(_gain(one, rate) for one in messages) / episodes for rate in rates),
    )


def figures(
    messages: Sequence[Message], episodes: int, price: float, normalizer: float
) -> dict[str, Interval]:
    """The figures of `GLOSSARY` with their intervals; what has nothing behind it is left out."""
    rate, weights = price / normalizer, _weights(episodes)
    found: dict[str, Interval] = {}
    for name, column in _columns(rate).items():
        sums = np.zeros((2, episodes))
        for one in messages:
            sums[:, one.episode] += column(one)
        if name in _PER_EPISODE:
            sums[1] = 1.0
        if sums[1].sum():
            with np.errstate(invalid="ignore"):
                drawn = (weights @ sums[0]) / (weights @ sums[1])
            found[name] = _interval(sums[0].sum() / sums[1].sum(), drawn, int(sums[1].sum()))
    levels = np.zeros((2, episodes))
    for one in messages:
        levels[:, one.episode] += [one.tokens * one.bought(r) for r in (rate / _STEP, rate * _STEP)]
    if levels.sum() and rate:
        found["elasticity"] = _interval(
            float(_elasticity(levels.sum(axis=1)[None])[0]),
            _elasticity(weights @ levels.T),
            episodes,
        )
    useful = [one for one in messages if one.useful and one.highest > 0]
    if useful:
        once = choke(useful, np.ones((1, episodes)))[0] * normalizer
        found["choke_price"] = _interval(once, choke(useful, weights) * normalizer, len(useful))
    links = _weakest(messages, episodes)
    there = np.isfinite(links)
    if there.any():
        of_all = float(_middle(links[there], there[None, there].astype(np.float64))[0])
        drawn = _middle(links[there], weights[:, there])
        found["weakest_link"] = _interval(of_all * normalizer, drawn * normalizer, int(there.sum()))
    return found


_PER_EPISODE = ("tokens", "bought", "bought_cut", "surplus")


def _columns(rate: float) -> dict[str, Callable[[Message], tuple[float, float]]]:
    """What each message adds to a figure: above, and below the line."""
    return {
        "worth": lambda one: (one.worth[-1], 1),
        "worth_informed": lambda one: (one.worth[-1], 1) if one.useful else (0, 0),
        "worth_uninformed": lambda one: (one.worth[-1], 1) if one.useful is False else (0, 0),
        "worthless_tokens": lambda one: (_level_steps(one), one.tokens),
        "needed_share": _needed,
        "spare_tokens": lambda one: (
            sum(tokens for tokens, lost in one.spans if lost < _LEVEL),
            sum(tokens for tokens, _ in one.spans),
        ),
        "tokens": lambda one: (one.tokens, 1),
        "bought": lambda one: (one.tokens * one.bought(rate), 1),
        "bought_cut": lambda one: (one.best_cut(rate), 1),
        "pays": lambda one: (one.bought(rate), 1) if one.useful else (0, 0),
        "surplus": lambda one: (_gain(one, rate), 1),
    }


def _needed(one: Message) -> tuple[float, float]:
    return (one.needed / one.tokens, 1) if one.useful and one.worth[-1] > _LEVEL else (0, 0)


def _level_steps(one: Message) -> int:
    return int(np.count_nonzero(np.abs(np.diff(one.worth)) < _LEVEL))


def _gain(one: Message, rate: float) -> float:
    return one.worth[-1] - rate * one.charged[-1] if one.bought(rate) else 0.0


def _weights(episodes: int) -> Array:
    """How often each episode is drawn, (resamples, episodes)."""
    return resample(RESAMPLES, episodes, np.random.default_rng(0))


def _interval(mean: float, drawn: Array, count: int) -> Interval:
    # A resample may hold nothing that counts; it says nothing.
    kept = drawn[np.isfinite(drawn)]
    low, high = np.percentile(kept, (2.5, 97.5)) if len(kept) else (np.nan, np.nan)
    return Interval(float(mean), float(low), float(high), count)


def _elasticity(levels: Array) -> Array:
    """Of demand (draws, 2) at a lower and a higher price: its relative change over the price's."""
    low, high = levels.T
    relative = 2 * (_STEP - 1 / _STEP) / (_STEP + 1 / _STEP)
    with np.errstate(invalid="ignore"):
        found: Array = 2 * (high - low) / (high + low) / relative
    return found


def choke(messages: Sequence[Message], weights: Array) -> Array:
    """The rate (draws,) at which half the tokens of messages, as often as drawn, are bought."""
    tokens = weights[:, [one.episode for one in messages]] * [one.tokens for one in messages]
    return _middle(np.array([one.highest for one in messages]), tokens)


def _weakest(messages: Sequence[Message], episodes: int) -> Array:
    """The lowest rate (episodes,) at which a message worth something stops paying; inf for none."""
    found = np.full(episodes, np.inf)
    for one in messages:
        if one.worth[-1] > _LEVEL:
            found[one.episode] = min(found[one.episode], one.highest)
    return found


def _middle(values: Array, weights: Array) -> Array:
    """The value (draws,) below and at which half of the weight (draws, values) lies."""
    order = np.argsort(values)
    gone = np.cumsum(weights[:, order], axis=1)
    total = gone[:, -1:]
    found = values[order][np.argmax(gone >= total / 2, axis=1)]
    return np.where(total[:, 0] > 0, found, np.nan)


@dataclass(frozen=True, slots=True)
class Trained:
    """What a run came to under a price, beside what was predicted before it was trained."""

    run: str
    """Its folder."""
    seed: str
    """Its seed."""
    price: float
    """What `normalizer` tokens cost it."""
    tokens_said: float
    """Tokens an episode after training."""
    accuracy: float
    """Tasks solved after training; NaN where nobody tells."""
    spoke_if_informed: float
    """How often it spoke with something useful; NaN where nobody tells."""
    bought: float
    """Tokens predicted, messages whole or not at all."""
    bought_cut: float
    """Tokens predicted, messages cut where they pay best."""
    collapsed: bool
    """Whether it speaks in less than one in ten turns with something useful."""
    below_choke: bool
    """Whether its price is below the choke price."""
    near: bool
    """Whether what it says is within 25 % of the better of the two predictions."""


_NEAR, _COLLAPSED = 0.25, 0.1


def trained(
    messages: Sequence[Message],
    episodes: int,
    normalizer: float,
    runs: Sequence[tuple[str, str, float, Mapping[str, float]]],
) -> list[Trained]:
    """Trained runs (folder, seed, price, metrics after training) beside what the messages predict.

    The price rises down the list.
    """
    useful = [one for one in messages if one.useful and one.highest > 0]
    highest = float(choke(useful, np.ones((1, episodes)))[0]) * normalizer if useful else np.nan
    found = []
    for run, seed, price, told in sorted(runs, key=lambda one: (one[2], one[1])):
        rate, said = price / normalizer, told["tokens_said"]
        bought = sum(one.tokens * one.bought(rate) for one in messages) / episodes
        cut = sum(one.best_cut(rate) for one in messages) / episodes
        spoke = told.get("spoke_if_informed", np.nan)
        near = any(abs(said - foreseen) <= _NEAR * foreseen for foreseen in (bought, cut))
        at = run, seed, price, said, told.get("accuracy", np.nan), spoke, bought, cut
        found.append(Trained(*at, bool(spoke < _COLLAPSED), bool(price < highest), near))
    return found


@dataclass(frozen=True, slots=True)
class Claim:
    """How much of the claim some runs bear out."""

    below: int
    """Runs with a price below the choke price."""
    near: int
    """Those of them that say what was predicted."""
    collapsed: int
    """Runs that fell silent."""
    above: int
    """Those of them whose price is not below the choke price."""

    @classmethod
    def of(cls, runs: Sequence[Trained]) -> Claim:
        """Count runs."""
        below = [one for one in runs if one.below_choke]
        silent = [one for one in runs if one.collapsed]
        above = sum(not one.below_choke for one in silent)
        return cls(len(below), sum(one.near for one in below), len(silent), above)

    def __str__(self) -> str:
        """One line of it."""
        return (
            f"{self.near} of {self.below} runs below the choke price say what was predicted, within"
            f" 25 %; {self.above} of {self.collapsed} runs that fell silent are above it"
        )
