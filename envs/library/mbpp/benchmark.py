"""MBPP: write a Python function from one sentence and a few asserts.

Source: Austin et al., "Program Synthesis with Large Language Models" (arXiv:2108.07732). Rows are
`{"text", "code", "task_id", "test_setup_code", "test_list", "challenge_test_list"}`, or in the
sanitized form `{"prompt", "code", "task_id", "test_imports", "test_list", "source_file"}`. The
function's name stands in the tests only. Who may read everything reads the sentence and the tests,
as in the paper; in split information all read the sentence and the tests are dealt, so that a coder
who is told none does not even know the name. Graded is `test_list`, with `test_setup_code` run
after the program, whose classes it uses; `challenge_test_list` is kept in `task.details`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from laconic.envs.benchmarks.sources import Row, field
from laconic.envs.declarations import Recipe
from laconic.envs.errors import SourceError
from laconic.envs.families.coding.base import CodingBenchmark
from laconic.envs.families.coding.exam import SECONDS, Exam
from laconic.envs.families.coding.extract import fenced
from laconic.envs.families.coding.generate import Item, pose
from laconic.envs.families.coding.moves import NAMES
from laconic.envs.families.coding.syntax import defined, parse
from laconic.envs.task import Task

_TESTED = "Your code should pass these tests:"
_SANITIZED = "prompt"
_LONG = {123: 10.0}
"""Processor time of tasks whose reference solution takes longer than others: about four seconds."""


class MBPP(CodingBenchmark):
    """Functions to be written from a sentence and asserts.

    Sources are files or `hub:google-research-datasets/mbpp#full` (or `#sanitized`). Other files of
    a folder, such as `validation.jsonl`, are read by their own path.
    """

    name = "mbpp"
    recipe = Recipe(Path(__file__).with_name("policy"), minutes=25, max_reply_tokens=97, target=0.2)
    goal = (
        "Your team writes a Python function together. What it has to do, its name and its tests"
        " may be spread over the team, and some of it may be about another function."
    )

    def pose(self, item: Item) -> Task:
        """Return a text of steps, two asserts to show, and other asserts for testing."""
        name, chain = item.puzzle.name, item.puzzle.chain
        question = (
            f"Write a Python function {name} that takes {NAMES[chain[0].move.takes]} and gives"
            f" {NAMES[chain[-1].move.gives]}."
        )
        examples, tests = (
            tuple(f"assert {name}({value!r}) == {result!r}" for value, result in pairs)
            for pairs in (item.puzzle.examples, item.puzzle.tests)
        )
        whole = "\n".join((question, *item.statements, _TESTED, *examples))
        return pose(item, question, whole, Exam(name, tests, (name,)))

    def read(self, row: Row, where: str, key: str) -> Task:
        """Return the task of a row in the full or the sanitized form."""
        sanitized = _SANITIZED in row and "text" not in row
        text = field(row, _SANITIZED if sanitized else "text", where).replace("\r\n", "\n").strip()
        code = field(row, "code", where).replace("\r\n", "\n")
        setup = (
            "" if sanitized else field(row, "test_setup_code", where).replace("\r\n", "\n").strip()
        )
        imports = "\n".join(_texts(row, "test_imports", where)) if sanitized else ""
        tests = tuple(_texts(row, "test_list", where))
        called = _called(code, tests, setup, imports, where)
        statements = (*([setup] if setup else []), *tests)
        number = field(row, "task_id", where, int)
        challenge = () if sanitized else tuple(_texts(row, "challenge_test_list", where))
        seconds = _LONG.get(number, SECONDS)
        exam = Exam(called[0], tests, called, setup=setup, imports=imports, seconds=seconds)
        return Task(
            key,
            question=text,
            statements=statements,
            answer=code,
            answer_text=fenced(code),
            source_text="\n".join((text, _TESTED, *statements)),
            details={"exam": exam, "id": number, "challenge": challenge},
        )


def _texts(row: Row, name: str, where: str) -> list[str]:
    sources = field(row, name, where, list)
    for text in sources:
        if not isinstance(text, str) or parse(text) is None:
            raise SourceError(
                f"{where}: expected field {name!r} to be a list of Python sources; got {text!r}"
            )
    return [text.replace("\r\n", "\n").strip() for text in sources]


def _called(
    code: str, tests: tuple[str, ...], setup: str, imports: str, where: str
) -> tuple[str, ...]:
    """Return the functions of the program that its tests use, the tested one first."""
    module = parse(code)
    if module is None or not defined(module):
        raise SourceError(
            f"{where}: expected field 'code' to be Python that defines a function;"
            f" got {code[:80]!r}"
        )
    # Objects of the program's own classes are the sandbox's to recognize.
    classes = {node.name for node in ast.walk(module) if isinstance(node, ast.ClassDef)}
    own = defined(module) - classes - _bound(setup) - _bound(imports)
    names = [name for name in dict.fromkeys(_used(tests)) if name in own]
    if not names:
        raise SourceError(
            f"{where}: expected field 'test_list' to call a function of the field 'code'"
            f" ({', '.join(sorted(defined(module)))}); got {list(tests)!r:.80}"
        )
    return tuple(names)


def _bound(source: str) -> set[str]:
    module = parse(source)
    return defined(module) if module else set()


def _used(tests: Iterable[str]) -> Iterator[str]:
    """Return the names that tests call, outer calls first, then all names that they read."""
    nodes = [node for test in tests for node in ast.walk(ast.parse(test))]
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
    yield from (node.id for node in nodes if isinstance(node, ast.Name))


BENCHMARK = MBPP()
