"""Silence on balance: what tells against it in an update never outweighs what tells for it.

Silence begins with the same words wherever it is kept, so an update that finds it wrong where an
agent knew something makes it rarer where nobody did. While informed agents are silent now and then,
what they lose outweighs what the others save, and silence dies out before a policy has learned to
tell the two apart (*silence extinction*). Here the advantages of silent sequences that did worse
are scaled down until, over an update, they sum up to no more than those of silent ones that did
better. This bounds what silence as such is told, not how often it is drawn after the step, which
can fall all the same. Nothing holds back silence that does better; against its collapse there is
the price.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from laconic.learners.training.sequences import TokenSequence


def balanced(sequences: Sequence[TokenSequence]) -> tuple[list[TokenSequence], float]:
    """One policy's sequences of an update, with silence on balance.

    Returns:
        The sequences in order, and the factor (0 to 1) by which the advantages of silent ones that
        did worse were multiplied: 0 where no silence did better, 1 where it did so by as much.
    """
    silent = [one.advantage for one in sequences if one.silent]
    better = math.fsum(one for one in silent if one > 0)
    worse = -math.fsum(one for one in silent if one < 0)
    factor = 1.0 if worse <= better else better / worse
    return [
        replace(one, advantage=factor * one.advantage) if one.silent and one.advantage < 0 else one
        for one in sequences
    ], factor
