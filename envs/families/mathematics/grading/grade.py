"""Grading of an answer: letter for letter, then by exact numbers, then by algebra."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Literal

from laconic.envs.families.mathematics.grading.compare import same, value_of
from laconic.envs.families.mathematics.grading.latex import squeezed, tidy
from laconic.envs.families.mathematics.grading.pool import POOL
from laconic.envs.families.mathematics.grading.quantity import quantity

# Graders import it in their own processes, where an import error would come in mid-run.
if find_spec("math_verify") is None:
    raise ImportError(
        "the environment 'math' needs the package math-verify: pip install 'laconic[math]'"
    )

How = Literal["unread", "rules", "math-verify", "time-out"]
_KEPT = 65_536


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of comparing an answer with the reference answer."""

    right: bool
    """True if the answer equals the reference answer."""
    how: How
    """Deciding step. `unread`: the answer is too long or nested too deeply. `rules`: letters,
    numbers and structure. `math-verify`: algebra. `time-out`: it took too long and counts as
    wrong."""


@lru_cache(maxsize=_KEPT)
def grade(gold: str, answer: str) -> Comparison:
    r"""Compare an answer to a reference answer, both in LaTeX and without `\boxed`.

    No text raises. The function may be called from many threads at a time.

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

    # First suppose that all expressions for math-verify are equal; most wrong answers fail here.
    if not same(expected, got, suppose):
        return Comparison(False, "rules")
    if not questions:
        return Comparison(True, "rules")
    verdict = POOL.verdict(expected, got)
    return Comparison(verdict == "yes", "time-out" if verdict == "time-out" else "math-verify")


@lru_cache(maxsize=_KEPT)
def same_form(first: str, second: str) -> bool:
    """Return whether two answers are one expression up to trivial terms (`+ 0`, `2x/2`)."""
    tidy_first, tidy_second = tidy(first), tidy(second)
    if not tidy_first or not tidy_second:
        return False
    return POOL.verdict(tidy_first, tidy_second, form=True) == "yes"


def plain(answer: str) -> str:
    """Return an answer in a standard form, for counting votes."""
    tidied = tidy(answer)
    if tidied is None:
        return answer.strip()[:100]
    value = value_of(tidied)
    read = quantity(value)
    return str(read.number) if read.number is not None else squeezed(value)
