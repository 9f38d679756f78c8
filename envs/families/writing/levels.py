"""The writing reward of MAGRPO (arXiv 2508.04652): two texts, four levels, at most 3 points.

| level | measure | points |
|---|---|---|
| `length` | words of each text, separated by white space, within a range | 0.5 |
| `length_ratio` | characters of the second text / those of the first | 1 |
| `word_ratio` | different words of the second / those of the first, without stop-words | 0.5 |
| `style` | 0.4 * transition score + 0.6 * overlap / required overlap | 1 |

A ratio earns full points on a plateau, and less on the ramps beside it, down to 0 at their ends.
The ends belong to the ramps. A level fails if a length is out of range or a ratio is beyond its
ramps. Then later levels are not graded, and the points of earlier levels stay. The transition score
counts categories of connectives. With all twelve it is 0.4 + 11 * 0.05 = 0.95, so the maximum is
0.5 + 1 + 0.5 + 0.4 * 0.95 + 0.6 = 2.98 of the nominal 3.

Our choices, because the paper leaves them open: white space counts as characters, and `word_ratio`
fails if a text has only stop-words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

from laconic.envs.families.writing.measures import (
    connectives,
    overlap,
    ratio,
    spaced_words,
    transition,
    vocabulary,
)

WORTH: Mapping[str, float] = {"length": 0.5, "length_ratio": 1.0, "word_ratio": 0.5, "style": 1.0}
"""Full points of each level, in grading order."""
CONNECTED, SHARED = 0.4, 0.6
"""Fractions of the points for style that depend on connectives and on shared words."""
MAX_REWARD = 2.98
"""Maximum points of two texts."""
SOLVED = 2.5
"""Minimum points of a solved task: all points for structure (2) and half of those for style. The
paper has no such threshold; accuracy needs one."""


@dataclass(frozen=True, slots=True)
class Plateau:
    """How much of its points a ratio earns."""

    lowest: float
    """Least value with which the level is passed."""
    full_from: float
    """Value from which on the level earns all points."""
    full_to: float = inf
    """Up to here it does."""
    highest: float = inf
    """Above it the level fails."""

    def share(self, ratio: float | None) -> float | None:
        """Return the share of the points, from 0 to 1; None where the level fails."""
        if ratio is None or not self.lowest <= ratio <= self.highest:
            return None
        if ratio < self.full_from:
            return (ratio - self.lowest) / (self.full_from - self.lowest)
        if ratio > self.full_to:
            return (self.highest - ratio) / (self.highest - self.full_to)
        return 1.0


@dataclass(frozen=True, slots=True)
class Levels:
    """The thresholds of one benchmark."""

    roles: tuple[str, str]
    """Roles that write the first and the second text."""
    words: tuple[int, int]
    """Fewest and most words of each text."""
    length_ratio: Plateau
    """Characters of the second text by those of the first."""
    word_ratio: Plateau
    """Different words of the second text by those of the first."""
    overlap: float
    """Overlap of the vocabularies that earns all points for shared words."""
    both_connect: bool
    """True if connectives count in both texts together, False if in the second only."""


@dataclass(frozen=True, slots=True)
class LevelScores:
    """Points of two texts, level by level."""

    points: Mapping[str, float]
    """Points of each level that was graded, in order."""
    stopped: str
    """Level that failed; empty if none did."""
    found: Mapping[str, object] = field(default_factory=dict)  # a key of score details, hence kept
    """Values measured at those levels: `words` (of each text), `length_ratio`, `word_ratio` (None:
    undefined), `connectives` (categories), `overlap`."""

    @property
    def value(self) -> float:
        """Return the sum of the points."""
        return sum(self.points.values())


_Finding = tuple[str, float | None, dict[str, object]]
"""Level, fraction of its points (None: it fails), and measured values."""


def grade(levels: Levels, first: str, second: str) -> LevelScores:
    """Grade two texts; any strings will do, and none is worth more than 2.98."""
    points: dict[str, float] = {}
    measures: dict[str, object] = {}
    for level, share, measured in _looked_at(levels, first, second):
        points[level] = WORTH[level] * (share or 0.0)
        measures |= measured
        if share is None:
            return LevelScores(points, level, measures)
    return LevelScores(points, "", measures)


def _looked_at(levels: Levels, first: str, second: str) -> Iterator[_Finding]:
    """Yield the levels in order, each measured only when it is reached."""
    counts = spaced_words(first), spaced_words(second)
    fits = all(levels.words[0] <= count <= levels.words[1] for count in counts)
    yield "length", 1.0 if fits else None, {"words": counts}
    longer = ratio(len(first), len(second))
    yield "length_ratio", levels.length_ratio.share(longer), {"length_ratio": longer}
    first_words, second_words = vocabulary(first), vocabulary(second)
    richer = ratio(len(first_words), len(second_words))
    yield "word_ratio", levels.word_ratio.share(richer), {"word_ratio": richer}
    categories = connectives(first, second) if levels.both_connect else connectives(second)
    shared = overlap(first_words, second_words)
    style = CONNECTED * transition(len(categories))
    style += SHARED * (min(shared, levels.overlap) / levels.overlap)
    yield "style", style, {"connectives": categories, "overlap": shared}
