"""What working together costs and brings, beside one agent alone; pure functions of numbers.

Overhead and efficiency: "Towards a Science of Scaling Agent Systems" (arXiv 2512.08296). A turn is
a call of an agent, a silent one too. Effective channels K*: arXiv 2602.03794, on counts of words in
place of embeddings. The interval of a paired difference is the one that belongs to McNemar's exact
test: that of Clopper and Pearson for the tasks on which only one of two is right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from laconic.experiments.statistics.intervals import exact
from laconic.learners.metrics import RESAMPLES, Interval, resample


def overhead(turns: float, alone: float) -> float:
    """By which share a team takes more turns than one agent alone: (T - T1) / T1."""
    return (turns - alone) / alone


def efficiency(success: float, turns: float, alone: float) -> float:
    """Success for as many turns as one agent alone takes: S / (T / T1)."""
    return success / (turns / alone)


def vectors(replies: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Counts of tokens in replies as vectors of length 1, (replies, tokens); empty ones are 0."""
    names = sorted(set().union(*replies))
    counts = [Counter(reply) for reply in replies]
    made = np.array([[one[name] for name in names] for one in counts], dtype=np.float64)
    norms = np.linalg.norm(made, axis=1, keepdims=True)
    found: NDArray[np.float64] = np.divide(made, norms, out=np.zeros_like(made), where=norms > 0)
    return found


def redundancy(found: NDArray[np.float64]) -> float:
    """Mean cosine of all pairs of unit vectors (count, size); NaN of fewer than two."""
    return fmean([float(a @ b) for a, b in combinations(found, 2)]) if len(found) > 1 else math.nan


def channels(found: NDArray[np.float64]) -> float:
    """K* = 2^H of unit vectors (count, size): H the entropy of their Gram matrix's spectrum.

    1 where all are equal, their number where no two have anything in common.
    """
    spectrum = np.linalg.eigvalsh(found @ found.T).clip(0.0)
    shares = spectrum[spectrum > 1e-12] / spectrum.sum()
    return float(2.0 ** -(shares * np.log2(shares)).sum())


def paired(alone: Mapping[str, bool], team: Mapping[str, bool]) -> tuple[int, int, Interval]:
    """Tasks that the team broke and that it fixed; and its gain as a share of all, with interval.

    Takes who solved what, by task; tasks that only one of the two played are left out.
    """
    tasks = alone.keys() & team.keys()
    broken = sum(alone[one] and not team[one] for one in tasks)
    fixed = sum(team[one] and not alone[one] for one in tasks)
    apart = broken + fixed
    if not tasks or not apart:
        return broken, fixed, Interval(0.0, 0.0, 0.0, len(tasks))
    low, high = ((2 * end - 1) * apart / len(tasks) for end in exact(fixed, apart))
    return broken, fixed, Interval((fixed - broken) / len(tasks), low, high, len(tasks))


def spent_ratio(alone: Mapping[str, int], team: Mapping[str, int]) -> Interval | None:
    """Tokens that the team spends for each that the one does, with a paired bootstrap interval.

    Takes tokens by task, and looks at the tasks of both. None where there are none, or the one
    spends nothing.
    """
    tasks = sorted(alone.keys() & team.keys())
    spent = np.array([(team[one], alone[one]) for one in tasks], dtype=np.float64).reshape(-1, 2)
    if not spent[:, 1].any():
        return None
    drawn = resample(RESAMPLES, len(tasks), np.random.default_rng(0)) @ spent
    # A draw in which the one says nothing has no ratio.
    drawn = drawn[drawn[:, 1] > 0]
    low, high = np.percentile(drawn[:, 0] / drawn[:, 1], (2.5, 97.5))
    mean = spent[:, 0].sum() / spent[:, 1].sum()
    return Interval(float(mean), float(low), float(high), len(tasks))


FLOWS = ("tt", "tf", "ft", "ff")
"""From right (t) or wrong (f) in a round to right or wrong in the next."""
Answers = Mapping[str, tuple[str, bool]]
"""For each agent that answered in a round: its answer, and whether it is right."""


def answer_flow(rounds: Sequence[Answers]) -> dict[str, tuple[int, int]]:
    """How answers change from round to round (MachineSoM, arXiv 2310.02124).

    For each of `FLOWS`: how often an agent that answered in two rounds in a row went so; and in how
    many of these its new answer was among the commonest of the others' answers before.
    """
    found = {name: [0, 0] for name in FLOWS}
    for before, after in pairwise(rounds):
        for agent in before.keys() & after.keys():
            others = Counter(answer for one, (answer, _) in before.items() if one != agent)
            most = max(others.values(), default=0)
            (_, was), (answer, now) = before[agent], after[agent]
            counts = found["ft"[was] + "ft"[now]]
            counts[0] += 1
            counts[1] += bool(most) and others[answer] == most
    return {name: (count, conforming) for name, (count, conforming) in found.items()}
