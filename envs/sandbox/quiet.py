"""Make tests continue after a failed assertion, so that a program never learns right answers.

If later tests ran only after a right answer, a program could find right answers by trial and store
them. So each assertion is made whatever the results of earlier ones, and the first failure counts.
Tests that stop by other means (`raise`, or an assertion that the tests may catch) stay unchanged.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

NOTE, NOTE_ERROR = "_laconic_note", "_laconic_note_error"
"""Functions that the changed source calls: with a message if an assertion fails, and within a
handler if it raises an exception."""


def quiet(source: str) -> ast.Module:
    """Parse tests, with assertions that call `NOTE` or `NOTE_ERROR` if they fail.

    Raises:
        SyntaxError: the source is not Python.
    """
    module = ast.parse(source)
    if any(map(_may_catch, ast.walk(module))):
        return module
    _Quieter().visit(module)
    return ast.fix_missing_locations(module)


class _Quieter(ast.NodeTransformer):
    """Replaces each `assert` by statements that do not raise."""

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        """Replace an assertion; one of several conditions becomes one for each of them."""
        message = "" if node.msg is None else _text(node.msg)
        return [
            ast.copy_location(_noting(condition, message), node) for condition in _parts(node.test)
        ]


class _WholeLists(ast.NodeTransformer):
    """Lets `all` look at every item, also after one that is false."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Give `all` a list where it has a generator."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "all" and len(node.args) == 1:
            (items,) = node.args
            if isinstance(items, ast.GeneratorExp):
                node.args = [ast.ListComp(items.elt, items.generators)]
        return node


def _noting(condition: ast.expr, message: str) -> ast.Try:
    note = ast.Expr(_call(NOTE, [ast.Constant(message)]))
    check = ast.If(ast.UnaryOp(ast.Not(), condition), [note], [])
    kind = ast.Name("Exception", ast.Load())
    handler = ast.ExceptHandler(kind, None, [ast.Expr(_call(NOTE_ERROR, []))])
    return ast.Try([check], [handler], [], [])


def _call(name: str, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), arguments, [])


def _parts(condition: ast.expr) -> Iterator[ast.expr]:
    """Yield the conditions that `and` joins, of which Python asks for the first false one alone."""
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
        for value in condition.values:
            yield from _parts(value)
    else:
        yield _WholeLists().visit(condition)


def _text(message: ast.expr) -> str:
    """Return a constant message, and the source of another one: it may ask the program."""
    return str(message.value) if isinstance(message, ast.Constant) else ast.unparse(message)


def _may_catch(node: ast.AST) -> bool:
    """Return whether a statement may catch the exception of an assertion."""
    if isinstance(node, ast.ExceptHandler):
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        return not all(map(_is_other_exception, kinds))
    return isinstance(node, (ast.With, ast.AsyncWith))


def _is_other_exception(node: ast.expr | None) -> bool:
    """Return whether an expression names a builtin exception that assertions do not raise."""
    kind = getattr(builtins, node.id, None) if isinstance(node, ast.Name) else None
    return isinstance(kind, type) and not issubclass(AssertionError, kind)
