"""Analysis of untrusted Python: it is parsed, never run, and no text raises.

The functions find the names that a module defines and those that it lacks.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterable, Iterator
from threading import Lock

MAX_CODE = 20_000
"""Maximum characters of a program; no reference solution has a tenth of it."""
_BUILTINS = frozenset(dir(builtins))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_RETURNS = (ast.Return, ast.Yield, ast.YieldFrom)
# Python's warning filters are shared by all threads, and environments are stepped in several.
_QUIET = Lock()


def parse(code: str) -> ast.Module | None:
    """Return the syntax tree of a module; None for other text or over 20,000 characters.

    No text raises: null characters, surrogates and endless nesting give None.
    """
    tree = parse_or_fault(code)
    return None if isinstance(tree, int) else tree


def parse_or_fault(code: str) -> ast.Module | int:
    """Return the syntax tree, or the line (from 1) at which the text stops being Python.

    The line is 0 if the text cannot be parsed at all.
    """
    if len(code) > MAX_CODE:
        return 0
    try:
        with _QUIET, warnings.catch_warnings():
            # A user does not need warnings about backslashes in an agent's strings.
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except SyntaxError as error:
        return error.lineno or 0
    except (ValueError, RecursionError, MemoryError, OverflowError):
        return 0


def defined(module: ast.Module) -> set[str]:
    """Return the names that running a module binds, also inside `if`, `try`, `for` and `with`."""
    return {name for node in outside(module.body) for name in _bound(node)}


def missing(module: ast.Module) -> set[str]:
    """Return the names that a module reads but binds nowhere, its functions included."""
    read: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(module):
        bound |= _bound(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read.add(node.id)
    return read - bound - _BUILTINS


def function(module: ast.Module, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the last function of that name at the top of a module; None without one."""
    functions = (node for node in reversed(module.body) if isinstance(node, _FUNCTIONS))
    return next((node for node in functions if node.name == name), None)


def returns(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function holds a `return` or `yield` of its own."""
    return any(isinstance(node, _RETURNS) for node in outside(function.body))


def strays(module: ast.Module) -> bool:
    """Return whether a `return` or `yield` stands outside every function, where it cannot run."""
    return any(isinstance(node, _RETURNS) for node in outside(module.body))


def defines_function(module: ast.Module) -> bool:
    """Return whether a module has a function: a `def`, in a class or not, or a `lambda`."""
    return any(isinstance(node, (*_FUNCTIONS, ast.Lambda)) for node in ast.walk(module))


def before(source: str, name: str) -> str:
    """Return the source before the function `name`: imports and other functions, as written.

    Empty if there is no such function, or nothing before it.
    """
    module = parse(source)
    definition = function(module, name) if module else None
    if definition is None:
        return ""
    first = min([definition.lineno, *(node.lineno for node in definition.decorator_list)])
    return "\n".join(source.split("\n")[: first - 1]).strip("\n")


def under(code: str, preamble: str) -> str:
    """Put a preamble before a module, but after its imports from `__future__`.

    Python requires these at the beginning.
    """
    module = parse(code)
    body = module.body if module else []
    future = [
        node.end_lineno or 0
        for node in body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    lines = code.split("\n")
    start = max(future, default=0)
    return "\n".join([*lines[:start], preamble, *lines[start:]])


def without_closing_names(code: str) -> str:
    """Return a module without expressions of undefined bare names at its end.

    Such lines (`TERMINATE`, `[DONE]`, `Note: done`) are words of a reply that happen to be Python.
    Calls are kept, and so is a module without anything else.
    """
    module = parse(code)
    if module is None:
        return code
    names = defined(module) | _BUILTINS
    end = len(module.body)
    while end > 1 and _is_wording(module.body[end - 1], names):
        end -= 1
    if end == len(module.body):
        return code
    return "\n".join(code.split("\n")[: module.body[end - 1].end_lineno]) + "\n"


def _is_wording(line: ast.stmt, defined_names: set[str]) -> bool:
    if not isinstance(line, ast.Expr) and not (isinstance(line, ast.AnnAssign) and not line.value):
        return False
    nodes = list(ast.walk(line))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return not names <= defined_names and not any(isinstance(node, ast.Call) for node in nodes)


def outside(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes of statements that are not inside a function or class among them."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))


def _bound(node: ast.AST) -> set[str]:
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return {node.name}
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return {node.id}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).partition(".")[0]}
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        return {node.name}
    return set()
