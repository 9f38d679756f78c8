"""HumanEval: complete a Python function from its head and docstring.

Source: Chen et al., "Evaluating Large Language Models Trained on Code" (arXiv:2107.03374); rows are
`{"task_id", "prompt", "entry_point", "canonical_solution", "test"}`, where `test` defines
`check(candidate)`. With full information agents read the prompt unchanged. With split information
all read the head of the function, and the statements of its docstring are dealt. A statement is a
sentence, an item of a list, an example of the interpreter (`>>> f(1)` and its output), or a line in
which the function is called. Headings of examples are dropped. A reply may hold fenced code, a
whole function or a bare body.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from laconic.envs.benchmarks.sources import Row, field, split_sentences
from laconic.envs.declarations import Recipe
from laconic.envs.errors import SourceError
from laconic.envs.families.coding.base import CodingBenchmark
from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.coding.extract import fenced
from laconic.envs.families.coding.generate import Item, pose
from laconic.envs.families.coding.syntax import before, defined, function, parse
from laconic.envs.task import Task

_CHECK = "check"


class HumanEval(CodingBenchmark):
    """Functions to be completed, tested by a `check` of their own.

    Sources are files or `hub:openai/openai_humaneval`; none are for training.
    """

    name = "humaneval"
    recipe = Recipe(Path(__file__).with_name("policy"), minutes=25, max_reply_tokens=97, target=0.2)
    goal = (
        "Your team completes a Python function together. What it has to do may be spread over the"
        " team, and some of it may be about another function."
    )

    def read(self, row: Row, where: str, key: str) -> Task:
        """Return the task of a row with its reference solution."""
        return read(row, where, key, field(row, "canonical_solution", where))

    def pose(self, item: Item) -> Task:
        """Return a prompt with a docstring of steps and examples, and a check on other inputs."""
        name = item.puzzle.name
        examples = [f">>> {name}({value!r})\n{result!r}" for value, result in item.puzzle.examples]
        text = "\n".join((*item.statements, "", *examples)).replace("\n", "\n    ")
        prompt = f'{item.head}\n    """{text}\n    """\n'.replace("\n    \n", "\n\n")
        asserts = (
            f"    assert candidate({value!r}) == {result!r}\n"
            for value, result in item.puzzle.tests
        )
        test = "def check(candidate):\n" + "".join(asserts)
        exam = Exam(name, (_checked(test, name),), (name,), prompt)
        return pose(item, f"Complete the Python function `{item.head}`", prompt, exam)


def read(row: Row, where: str, key: str, solution: str = "") -> Task:
    """Return the task of a row with `task_id`, `prompt`, `entry_point` and `test`.

    `solution` is a body that completes the prompt; empty where the source has none.
    """
    prompt, name = field(row, "prompt", where), field(row, "entry_point", where)
    test, identity = field(row, "test", where), field(row, "task_id", where)
    prompt = prompt.replace("\r\n", "\n")
    head, docstring = _head(prompt, name, where)
    module = parse(test)
    if module is None or _CHECK not in defined(module):
        raise SourceError(
            f"{where}: expected field 'test' to define {_CHECK}(candidate) in Python;"
            f" got {test[:80]!r}"
        )
    answer = f"{prompt}{solution}" if solution else ""
    if parse(answer) is None:
        raise SourceError(
            f"{where}: expected field 'canonical_solution' to complete the prompt;"
            f" got {solution[:80]!r}"
        )
    preamble = before(prompt, name)
    return Task(
        key=key,
        question=f"Complete the Python function {name}:\n{head}",
        statements=conditions(docstring, name),
        answer=answer,
        answer_text=fenced(answer) if answer else "",
        source_text=prompt,
        details={"exam": Exam(name, (_checked(test, name),), (name,), prompt, preamble)}
        | {"id": identity},
    )


def _head(prompt: str, name: str, where: str) -> tuple[str, str]:
    """Split a prompt into the part without its function's docstring, and that docstring."""
    module = parse(prompt)
    definition = function(module, name) if module else None
    if definition is None:
        raise SourceError(
            f"{where}: expected field 'prompt' to be Python that ends in the head and docstring of"
            f" the field 'entry_point', {name!r}; got {prompt[-80:]!r}"
        )
    docstring = ast.get_docstring(definition)
    if docstring is None:
        return prompt.strip("\n"), ""
    lines = prompt.split("\n")[: definition.body[0].lineno - 1]
    return "\n".join(lines).strip("\n"), docstring


def _checked(test: str, name: str) -> str:
    return f"{test}\n{_CHECK}({name})\n"


BENCHMARK = HumanEval()


_PROMPT = ">>>"
_MORE = "..."
_HEADING = re.compile(r"(?:for |some )?exam[pb]les?(?: cases?)?\s*:?", re.IGNORECASE)
_ITEM = re.compile(r"(?:[-*•]|\d+[.)])\s")


def conditions(docstring: str, name: str) -> tuple[str, ...]:
    """Return the statements of a docstring about the function `name`, in reading order.

    An example becomes "`f(1)` gives `2`". A docstring without words gives none.
    """
    statements: list[str] = []
    paragraph: list[str] = []
    for kind, line in _lines(docstring, name):
        if kind != "text":
            statements += _sentences(paragraph)
            paragraph = []
        if kind == "own":
            statements.append(line)
        elif line:
            paragraph.append(line)
    return (*statements, *_sentences(paragraph))


def _lines(docstring: str, name: str) -> Iterator[tuple[str, str]]:
    """Classify each line: `text` of a paragraph, its `start`, or a statement of its `own`."""
    lines = [line.strip() for line in docstring.split("\n")]
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if line.startswith(_PROMPT):
            end = index
            while end < len(lines) and lines[end] and not lines[end].startswith(_PROMPT):
                end += 1
            yield "own", _example(line, lines[index:end])
            index = end
        elif not line or _HEADING.fullmatch(line):
            yield "start", ""
        elif f"{name}(" in line:
            yield "own", line
        else:
            yield "start" if _ITEM.match(line) else "text", line


def _example(line: str, following: list[str]) -> str:
    code = [line.removeprefix(_PROMPT).strip()]
    while following and following[0].startswith(_MORE):
        code.append(following.pop(0).removeprefix(_MORE).strip())
    result = " ".join(following)
    return f"`{' '.join(code)}`" + (f" gives `{result}`" if result else "")


def _sentences(lines: list[str]) -> tuple[str, ...]:
    return split_sentences(" ".join(lines))
