"""Cap the total negative advantage of silent turns at the total positive one, over updates.

Silence always begins with the same tokens. An update that discourages it for agents with something
useful to say also makes it rarer for the others. While informed agents are sometimes silent, their
losses outweigh the others' savings, and silence dies out before a policy has learned to tell both
cases apart (*silence extinction*).

With S the advantages of the silent sequences of a policy in an update, and running means over its
updates, of which the past weighs `SMOOTHING`:

    pos = running mean of the sum of S above 0        neg = running mean of -(sum of S below 0)
    factor = min(1, pos / neg)
    S below 0 are multiplied by the factor

The totals run because a cap by those of one update is one-sided under noise: an update in which
silence does worse by chance is scaled down, one in which it does better by chance is not, so
silence drifts upwards where it earns nothing. On signal (seed 3 alone) informed speech fell from
.80 to .52 in 22 updates under such a cap, and stays at .81 to .88 under running totals.

This bounds the total advantage of silence from below over some ten updates; its probability can
still fall in each. Positive advantages of silence are never scaled down: collapse is left to the
price.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

SMOOTHING = 0.9
"""Weight of the past in the running totals."""


class SilenceBalance:
    """Scales the negative advantages of silence of each policy by its running totals."""

    def __init__(self) -> None:
        """Start without totals."""
        self._totals: dict[str, tuple[float, float]] = {}

    def __call__(
        self, policy: str, advantages: Sequence[float], silent: Sequence[bool]
    ) -> tuple[list[float], float]:
        """Take in the advantages of one policy in one update, and scale them.

        Args:
            policy: name of the policy, the same in every update.
            advantages: (sequences,) of the policy in the update.
            silent: (sequences,) True if the agent said nothing.

        Returns:
            (sequences,) advantages, and the factor from 0 to 1 on the negative ones of silence: 0
            if no silent sequence ever had a positive advantage, 1 if nothing had to change.
        """
        of_silence = [each for each, quiet in zip(advantages, silent, strict=True) if quiet]
        better = math.fsum(advantage for advantage in of_silence if advantage > 0)
        worse = -math.fsum(advantage for advantage in of_silence if advantage < 0)
        if (past := self._totals.get(policy)) is not None:
            better = SMOOTHING * past[0] + (1 - SMOOTHING) * better
            worse = SMOOTHING * past[1] + (1 - SMOOTHING) * worse
        self._totals[policy] = better, worse
        factor = 1.0 if worse <= better else better / worse
        return [
            factor * advantage if quiet and advantage < 0 else advantage
            for advantage, quiet in zip(advantages, silent, strict=True)
        ], factor

    def state_dict(self) -> dict[str, Any]:
        """Return the running totals of each policy, advantages above 0 first."""
        return {"totals": {policy: list(totals) for policy, totals in self._totals.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`; earlier versions saved none."""
        totals = state.get("totals", {})
        self._totals = {policy: (better, worse) for policy, (better, worse) in totals.items()}
