r"""MATH: competition mathematics, real problems from the original files and generated ones.

Sources: Hendrycks et al., "Measuring Mathematical Problem Solving With the MATH Dataset"
(arXiv:2103.03874), and its subset MATH-500 (Lightman et al., arXiv:2305.20050). The reference
answer is the content of the last `\boxed{}` of the solution. An answer is right if it equals the
reference: by its letters, by exact numbers and structure, or by algebra
(`envs.library.math.grading`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from laconic.envs.benchmarks.base import SPLIT, MarkedAnswers, majority, priced
from laconic.envs.benchmarks.sources import Row
from laconic.envs.declarations import Recipe
from laconic.envs.library.math.grading.boxed import answer_in, commitment
from laconic.envs.library.math.grading.grade import grade, plain, same_form
from laconic.envs.library.math.grading.latex import squeezed, tidy
from laconic.envs.library.math.problems import original
from laconic.envs.library.math.problems.generate import generate
from laconic.envs.task import Score, Split, Task

_SHORTEST_ECHO = 5
_FORMULA = re.compile(r"\$|\\\[|\\\]")
_SIDE = re.compile(r"=|\\\\|&")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_DIGITS = re.compile(r"[0-9]+")
_VARIABLE = re.compile(r"[A-Za-hj-z]")
_WORDS = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}\s*")
"""Plain words; commands of LaTeX begin with a backslash."""


class MATH(MarkedAnswers):
    """Problems whose answer is one mathematical expression.

    Sources are MATH, MATH-500 or rows with answers only, of which those without one are left out.
    A folder has `train.jsonl` (or `train_answers.jsonl`) and `test.jsonl`, or the folders `train`
    and `test` of the original distribution. Settings of `generate`: `level`, 1 to 5; `subjects`,
    one or several of algebra, number_theory, counting, geometry and precalculus; `distractors`,
    statements that do not matter, 0 to 4 (`envs.library.math.problems.generate`).
    """

    name = "math"
    recipe = Recipe(Path(__file__).with_name("policy"), minutes=20)
    defaults = {
        **SPLIT,
        **priced(13),
        "team": {"solver": 1, "helper": 3},
        "schedule": ["helper", "solver"],
        "generator": {"level": 1, "distractors": 1},
    }
    roles = ("solver", "helper", "critic")
    goal = (
        "Your team solves a mathematical problem together. Its conditions may be spread over the"
        " team, and some of them may not matter."
    )
    answer_form = r"State the exact answer as `\boxed{answer}`, for example `\boxed{\frac{1}{2}}`."
    duties = {
        "solver": "You give the answer: put together what you know and what the others tell you,"
        f" and work it out. {answer_form}",
        "helper": "You help the solver, who may not know what you know: pass on the conditions"
        " that the question depends on, in few words, and leave out those that do not matter.",
        "critic": "You check the solver's work: say where it goes wrong and what would be right,"
        " in few words, and nothing where it is right.",
    }
    hints = {
        "solver": r"Write only the answer, in \boxed{}. If the answer is 5, write: \boxed{5}",
        "helper": "Say again, in one short sentence, the condition that you know.",
        "critic": "If the answer is wrong, say in one short sentence what is wrong.",
    }
    slow = True
    mark = r"\boxed"

    generator = staticmethod(generate)
    commitment = staticmethod(commitment)
    read = staticmethod(original.read)

    def rows(self, path: str | Path, split: Split) -> Iterator[tuple[Row, str, str]]:
        """Return the rows of a source in any of its forms."""
        return original.keyed(path, split)

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Compare the answer that most agents give to the reference.

        Agents without an answer have no vote; answers that spell one number or one expression in
        different ways vote together, and among equally common ones that of the earliest agent
        counts. An expression copied from the problem is no answer, unless it is the reference
        itself: a repetition of the problem would equal it.
        """
        given = {text: answer for text in answers.values() if (answer := answer_in(text))}
        votes = {text: plain(answer) for text, answer in given.items()}
        chosen = majority(votes[text] for text in answers.values() if text in votes)
        if chosen is None:
            return Score(0.0, False, "", {"graded_by": "no answer"}, self._form(answers, (), False))
        graded = [text for text, vote in votes.items() if vote == chosen]
        answer = given[graded[0]]
        verdict = grade(task.answer, answer)
        right, how = verdict.right, str(verdict.how)
        if right and how == "math-verify" and _echoes(task, answer):
            right, how = False, "copied"
        form = self._form(answers, graded, right)
        return Score(float(right), right, chosen, {"graded_by": how}, form)

    def exempt(self, message: str, task: Task) -> str:
        r"""`\boxed{12}`: a number in its plain form, or the expression without words in it.

        It is no longer than the right answer, so that a long formula is no free speech either.
        """
        mark = commitment(message)
        if mark is None:
            return ""
        numerator, _, denominator = plain(mark[1]).partition("/")
        if (numerator.removeprefix("-") + denominator).isdecimal():
            value = rf"\frac{{{numerator}}}{{{denominator}}}" if denominator else numerator
        else:
            value = _WORDS.sub("", mark[1])
        return min(rf"\boxed{{{value}}}", task.answer_text, key=len)


def _echoes(task: Task, answer: str) -> bool:
    r"""Return whether an answer is copied from the problem, literally or in disguise.

    A disguise holds an expression of the problem that equals the reference, letter for
    letter or in its form (`+ 0`, `^1`, `\frac{2(..)}{2}`); and a number that is written with all
    numbers of that expression, where the reference is not: it has not been worked out.
    """
    copied, reference = squeezed(tidy(answer) or ""), squeezed(tidy(task.answer) or "")
    if len(copied) < _SHORTEST_ECHO:
        return False
    # The problem is longer than what `tidy` reads, and formulas are all that can be copied.
    formulas = {squeezed(tidy(formula) or "") for formula in _FORMULA.split(task.text)}
    if any(copied in formula for formula in formulas):
        return True
    sides = {side for formula in formulas for side in _SIDE.split(formula)}
    return any(
        len(side) >= _SHORTEST_ECHO
        and side not in reference
        and grade(task.answer, side).right
        and _dresses(side, copied, reference)
        for side in sides
    )


def _dresses(side: str, copied: str, reference: str) -> bool:
    if side in copied or (same_form(side, copied) and not same_form(side, reference)):
        return True
    if _VARIABLE.search(_COMMAND.sub("", side)):
        return False
    in_side, in_answer, in_reference = (
        Counter(_DIGITS.findall(text)) for text in (side, copied, reference)
    )
    return in_side <= in_answer and not in_side <= in_reference


BENCHMARK = MATH()
