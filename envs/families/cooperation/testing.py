"""Tests of a program in the sandbox, each with its own time limit.

Each different assert of HumanEval's `check` that involves the candidate is one test (MAGRPO's code
takes the lines of `check` that begin with `assert` and name the candidate, without repeats).
`assert True` is not a test. A loop or `with` that holds asserts is one test as a whole; MAGRPO's
code takes the lines out of it, and they then cannot run. The statements of `check` before a test,
other tests excluded, are its preparation.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import replace

from laconic.envs import sandbox
from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.coding.syntax import function, parse

MAX_TESTS_OF_TIME = 5
"""Maximum time of the whole grade, in time limits of one test."""
_CHECK = "check"


def run(exam: Exam, code: str) -> sandbox.Verdict:
    """Run a program against every test; a test may take `exam.seconds` of processor time.

    The limit on wall time is twice that, so that a busy machine fails no right program. All tests
    together may take the time of five. After a test that ran out of time, or slept, all later ones
    fail.
    """
    return sandbox.run(exam.sheet(code), replace(exam.limits, times=MAX_TESTS_OF_TIME))


def split(test: str, name: str) -> tuple[str, ...]:
    """Split a source that defines `check(candidate)` into tests that run by themselves.

    There is at least one: if no assert uses the candidate, or functions are defined in
    `check`, all of it is one test of the function `name`.
    """
    module = parse(test)
    check = function(module, _CHECK) if module else None
    if module is None or check is None or not check.args.args:
        return (test,)
    around = [node for node in module.body if not isinstance(node, ast.Expr) and node is not check]
    bodies = [check.body]
    if not any(
        isinstance(node, ast.FunctionDef)
        for statement in check.body
        for node in ast.walk(statement)
    ):
        bodies = list(_bodies(check.body, check.args.args[0].arg)) or bodies
    pieces = []
    for body in bodies:
        alone = copy(check)
        alone.body = body
        source = ast.unparse(ast.Module([*around, alone], type_ignores=[]))
        pieces.append(f"{source}\n{_CHECK}({name})\n")
    return tuple(dict.fromkeys(pieces))


def _bodies(statements: Iterable[ast.stmt], candidate: str) -> Iterator[list[ast.stmt]]:
    """Yield each statement that tests the candidate, with the preparations before it."""
    # Names whose values come from the candidate.
    own, before = {candidate}, list[ast.stmt]()
    for statement in statements:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        concerned = any(node.id in own for node in names)
        if not any(isinstance(node, ast.Assert) for node in ast.walk(statement)):
            before.append(statement)
            own |= {n.id for n in names if concerned and isinstance(n.ctx, ast.Store)}
        elif concerned:
            yield [*before, statement]
