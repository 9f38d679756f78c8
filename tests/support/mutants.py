"""The changes that a mutation check makes to a source, one operator, call or number each."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SWAPS: Mapping[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
}
"""Operators, and what takes their place."""
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min", "sorted": "list"}
"""Functions, and what takes their place."""


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """A change within one line."""

    file: str
    """Path below the root."""
    line: int
    """Number of the line, from 1."""
    start: int
    """Column at which the old text starts, from 0."""
    old: str
    """Text that is replaced."""
    new: str
    """Text that replaces it."""

    def apply(self, source: str) -> str:
        """Return the changed source."""
        lines = source.splitlines(keepends=True)
        text = lines[self.line - 1]
        assert text[self.start :].startswith(self.old), (self, text)
        lines[self.line - 1] = text[: self.start] + self.new + text[self.start + len(self.old) :]
        return "".join(lines)


@dataclass
class Mutants(ast.NodeVisitor):
    """Collects the mutants of one file.

    Types, decorators, messages of errors and the default values of settings have none.
    """

    file: str
    """Path below the root."""
    lines: Sequence[str]
    """Lines of the source; columns count characters, so they must be ASCII to be changed."""
    mutants: list[Mutant] = field(default_factory=list)
    """The mutants so far."""

    def add(self, line: int, start: int, old: str, new: str) -> None:
        """Note a change, if it leaves a program that can be compiled."""
        text = self.lines[line - 1]
        if text.isascii() and text[start:].startswith(old):
            mutant = Mutant(self.file, line, start, old, new)
            try:
                compile(mutant.apply("".join(self.lines)), self.file, "exec")
            except SyntaxError:
                return
            self.mutants.append(mutant)

    def between(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> None:
        """Swap the operator that stands between two expressions of one line."""
        if type(operator) not in SWAPS or left.end_lineno != right.lineno:
            return
        old, new = SWAPS[type(operator)]
        line, start = right.lineno, int(left.end_col_offset or 0)
        place = self.lines[line - 1][start : right.col_offset].find(old)
        if place >= 0:
            self.add(line, start + place, old, new)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Swap each comparison."""
        for left, operator, right in zip(
            [node.left, *node.comparators], node.ops, node.comparators, strict=False
        ):
            self.between(left, right, operator)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Swap `and` and `or`."""
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, node.op)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Swap arithmetic, except that of strings."""
        if not any(isinstance(side, ast.JoinedStr) for side in (node.left, node.right)):
            self.between(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Drop `not` and signs."""
        old = {ast.Not: "not ", ast.USub: "-"}.get(type(node.op))
        if old:
            self.add(node.lineno, node.col_offset, old, "")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Swap functions that have a counterpart; how long a program sleeps is left alone."""
        if getattr(node.func, "attr", "") == "sleep":
            return
        if isinstance(node.func, ast.Name) and node.func.id in CALLS:
            self.add(node.lineno, node.func.col_offset, node.func.id, CALLS[node.func.id])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Change numbers and truth values."""
        old = self.lines[node.lineno - 1][node.col_offset : node.end_col_offset]
        if isinstance(node.value, bool):
            self.add(node.lineno, node.col_offset, old, str(not node.value))
        elif isinstance(node.value, int):
            new = node.value + 1 if node.value < 10 else 2 * node.value + 1
            self.add(node.lineno, node.col_offset, old, str(new))
        elif isinstance(node.value, float):
            self.add(node.lineno, node.col_offset, old, str(2 * node.value + 1))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Visit the body alone."""
        for part in node.body:
            self.visit(part)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit the body alone, without the default values of its fields."""
        for part in node.body:
            if not isinstance(part, ast.AnnAssign):
                self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Visit the value alone."""
        if node.value:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave messages alone."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave assertions alone."""


def mutants_of(source: str, file: str = "") -> list[Mutant]:
    """Return all mutants of a source, in the order of their places."""
    visitor = Mutants(file, source.splitlines(keepends=True))
    visitor.visit(ast.parse(source))
    return sorted(visitor.mutants)
