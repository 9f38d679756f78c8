"""Use of the auxiliary by the main function, read from its syntax tree; nothing is run.

A call counts even in a branch that never runs.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

from laconic.envs.families.coding.syntax import missing
from laconic.envs.families.cooperation.assemble import AUXILIARY, Found

_ON_EACH = frozenset({"map", "filter"})


def calls_auxiliary(main: Found) -> bool:
    """Return whether the main function calls the auxiliary.

    It does if its body, functions inside it included, holds `aux(...)`, or hands `aux` over
    to be called: `map(aux, ...)`, `filter(aux, ...)`, `key=aux`. A reply that binds the name `aux`
    anywhere (its own function, an import, a parameter) never calls the other agent's.
    """
    if main.module is None or main.function is None or AUXILIARY not in missing(main.module):
        return False
    return any(is_use(node) for node in inside(main.function))


def is_thin(main: ast.FunctionDef, auxiliary: str = AUXILIARY) -> bool:
    """Return whether a main function only passes on a call of the auxiliary.

    Apart from docstring and `pass`, its body has only calls of `aux` with main's parameters (or
    constants) as arguments, assignments of such a call or parameter to a name, and returns of such
    a call. So `return aux(x)` and `y = aux(x, 2)`, `return y` are thin. `return aux(x) + 1`,
    `return aux(sorted(x))` and `return aux(x) if x else 0` are not.
    """
    own, results = parameters(main), set[str]()
    for statement in main.body:
        value = getattr(statement, "value", None)
        passed_on = passes_on(value, own, auxiliary) or is_name(value, results)
        if isinstance(statement, ast.Return):
            return passed_on
        name = _target(statement)
        if name and (passed_on or _is_plain(value, own)):
            # The name is now either of the two, whatever it was before.
            (own if passed_on else results).discard(name)
            (results if passed_on else own).add(name)
        elif not (isinstance(statement, ast.Expr) and passed_on or _says_nothing(statement)):
            return False
    return True


def ignored(main: ast.FunctionDef, auxiliary: str = AUXILIARY) -> list[ast.expr]:
    """Return the calls of the auxiliary whose result a main function ignores.

    These are calls that are a statement, and calls whose result is assigned only to names that the
    function never reads (`y = aux(x)`, `a, b = aux(x)`). A name that is overwritten before it is
    read counts as read.
    """
    nodes = list(inside(main))
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    unused: list[ast.expr] = []
    for node in nodes:
        value = getattr(node, "value", None)
        names = set[str]() if isinstance(node, ast.Expr) else names_given(node)
        if isinstance(value, ast.expr) and is_use(value, auxiliary) and names is not None:
            unused += [] if names & read else [value]
    return unused


def inside(main: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body."""
    for statement in main.body:
        yield from ast.walk(statement)


def is_call(node: object, auxiliary: str = AUXILIARY) -> bool:
    """Return whether a node is a call `aux(...)`."""
    return isinstance(node, ast.Call) and is_name(node.func, {auxiliary})


def is_use(node: object, auxiliary: str = AUXILIARY) -> bool:
    """Return whether a node calls the auxiliary, or hands it over to be called."""
    return is_call(node, auxiliary) or is_on_each(node, auxiliary)


def is_on_each(node: object, auxiliary: str = AUXILIARY) -> bool:
    """Return whether a node is a call that applies the auxiliary to every item of something."""
    if not isinstance(node, ast.Call):
        return False
    handed = [argument.value for argument in node.keywords if argument.arg == "key"]
    if is_name(node.func, _ON_EACH):
        handed += node.args[:1]
    return any(is_name(argument, {auxiliary}) for argument in handed)


def parameters(function: ast.FunctionDef) -> set[str]:
    """Return the names of a function's parameters."""
    return {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


def names_given(node: ast.AST) -> set[str] | None:
    """Return the names that an assignment binds; None for other nodes and other targets."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names: set[str] = set()
    open_targets = list(targets)
    while open_targets:
        target = open_targets.pop()
        if isinstance(target, (ast.Tuple, ast.List)):
            open_targets += target.elts
        elif isinstance(target, ast.Starred):
            open_targets.append(target.value)
        elif isinstance(target, ast.Name):
            names.add(target.id)
        else:
            return None
    return names


def passes_on(node: object, own: set[str], auxiliary: str = AUXILIARY) -> bool:
    """Return whether a node is a call of the auxiliary with only these names and constants."""
    if not isinstance(node, ast.Call) or not is_call(node, auxiliary):
        return False
    return all(
        _is_plain(argument, own) for argument in (*node.args, *(kw.value for kw in node.keywords))
    )


def _is_plain(node: ast.expr | None, own: set[str]) -> bool:
    """Return whether an expression is one of these names or a constant."""
    while isinstance(node, (ast.Starred, ast.UnaryOp)):
        if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
            return False
        node = node.value if isinstance(node, ast.Starred) else node.operand
    return isinstance(node, ast.Constant) or is_name(node, own)


def is_name(node: object, names: Container[str]) -> bool:
    """Return whether a node is one of these names."""
    return isinstance(node, ast.Name) and node.id in names


def _says_nothing(statement: ast.stmt) -> bool:
    docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return docstring or isinstance(statement, ast.Pass)


def _target(statement: ast.AST) -> str:
    """Return the name that a plain assignment binds; empty for none or several."""
    plain = isinstance(statement, (ast.Assign, ast.AnnAssign))
    names = names_given(statement) if plain else None
    return "".join(names) if names and len(names) == 1 else ""
