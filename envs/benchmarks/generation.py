"""Shared parts of all generators of tasks: drawing different problems, splits, and settings.

A digest of a problem's content says whether it is a train or an evaluation problem. So no problem
is ever in both splits, whatever the seeds. The order of the statements and the distractors do not
count as content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import Generic, TypeVar

from laconic.envs.checks import choice, is_whole, whole
from laconic.envs.errors import SettingError
from laconic.envs.task import Split

Item = TypeVar("Item")
Pair = tuple[int, int]
Span = int | Pair
"""A whole number, or a pair of them from lowest to highest."""
Decoy = Callable[[Random], tuple[object, str]]
"""Function that draws the subject of a distractor, and the distractor: a sentence like a fact."""
DISTRACTORS = (1, 2)
"""Default for the fewest and most distractors of a task."""
_EVALUATION_SHARE = 4
"""One problem in this number of problems is for evaluation."""
_PATIENCE = 10_000
"""Draws in a row without a new problem after which the problems count as used up."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, before statements that do not matter are mixed in."""

    facts: tuple[str, ...]
    """Sentences that the answer depends on, every one of them."""
    question: str
    """Question of the problem."""
    answer: str
    """Reference answer, in plain form."""
    working: str
    """Steps to the answer, in few words."""
    decoy: Decoy | None = None
    """Function that draws a distractor; two distractors of one task have different subjects. None:
    the generator draws them itself."""
    ordered: bool = False
    """Keep the order of the facts, as in a story; otherwise they are shuffled."""

    @property
    def content(self) -> str:
        """Return the identity of the problem: its facts, in sorted order, and the question."""
        return "\n".join((*sorted(self.facts), self.question))

    def ordered_facts(self, random: Random) -> list[str]:
        """Return the facts in the order in which an agent reads them."""
        facts = list(self.facts)
        if not self.ordered:
            random.shuffle(facts)
        return facts

    def decoys(self, random: Random, count: int) -> list[str]:
        """Draw this number of distractors, each about another subject; there must be enough."""
        assert self.decoy is not None, "asked of a problem without distractors of its own"
        decoys: dict[object, str] = {}
        while len(decoys) < count:
            subject, sentence = self.decoy(random)
            decoys.setdefault(subject, sentence)
        return list(decoys.values())


@dataclass(frozen=True, slots=True)
class Candidate(Generic[Item]):
    """A problem that was drawn; it is used if it is new and belongs to the requested split."""

    content: str
    """Identity of the problem: two candidates of equal content are one problem."""
    finish: Callable[[], Item | None]
    """Function that makes the item; called only if the problem is used. None rejects it."""
    split_by: str | None = None
    """Text whose digest determines the split. None: the content."""


def draw_different(
    make: Callable[[Random, str], Candidate[Item]], seed: int, count: int, split: Split, kind: str
) -> tuple[Item, ...]:
    """Draw different problems from a seed; fewer of the same seed are the first of these.

    Args:
        make: draws a candidate for the item of this key, `<split>-<seed>/<index>` from 0. It is
            called with the same key until a candidate is used.
        seed: any whole number.
        count: number of items, at least 0.
        split: `train` or `evaluation`; they share no problem, whatever the seeds.
        kind: name of the items in an error, e.g. `problems of level 1`.

    Raises:
        SettingError: seed or count is not a whole number, count is negative, or 10,000 draws in a
            row gave nothing new.
        UnknownNameError: there is no such split.
    """
    whole("env.generator.seed", seed)
    whole("count", count, 0)
    choice("env.split", split, ("train", "evaluation"))
    random, misses = Random(f"{split}/{seed}"), 0
    items: list[Item] = []
    contents: set[str] = set()
    while len(items) < count:
        candidate = make(random, f"{split}-{seed}/{len(items)}")
        content, split_by = candidate.content, candidate.split_by
        fits = split_of(content if split_by is None else split_by) == split
        item = candidate.finish() if fits and content not in contents else None
        if item is not None:
            contents.add(content)
            items.append(item)
            misses = 0
            continue
        misses += 1
        if misses == _PATIENCE:
            raise SettingError(
                f"count must be at most the number of different {split} {kind}; got {count!r}, and"
                f" found {len(items)} before they ran out. Ask for fewer (env.tasks), or for more"
                " levels or kinds (env.generator)"
            )
    return tuple(items)


def split_of(content: str) -> Split:
    """Return the split of a problem by a digest of its content; one in four is for evaluation."""
    digest = int.from_bytes(blake2b(content.encode(), digest_size=4).digest())
    return "train" if digest % _EVALUATION_SHARE else "evaluation"


def mix(
    random: Random, facts: Iterable[str], decoys: Iterable[str]
) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Put distractors at random places among facts; return all, and whether each is a fact."""
    flagged = [(fact, True) for fact in facts]
    for decoy in decoys:
        flagged.insert(random.randint(0, len(flagged)), (decoy, False))
    statements, relevant = zip(*flagged, strict=True)
    return statements, relevant


def leveled(
    makes: Callable[[Pair, Pair], Callable[[Random, str], Candidate[Item]]],
    kind: str,
    levels: Pair,
    max_distractors: int,
) -> Callable[..., tuple[Item, ...]]:
    """Return a generator of items that have a level and distractors.

    Args:
        makes: takes the ranges of levels and of distractors, and returns the function that draws a
            candidate (`draw_different`).
        kind: name of the items in an error, e.g. `problems`.
        levels: lowest and highest level, which are also the default range.
        max_distractors: most distractors of an item.

    Returns:
        A function of seed, count, split, `level` and `distractors` that draws as `draw_different`
        does. Each of the two settings is a number, or a pair to draw from.
    """

    def generate(
        seed: int, count: int, split: Split, level: Span = levels, distractors: Span = DISTRACTORS
    ) -> tuple[Item, ...]:
        extras = span("distractors", distractors, (0, max_distractors))
        make = makes(span("level", level, levels), extras)
        return draw_different(make, seed, count, split, f"{kind} of level {level!r}")

    return generate


def span(name: str, value: object, limits: Pair) -> Pair:
    """Return a setting under `env.generator`, a number or a pair, as a pair within limits.

    Raises:
        SettingError: it is neither, or outside the limits.
    """
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    whole_pair = len(pair) == 2 and all(map(is_whole, pair))
    if not whole_pair or not limits[0] <= pair[0] <= pair[1] <= limits[1]:
        raise SettingError(
            f"env.generator.{name} must be a whole number from {limits[0]} to {limits[1]},"
            f" or a pair of them from fewest to most; got {value!r}"
        )
    return pair
