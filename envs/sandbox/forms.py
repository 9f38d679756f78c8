"""Decide which form the tests of a program need, from trusted source alone.

Nothing the program does or returns has a say in it, so no program can choose the weaker form.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain

_PLAIN: tuple[object, ...] = (
    None,
    True,
    1,
    1.0,
    1j,
    "",
    b"",
    bytearray(),
    [],
    (),
    {},
    set(),
    frozenset(),
    range(0),
)
_BUILTINS = frozenset(dir(builtins))
_ATTRIBUTES = frozenset(chain.from_iterable(dir(value) for value in _PLAIN)) | {"__name__"}


@dataclass(frozen=True, slots=True)
class Needs:
    """Names that tests use and that neither they nor Python's builtins define."""

    modules: tuple[str, ...]
    """Modules of the standard library; the tests get their own."""
    foreign: tuple[str, ...]
    """Names that only the program can define."""
    objects: bool
    """True if objects of the program's own classes must cross (the shared form)."""


def needs(sources: Sequence[str], entry_points: Collection[str]) -> Needs:
    """Return the needs of tests.

    They need objects if they use a name that only the program can define, use an attribute that no
    plain value has (`tree.left`, unless the tests themselves define `tree`), or call the result of
    a call.

    Args:
        sources: helpers, setup and tests.
        entry_points: names that are known to be the program's.

    Raises:
        SyntaxError: a source is not Python.
    """
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    used = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)
    }
    free = used - _bound(nodes) - _BUILTINS - set(entry_points)
    modules = free & sys.stdlib_module_names
    own = _own(nodes, modules) - set(entry_points)
    objects = bool(free - modules) or any(_asks_object(node, own) for node in nodes)
    return Needs(tuple(sorted(modules)), tuple(sorted(free - modules)), objects)


def _asks_object(node: ast.AST, own: AbstractSet[str]) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Call)
    if not isinstance(node, ast.Attribute) or node.attr in _ATTRIBUTES:
        return False
    return not _names(node) <= own | _BUILTINS


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _bound(nodes: Sequence[ast.AST]) -> set[str]:
    stored = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    caught = {
        node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name is not None
    }
    return stored | arguments | caught | _defined(nodes)


def _defined(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the modules, functions and classes that the trusted source defines."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    imported = [
        alias
        for node in nodes
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    ]
    names = {alias.asname or alias.name.split(".")[0] for alias in imported}
    return names | {node.name for node in nodes if isinstance(node, kinds)}


def _own(nodes: Sequence[ast.AST], modules: Collection[str]) -> set[str]:
    """Return names whose values cannot come from the program: defined here, or made from those."""
    own = _defined(nodes) | set(modules)
    for node in nodes:
        if isinstance(node, ast.Assign) and _names(node.value) <= own | _BUILTINS:
            own |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return own
