"""The verdict on an answer: letter for letter, by exact numbers, and only then by algebra."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Literal

from laconic.envs.families.mathematics.grading.compare import same, value_of
from laconic.envs.families.mathematics.grading.latex import squeezed, tidy
from laconic.envs.families.mathematics.grading.pool import POOL
from laconic.envs.families.mathematics.grading.quantity import quantity

# Graders import it in processes of their own, where a failure would come in the middle of a run.
if find_spec("math_verify") is None:
    raise ImportError(
        "the environment 'math' needs the package math-verify: pip install 'laconic[math]'"
    )

How = Literal["unread", "rules", "math-verify", "time-out"]
_KEPT = 65_536


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether an answer is right, and how that was found out."""

    right: bool
    """True when the answer equals the reference answer."""
    how: How
    """`unread`: too long or too deep to be read. `rules`: letters, numbers and structure decide.
    `math-verify`: algebra was needed. `time-out`: it took too long, and counts as wrong."""


@lru_cache(maxsize=_KEPT)
def grade(gold: str, answer: str) -> Comparison:
    r"""Compare an answer to a reference answer, both in LaTeX and without `\boxed`.

    Never raises on any text. Safe to call from many threads at a time.

    Raises:
        envs.families.mathematics.grading.pool.GraderError: no grader process can be started.
    """
    expected, got = tidy(gold), tidy(answer)
    if expected is None or got is None or not squeezed(got):
        return Comparison(False, "unread")
    questions: list[tuple[str, str]] = []

    def suppose(first: str, second: str) -> bool:
        questions.append((first, second))
        return True

    # Equal at best, when every expression that has to be asked about is supposed to be equal.
    if not same(expected, got, suppose):
        return Comparison(False, "rules")
    if not questions:
        return Comparison(True, "rules")
    verdict = POOL.verdict(expected, got)
    return Comparison(verdict == "yes", "time-out" if verdict == "time-out" else "math-verify")


@lru_cache(maxsize=_KEPT)
def same_form(one: str, other: str) -> bool:
    """Return whether two answers are one expression up to trivial terms (`+ 0`, `2x/2`)."""
    first, second = tidy(one), tidy(other)
    return bool(first and second) and POOL.verdict(first or "", second or "", form=True) == "yes"


def plain(answer: str) -> str:
    """Return an answer in a form that many spellings share, for counting votes."""
    tidied = tidy(answer)
    if tidied is None:
        return answer.strip()[:100]
    value = value_of(tidied)
    read = quantity(value)
    return str(read.number) if read.number is not None else squeezed(value)
