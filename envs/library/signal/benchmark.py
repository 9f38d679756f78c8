"""Signal: name the color of a thing, the smallest task that requires communication.

A task is a list of things with their colors, and a question about the color of one thing. With
split information one agent has the relevant statement and the others have none. A team learns two
skills: to answer with the color it was told, and to be silent about things that were not asked.
There are few words and a closed set of answers, so numeric agents can learn it too
(`envs.wrappers`).

There is no published data. Your own source has rows `{"question", "statements", "answer"}` with an
answer from `COLORS`. An optional list `relevant` flags the statements that matter.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

from laconic.envs.benchmarks.base import SPLIT, ShortAnswers, priced
from laconic.envs.benchmarks.generation import Candidate, Span, draw_different, span
from laconic.envs.benchmarks.sources import Row, field
from laconic.envs.checks import whole
from laconic.envs.declarations import Recipe
from laconic.envs.errors import SourceError
from laconic.envs.task import Benchmark, Falsehood, Split, Task

COLORS = ("red", "blue", "green", "white", "black", "yellow", "pink", "brown")
"""The colors there are, which are the answers; a generator takes the first of them."""
THINGS = tuple(
    "ball book boat cup hat key lamp ring bag bell box chair clock coat desk door".split()
)
"""The things there are; a generator takes the first of them."""

_FACT = re.compile(r"The (?P<thing>\w+) is (?P<color>\w+)\.")
_ASKED = re.compile(r"What colour is the (?P<thing>\w+)\?")
_FORMS = (
    ("The colour of the {thing} is {color}.", "Which colour does the {thing} have?"),
    ("There is a {color} {thing}.", "Name the colour of the {thing}."),
)
"""Other wordings of a statement and of the question."""
_Kinds = tuple[tuple[str, ...], tuple[str, ...], tuple[int, int]]
"""Things, colors, and the fewest and most distractors of a table."""
_WINDOW = 20_000
"""Characters at the end of a text that are read."""
_COLOR = rf"(?P<color>{'|'.join(COLORS)})(?!\w)"
_MARKED = re.compile(rf"####[ \t]{{0,4}}{_COLOR}", re.IGNORECASE)
_NAMED = re.compile(rf"(?<!\w){_COLOR}", re.IGNORECASE)


def generate(
    seed: int,
    count: int,
    split: Split,
    things: int = 10,
    colors: int = 4,
    distractors: Span = 2,
) -> tuple[Task, ...]:
    """Make tables and questions; `Signal` explains the settings.

    Splits differ in whole tables, for there are too few single facts to keep apart: that the ball
    is red may be asked in both.
    """
    kinds = THINGS[: whole("env.generator.things", things, 2, len(THINGS))]
    hues = COLORS[: whole("env.generator.colors", colors, 2, len(COLORS))]
    extras = span("distractors", distractors, (0, len(kinds) - 1))

    def make(random: Random, key: str) -> Candidate[Task]:
        task = _table(random, key, (kinds, hues, extras))
        content = "\n".join((*sorted(task.statements), task.question))
        return Candidate(content, lambda: task)

    return draw_different(make, seed, count, split, "tables")


def _table(random: Random, key: str, kinds: _Kinds) -> Task:
    things, colors, extras = kinds
    chosen = random.sample(things, 1 + random.randint(*extras))
    subject, table = chosen[0], {thing: random.choice(colors) for thing in chosen}
    random.shuffle(chosen)
    return Task(
        key,
        f"What colour is the {subject}?",
        tuple(f"The {thing} is {table[thing]}." for thing in chosen),
        table[subject],
        tuple(thing == subject for thing in chosen),
    )


def commitment(text: str) -> tuple[str, str] | None:
    """Return the last `#### red` of a text, letter for letter, and its color; None without one."""
    marks = list(_MARKED.finditer(text, max(0, len(text) - _WINDOW)))
    return (marks[-1].group(), marks[-1]["color"].lower()) if marks else None


def answer_in(text: str) -> str | None:
    """Return the last marked color of a text, or else the last color that it names, or None."""
    mark = commitment(text)
    mentions = [] if mark else list(_NAMED.finditer(text, max(0, len(text) - _WINDOW)))
    return mark[1] if mark else mentions[-1]["color"].lower() if mentions else None


class Signal(ShortAnswers):
    """Tables of colored things, and one color asked for; a marked color goes before a named one.

    Settings of `generate`: `things` (2 to 16), how many there are to ask for; `colors` (2 to 8),
    how many they can have; `distractors`, how many others a table has.
    """

    name = "signal"
    recipe = Recipe(Path(__file__).with_name("policy"), minutes=6, target=0.6)
    defaults = {
        **SPLIT,
        **priced(5),
        "team": {"solver": 1, "helper": 3},
        "schedule": ["helper", "solver"],
        "generator": {"things": 10, "colors": 4, "distractors": 2},
    }
    chance = 0.25
    roles = ("solver", "helper")
    goal = (
        "Your team is asked for the colour of a thing. The colours of several things are spread"
        " over the team, and only one of them matters."
    )
    answer_form = "State the answer as `#### colour`, for example `#### red`."
    duties = {
        "solver": f"You give the answer: name the colour that the helpers tell you. {answer_form}",
        "helper": "You help the solver, who may not know what you know: pass on the colour of the"
        " thing that is asked for, and say nothing of any other.",
    }
    generator = staticmethod(generate)
    answer_in = staticmethod(answer_in)
    commitment = staticmethod(commitment)
    exempt = Benchmark.exempt

    def falsified(self, task: Task, index: int, random: Random) -> Falsehood | None:
        """Return a statement with the first color that no thing of the table has."""
        table = " ".join((*task.statements, task.answer))
        color = next((name for name in COLORS if name not in table), None)
        if color is None or task.answer not in task.statements[index]:
            return None
        false = task.statements[index].replace(task.answer, color)
        return Falsehood(index, false, color, color)

    def paraphrases(self, task: Task) -> tuple[Task, ...]:
        """Return a table of generated statements in two other wordings, with other things first."""
        question = _ASKED.fullmatch(task.question)
        facts = [_FACT.fullmatch(text) for text in task.statements]
        if question is None or not all(facts):
            return super().paraphrases(task)
        pairs = [(fact["thing"], fact["color"]) for fact in facts if fact]
        others = []
        for statement, ask in _FORMS:
            pairs = [*pairs[1:], pairs[0]]
            others.append(
                replace(
                    task,
                    question=ask.format(thing=question["thing"]),
                    statements=tuple(statement.format(thing=t, color=c) for t, c in pairs),
                    relevant=tuple(thing == question["thing"] for thing, _ in pairs),
                )
            )
        return tuple(others)

    def read(self, row: Row, where: str, key: str) -> Task:
        """Return the task of a row: question, statements and color, perhaps with flags."""
        question = field(row, "question", where)
        answer = field(row, "answer", where).strip().lower()
        statements = field(row, "statements", where, list)
        flags = field(row, "relevant", where, list) if "relevant" in row else None
        if not all(isinstance(text, str) and text.strip() for text in statements):
            raise SourceError(
                f"{where}: expected field 'statements' to be texts; got {statements!r}"
            )
        if flags is not None and [type(flag) for flag in flags] != [bool] * len(statements):
            raise SourceError(
                f"{where}: expected field 'relevant' to be {len(statements)} times true or false,"
                f" one for each statement; got {flags!r}"
            )
        if answer not in COLORS:
            raise SourceError(
                f"{where}: expected field 'answer' to be one of {', '.join(COLORS)}; got {answer!r}"
            )
        return Task(key, question, tuple(statements), answer, tuple(flags) if flags else None)


BENCHMARK = Signal()
