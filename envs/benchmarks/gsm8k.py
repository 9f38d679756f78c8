"""GSM8K: grade-school word problems, real ones from the original files and generated ones.

Source: Cobbe et al., "Training Verifiers to Solve Math Word Problems" (arXiv:2110.14168); rows are
`{"question", "answer"}`, where the reference answer stands after the only `####`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from laconic.envs.errors import SourceError
from laconic.envs.families.arithmetic.generate import generate
from laconic.envs.families.arithmetic.numbers import answer_in, commitment, plain
from laconic.envs.families.common.generation import refuse
from laconic.envs.families.common.sentences import split_question
from laconic.envs.families.common.sources import Row, field, numbered, rows, title
from laconic.envs.task import Benchmark, Score, Split, Task, majority

_CALCULATION = re.compile(r"<<[^<>]*>>")
"""A calculator mark in a worked solution, as in `48/2=<<48/2=24>>24`."""
_MARK = "####"


class GSM8K(Benchmark):
    """Word problems whose answer is one number."""

    name = "gsm8k"
    roles = ("solver", "helper")
    goal = (
        "Your team solves a grade-school word problem together. Its facts may be spread over the"
        " team, and some of them may not matter."
    )
    answer_form = "State the answer as `#### number`, for example `#### 12`."
    duties = {
        "solver": "You give the answer: put together what you know and what the helpers tell you,"
        f" and work it out. {answer_form}",
        "helper": "You help the solver, who may not know what you know: pass on the facts that the"
        " question depends on, in few words, and leave out those that do not matter.",
    }

    hints = {
        "solver": "Write only the answer, after ####. If the answer is 5, write: #### 5",
        "helper": "Say again, in one short sentence, the fact that you know.",
    }

    def load(self, path: str | Path, split: Split = "evaluation") -> tuple[Task, ...]:
        """Read `train.jsonl` and `test.jsonl`, their `.gz`, or `hub:openai/gsm8k#main`."""
        return numbered(title(path, split), rows(path, split), _read)

    def generate(
        self,
        seed: int,
        count: int,
        *,
        split: Split = "train",
        level: int | tuple[int, int] = (1, 8),
        distractors: int | tuple[int, int] = (1, 2),
        **unknown: Any,
    ) -> tuple[Task, ...]:
        """Make word problems; see `envs.families.arithmetic.generate`.

        `level` is the number of arithmetic steps, 1 to 8; `distractors` the number of statements
        that do not matter.
        """
        refuse(unknown, "level", "distractors")
        return generate(seed, count, split, level, distractors)

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Compare the number most agents answer with to the reference, exactly."""
        answer = majority(map(answer_in, answers.values()))
        solved = answer is not None and answer == plain(task.answer)
        return Score(float(solved), solved, answer or "")

    def committed(self, message: str) -> str | None:
        r"""The last `#### 12` or `\boxed{12}` of a message, letter for letter; None without one."""
        found = commitment(message)
        return found[0] if found else None

    def exempt(self, message: str) -> str:
        """`#### 12`, whatever else stands in the mark."""
        found = commitment(message)
        return f"{_MARK} {found[1]}" if found else ""


def _read(row: Row, where: str, key: str) -> Task:
    text, solution = field(row, "question", where), field(row, "answer", where)
    if not text.strip():
        raise SourceError(f"{where}: expected a question; the field 'question' is empty")
    before, _, after = solution.partition(_MARK)
    answer = None if _MARK in after else plain(after)
    if answer is None:
        raise SourceError(
            f"{where}: expected field 'answer' to end in one `{_MARK} number`;"
            f" got {solution[-80:]!r}"
        )
    statements, question = split_question(text)
    working = _CALCULATION.sub("", before).strip()
    return Task(key, question, statements, answer, solution=working)


BENCHMARK = GSM8K()
