"""GSM8K: grade-school word problems, real ones from the original files and generated ones.

Source: Cobbe et al., "Training Verifiers to Solve Math Word Problems" (arXiv:2110.14168); rows are
`{"question", "answer"}`, where the reference answer stands after the only `####`.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from laconic.envs.benchmarks.base import SPLIT, ShortAnswers, priced
from laconic.envs.benchmarks.sources import Row, field, filled, split_question
from laconic.envs.declarations import Recipe
from laconic.envs.errors import SourceError
from laconic.envs.library.gsm8k.falsify import falsified
from laconic.envs.library.gsm8k.generate import generate
from laconic.envs.library.gsm8k.numbers import answer_in, commitment, plain
from laconic.envs.task import Falsehood, Task

_CALCULATION = re.compile(r"<<[^<>]*>>")
"""A calculator mark in a worked solution, as in `48/2=<<48/2=24>>24`."""
_MARK = "####"


class GSM8K(ShortAnswers):
    """Word problems whose answer is one number; sources are files or `hub:openai/gsm8k#main`.

    Settings of `generate`: `level`, arithmetic steps, 1 to 8; `distractors`, statements that do not
    matter (`envs.library.gsm8k.generate`).
    """

    name = "gsm8k"
    recipe = Recipe(Path(__file__).with_name("policy"), minutes=11)
    defaults = {
        **SPLIT,
        **priced(12),
        "team": {"solver": 1, "helper": 3},
        "schedule": ["helper", "solver"],
        "generator": {"level": 1, "distractors": 1},
    }
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
    generator = staticmethod(generate)
    answer_in = staticmethod(answer_in)
    commitment = staticmethod(commitment)
    plain = staticmethod(plain)
    answers_vary_in_length = True

    def falsified(self, task: Task, index: int, random: Random) -> Falsehood | None:
        """Return a statement with another number (`envs.library.gsm8k.falsify`)."""
        return falsified(task, index, random)

    def read(self, row: Row, where: str, key: str) -> Task:
        """Return the task of a row: its sentences, and the number after the only `####`."""
        text, solution = field(row, "question", where), field(row, "answer", where)
        filled(text, "question", where)
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
