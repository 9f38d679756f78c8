"""Yes/no tasks whose answer follows from facts: the record, and drawing sets of them.

Yes and no alternate in random order, so the two are equally common in every set. A digest of a
problem's content says whether it is a train or an evaluation problem, as for the word problems.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from laconic.envs.families.common.generation import check_request, ran_out, split_of
from laconic.envs.task import Split, Task

Decoy = Callable[[Random], tuple[object, str]]
"""Draws what a statement that does not matter is about, and the statement."""
Span = int | tuple[int, int]
"""A whole number, or a pair of them from fewest to most."""

MAX_DISTRACTORS = 12
_PATIENCE = 2_000
"""Problems in a row that were there already before the space counts as used up."""


@dataclass(frozen=True, slots=True)
class Inference:
    """A yes/no question and the facts it follows from, before distractors are mixed in."""

    facts: tuple[str, ...]
    """The sentences needed, every one of them."""
    question: str
    """What is asked."""
    holds: bool
    """True: the answer is yes."""
    working: str
    """What the facts come to, in few words."""
    decoy: Decoy
    """Draws a distractor and its subject; two distractors of one task have different subjects."""

    @property
    def content(self) -> str:
        """What makes this problem this problem: its facts, whatever their order, and question."""
        return "\n".join((*sorted(self.facts), self.question))


Make = Callable[[Random, bool], Inference]
"""Makes a problem whose answer is yes (True) or no."""


def draw(
    makes: Mapping[int, Sequence[Make]],
    seed: int,
    count: int,
    split: Split,
    levels: tuple[int, int],
    extras: tuple[int, int],
) -> tuple[Task, ...]:
    """Draw different tasks; fewer of the same seed are the first of these.

    Args:
        makes: for each level what makes its problems.
        seed: any whole number.
        count: how many tasks; of an even number half are answered with yes.
        split: train or evaluation; they share no problem.
        levels: lowest and highest level.
        extras: fewest and most statements that do not matter.

    Raises:
        SettingError: seed or count is no whole number, or there are not so many problems.
        UnknownNameError: there is no such part.
    """
    check_request(seed, count, split)
    random, misses = Random(f"{split}/{seed}"), 0
    tasks: list[Task] = []
    seen: set[str] = set()
    holds = False
    while len(tasks) < count:
        if not misses:
            # Chosen once per task: else the kind of question would tell, where problems get rare,
            # which answer it has.
            make = random.choice(makes[random.randint(*levels)])
            holds = random.random() < 0.5 if len(tasks) % 2 == 0 else not holds
        problem = make(random, holds)
        content = problem.content
        if content in seen or split_of(content) != split:
            misses += 1
            if misses > _PATIENCE:
                raise ran_out(f"{split} problems of level {levels!r}", count, len(tasks))
            continue
        seen.add(content)
        misses = 0
        tasks.append(_task(f"{split}-{seed}/{len(tasks)}", problem, random, extras))
    return tuple(tasks)


def _task(key: str, problem: Inference, random: Random, extras: tuple[int, int]) -> Task:
    """Mix distractors into the facts of a problem, in any order."""
    count = random.randint(*extras)
    decoys: dict[object, str] = {}
    while len(decoys) < count:
        subject, sentence = problem.decoy(random)
        decoys.setdefault(subject, sentence)
    flagged = [(fact, True) for fact in problem.facts]
    flagged += [(decoy, False) for decoy in decoys.values()]
    random.shuffle(flagged)
    statements, relevant = zip(*flagged, strict=True)
    answer = "yes" if problem.holds else "no"
    return Task(key, problem.question, statements, answer, relevant, problem.working)
