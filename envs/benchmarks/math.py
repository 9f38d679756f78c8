r"""MATH: competition mathematics, real problems from the original files and generated ones.

Sources: Hendrycks et al., "Measuring Mathematical Problem Solving With the MATH Dataset"
(arXiv:2103.03874), and its subset MATH-500 (Lightman et al., arXiv:2305.20050). The reference
answer is what the last `\boxed{}` of the solution holds. An answer is right when it is equal to it:
by its letters, by exact numbers and structure, or by algebra (`envs.families.mathematics.grading`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from laconic.envs.families.common.benchmark import MarkedAnswers
from laconic.envs.families.common.sources import Row
from laconic.envs.families.mathematics.grading.boxed import answer_in, commitment
from laconic.envs.families.mathematics.grading.grade import grade, plain
from laconic.envs.families.mathematics.grading.latex import squeezed, tidy
from laconic.envs.families.mathematics.problems import original
from laconic.envs.families.mathematics.problems.generate import generate
from laconic.envs.task import Score, Split, Task, majority

_SHORTEST_ECHO = 5
_WORDS = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}\s*")
"""Plain words; commands of LaTeX begin with a backslash."""


class MATH(MarkedAnswers):
    """Problems whose answer is one mathematical expression.

    Sources are MATH, MATH-500 or rows with answers only, of which those without one are left out.
    A folder has `train.jsonl` (or `train_answers.jsonl`) and `test.jsonl`, or the folders `train`
    and `test` of the original distribution. Settings of `generate`: `level`, 1 to 5; `subjects`,
    one or several of algebra, number_theory, counting, geometry and precalculus; `distractors`,
    statements that do not matter, 0 to 4 (`envs.families.mathematics.problems.generate`).
    """

    name = "math"
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
    slow = True

    generator = staticmethod(generate)
    commitment = staticmethod(commitment)
    read = staticmethod(original.read)

    def rows(self, path: str | Path, split: Split) -> Iterator[tuple[Row, str, str]]:
        """The rows of a source in any of its forms."""
        return original.keyed(path, split)

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Compare the answer that most agents give to the reference.

        Agents without an answer have no vote; answers that spell one number or one expression in
        different ways vote together, and among equally common ones that of the earliest agent
        counts. An expression copied from the problem is no answer, unless it is the reference
        itself: repeating what is to be worked out would equal it.
        """
        given = [found for text in answers.values() if (found := answer_in(text))]
        votes = [plain(answer) for answer in given]
        chosen = majority(votes)
        if chosen is None:
            return Score(0.0, False, "", {"graded_by": "no answer"})
        answer = given[votes.index(chosen)]
        verdict = grade(task.answer, answer)
        right, how = verdict.right, str(verdict.how)
        if right and how == "math-verify" and _echoes(task, answer):
            right, how = False, "copied"
        return Score(float(right), right, chosen, {"graded_by": how})

    def exempt(self, message: str) -> str:
        r"""`\boxed{12}`: the number in its plain form, or the expression without words in it."""
        found = commitment(message)
        if found is None:
            return ""
        numerator, _, denominator = plain(found[1]).partition("/")
        if (numerator.removeprefix("-") + denominator).isdecimal():
            value = rf"\frac{{{numerator}}}{{{denominator}}}" if denominator else numerator
        else:
            value = _WORDS.sub("", found[1])
        return rf"\boxed{{{value}}}"


def _echoes(task: Task, answer: str) -> bool:
    """Whether an answer stands in the problem, as it is or dressed up (`+ 0`, `^1`).

    Dressed up is what is as long as an expression of the problem that equals the reference, where
    that expression is longer than the reference: it has not been worked out.
    """
    copied = squeezed(tidy(answer) or "")
    if len(copied) < _SHORTEST_ECHO:
        return False
    # The problem is longer than what `tidy` reads, and formulas are all that can be copied.
    formulas = {squeezed(tidy(formula) or "") for formula in task.text.split("$")}
    if any(copied in formula for formula in formulas):
        return True
    shortest = max(_SHORTEST_ECHO, len(squeezed(tidy(task.answer) or "")) + 1)
    sides = {side for formula in formulas for side in re.split(r"=|\\\\|&", formula)}
    return any(
        shortest <= len(side) <= len(copied) and grade(task.answer, side).right for side in sides
    )


BENCHMARK = MATH()
