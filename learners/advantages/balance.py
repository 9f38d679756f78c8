"""Keep an update from arguing against silence more than for it.

Silence always begins with the same words. An update that finds it wrong where an agent held
something useful also makes it rarer where no agent did. While informed agents are silent now and
then, what they lose outweighs what the others save, and silence dies out before a policy has
learned to tell both cases apart (*silence extinction*).

With S the advantages of an update's silent sequences:

    factor = min(1, sum of S above 0 / -(sum of S below 0))
    S below 0 are multiplied by the factor

This bounds the advantage of silence in total. Its probability after the step can still fall.
Silence that does better is never scaled down; the price works against its collapse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def balanced(advantages: Sequence[float], silent: Sequence[bool]) -> tuple[list[float], float]:
    """Scale the negative advantages of silent sequences down to the total of the positive ones.

    Args:
        advantages: (sequences,) of one policy in one update.
        silent: (sequences,) True where nothing was said.

    Returns:
        (sequences,) advantages, and the factor from 0 to 1 on the negative ones: 0 where no
        silence did better, 1 where nothing had to change.
    """
    of_silence = [advantage for advantage, quiet in zip(advantages, silent, strict=True) if quiet]
    better = math.fsum(advantage for advantage in of_silence if advantage > 0)
    worse = -math.fsum(advantage for advantage in of_silence if advantage < 0)
    factor = 1.0 if worse <= better else better / worse
    return [
        factor * advantage if quiet and advantage < 0 else advantage
        for advantage, quiet in zip(advantages, silent, strict=True)
    ], factor
