"""The tests' interpreter: runs trusted source over the link to the program.

It reports one event per result, so that results before a time limit count. A piece of tests fails
if trusted source raises, or if the link reports a fault, which no test can catch.

The form (`separate` or `shared`) is decided from trusted source only, so no program can choose the
weaker form. Tests continue after a failed assertion, so a program never learns right answers.
Otherwise later tests would run only after a right answer, and a program could find right answers by
trial and store them. The first failure counts. Tests that stop by other means (`raise`, or an
assertion that the tests may catch) stay unchanged.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from types import CodeType
from typing import Any, cast

from laconic.envs.sandbox.link import FaultError, Link

Report = Callable[[Mapping[str, Any]], None]


def judge(job: Mapping[str, Any], link: Link, report: Report) -> None:
    """Run the program, then its tests one by one.

    Args:
        job: `code`, `tests`, `entry_points`, `setup`, `helpers`.
        link: link to a fresh interpreter that holds only `program_side`.
        report: takes `{"result": bool, "kind": ..., "message": ...}` for every piece of tests (for
            all at once where the program itself does not run), and `{"form": "shared"}`.
    """
    namespace: dict[str, Any] = {"__name__": "tests"}
    try:
        sources = (job["helpers"], job["setup"], *job["tests"])
        helpers, setup = compiled(job["helpers"]), compiled(job["setup"])
        pieces = [compiled(quiet(source)) for source in job["tests"]]
        needed = needs(sources, job["entry_points"])
        link.objects = needed.objects
        if needed.objects:
            report({"form": "shared"})
        link.run(job["code"])
        namespace.update((name, import_module(name)) for name in needed.modules)
        exec(helpers, namespace)
        namespace.update(_entries(job["entry_points"], needed, link))
        exec(setup, namespace)
    except BaseException as error:
        report({"result": False, "all": True, **_why(error, link, tested=False)})
        return
    for piece in pieces:
        report(_run_piece(piece, namespace, link))
    if link.called_back:
        report({"form": "shared"})


def compiled(source: str | ast.Module) -> CodeType:
    """Compile trusted source, free of this module's own compiler settings."""
    return compile(source, "<tests>", "exec", dont_inherit=True)


def _entries(names: Sequence[str], needed: Needs, link: Link) -> dict[str, Any]:
    if not needed.objects:
        return {name: _entry(link, name) for name in names}
    return {name: link.named(name) for name in (*names, *needed.foreign) if link.has(name)}


def _entry(link: Link, name: str) -> Callable[..., Any]:
    def entry(*arguments: Any, **options: Any) -> Any:
        return link.call(name, arguments, options)

    entry.__name__ = name
    return entry


def _run_piece(piece: CodeType, namespace: dict[str, Any], link: Link) -> dict[str, Any]:
    failures: list[dict[str, str]] = []

    def fail(error: BaseException) -> None:
        if not failures:
            failures.append(_why(error, link, tested=True))

    namespace[NOTE] = lambda message: fail(AssertionError(message))
    namespace[NOTE_ERROR] = lambda: fail(cast(Exception, sys.exception()))
    link.fault = ""
    try:
        if link.gone:
            raise link.fail("the program ended")
        exec(piece, namespace)
    except BaseException as error:
        fail(error)
    if link.fault:
        fail(FaultError(link.fault))
    return {"result": False, **failures[0]} if failures else {"result": True}


def _why(error: BaseException, link: Link, *, tested: bool) -> dict[str, str]:
    if link.fault or isinstance(error, FaultError):
        return {"kind": "error", "message": link.fault or str(error)}
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError):
        return {"kind": "memory", "message": text}
    if tested and isinstance(error, AssertionError):
        return {"kind": "failed", "message": text}
    return {"kind": "error", "message": text}


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
