"""Whether an untrained team's demand for words foresees what training under a price makes of it.

The claim: below the choke price a trained team says, within 25 %, what was predicted, and every run
that falls silent has a price above it. Pure functions of what messages are worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from laconic.extras.analysis.demand_statistics import Message, choke


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
