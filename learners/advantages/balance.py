"""Cap the total negative advantage of silent turns at the total positive one.

Silence always begins with the same tokens. An update that discourages it for agents with something
useful to say also makes it rarer for the others. While informed agents are sometimes silent, their
losses outweigh the others' savings, and silence dies out before a policy has learned to tell both
cases apart (*silence extinction*).

With S the advantages of an update's silent sequences:

    factor = min(1, sum of S above 0 / -(sum of S below 0))
    S below 0 are multiplied by the factor

This bounds the total advantage of silence from below; its probability can still fall in the step.
Positive advantages of silence are never scaled down: collapse is left to the price.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def balanced(advantages: Sequence[float], silent: Sequence[bool]) -> tuple[list[float], float]:
    """Scale the negative advantages of silent sequences down to the total of the positive ones.

    Args:
        advantages: (sequences,) of one policy in one update.
        silent: (sequences,) True if the agent said nothing.

    Returns:
        (sequences,) advantages, and the factor from 0 to 1 on the negative ones: 0 if no silent
        sequence has a positive advantage, 1 if nothing had to change.
    """
    of_silence = [advantage for advantage, quiet in zip(advantages, silent, strict=True) if quiet]
    better = math.fsum(advantage for advantage in of_silence if advantage > 0)
    worse = -math.fsum(advantage for advantage in of_silence if advantage < 0)
    factor = 1.0 if worse <= better else better / worse
    return [
        factor * advantage if quiet and advantage < 0 else advantage
        for advantage, quiet in zip(advantages, silent, strict=True)
    ], factor
