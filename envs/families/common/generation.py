"""What all generators of tasks share: drawing different problems of one split, and their settings.

A digest of a problem's content says whether it is a train or an evaluation problem. So no problem
is ever in both, whatever the seeds, and neither the order of the statements nor the distractors can
smuggle one across.
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
"""A whole number, or a pair of them from fewest to most."""
Decoy = Callable[[Random], tuple[object, str]]
"""Draws what a distractor is about, and the distractor, a sentence that looks like a fact."""
DISTRACTORS = (1, 2)
"""Fewest and most distractors of a task, by default."""
_EVALUATION_SHARE = 4
"""One problem in so many is an evaluation problem."""
_PATIENCE = 10_000
"""Draws in a row that gave nothing new before the problems count as used up."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, before statements that do not matter are mixed in."""

    facts: tuple[str, ...]
    """The sentences that the answer depends on, every one of them."""
    question: str
    """What is asked."""
    answer: str
    """The reference answer, in plain form."""
    working: str
    """How the answer comes about, in few words."""
    decoy: Decoy | None = None
    """Draws a distractor; two distractors of one task are about different subjects. None where the
    generator draws them itself."""
    ordered: bool = False
    """Whether the facts are told in their order, which reads well. False: they are shuffled."""

    @property
    def content(self) -> str:
        """What makes this problem this problem: its facts, whatever their order, and question."""
        return "\n".join((*sorted(self.facts), self.question))

    def told(self, random: Random) -> list[str]:
        """The facts in the order in which they are told."""
        facts = list(self.facts)
        if not self.ordered:
            random.shuffle(facts)
        return facts

    def decoys(self, random: Random, count: int) -> list[str]:
        """So many distractors, each about another subject, of which there must be enough."""
        assert self.decoy is not None, "asked of a problem without distractors of its own"
        found: dict[object, str] = {}
        while len(found) < count:
            subject, sentence = self.decoy(random)
            found.setdefault(subject, sentence)
        return list(found.values())


@dataclass(frozen=True, slots=True)
class Candidate(Generic[Item]):
    """A problem that was drawn, which is taken if it is new and of the split asked for."""

    content: str
    """Two problems of equal content are one."""
    finish: Callable[[], Item | None]
    """Makes the item of it; called only where the problem is taken, and None refuses it."""
    split_by: str | None = None
    """The text whose digest tells the split. None: the content."""


def draw_different(
    make: Callable[[Random, str], Candidate[Item]], seed: int, count: int, split: Split, kind: str
) -> tuple[Item, ...]:
    """Draw different problems from a seed; fewer of the same seed are the first of these.

    Args:
        make: draws a candidate for the item of this key, `<split>-<seed>/<index>` from 0. It is
            called with the same key until a candidate is taken.
        seed: any whole number.
        count: how many items, at least 0.
        split: `train` or `evaluation`; they share no problem, whatever the seeds.
        kind: what there may be too few of, e.g. `problems of level 1`.

    Raises:
        SettingError: seed or count is no whole number, count is negative, or 10,000 draws in a row
            gave nothing new.
        UnknownNameError: there is no such split.
    """
    whole("env.generator.seed", seed)
    whole("count", count, 0)
    choice("env.split", split, ("train", "evaluation"))
    random, misses = Random(f"{split}/{seed}"), 0
    items: list[Item] = []
    seen: set[str] = set()
    while len(items) < count:
        drawn = make(random, f"{split}-{seed}/{len(items)}")
        fits = split_of(drawn.content if drawn.split_by is None else drawn.split_by) == split
        item = drawn.finish() if fits and drawn.content not in seen else None
        if item is not None:
            seen.add(drawn.content)
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
    """The split a problem belongs to, by a digest of its content: one in four is for evaluation."""
    digest = int.from_bytes(blake2b(content.encode(), digest_size=4).digest())
    return "train" if digest % _EVALUATION_SHARE else "evaluation"


def mix(
    random: Random, facts: Iterable[str], decoys: Iterable[str]
) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Put distractors at random places among facts; statements, and a flag each: is it a fact?"""
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
    """A generator of items that have a level and distractors.

    Args:
        makes: from fewest and most of both what draws a candidate, as `draw_different` has it.
        kind: what there may be too few of, e.g. `problems`.
        levels: lowest and highest, which are also what is drawn from by default.
        max_distractors: how many an item has at the most.

    Returns:
        A function of seed, count, split, `level` and `distractors`, which draws as
        `draw_different` does; each of the two settings is a number, or a pair to draw from.
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
