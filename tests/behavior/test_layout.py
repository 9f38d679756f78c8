"""The tree is the architecture: tests stand where the code stands, and roots show parts only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT

FLOORS = {"envs": 12, "learners": 17, "experiments": 16, "extras": 8}
"""Entries that the root of each floor may have."""
LONGEST = 400
"""Lines that a file of tests stays below."""
TESTS = ROOT / "tests"

PACKAGES = sorted(
    path.parent.relative_to(ROOT).as_posix()
    for floor in FLOORS
    for path in (ROOT / floor).rglob("__init__.py")
)


def modules(package: str) -> list[str]:
    """Return the modules directly in a package."""
    files = sorted((ROOT / package).glob("*.py"))
    return [path.stem for path in files if path.stem != "__init__"]


def imported(test: Path) -> Iterator[str]:
    """Yield the dotted names of a test's imports."""
    for node in ast.walk(ast.parse(test.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("floor", FLOORS)
def test_the_root_of_a_floor_shows_its_parts_and_nothing_else(floor):
    entries = {path.name for path in (ROOT / floor).iterdir() if path.name != "__pycache__"}
    assert len(entries) <= FLOORS[floor], sorted(entries)


@pytest.mark.parametrize("floor", FLOORS)
def test_every_test_stands_where_a_module_stands(floor):
    lost = []
    for test in (TESTS / floor).rglob("test_*.py"):
        package = ROOT / test.parent.relative_to(TESTS)
        names = {path.stem for path in package.iterdir()} | {package.name}
        # `test_<module>.py`, or `test_<module>_<aspect>.py` where one file would be too long.
        name = test.stem.removeprefix("test_")
        if not any(name == stem or name.startswith(f"{stem}_") for stem in names):
            lost.append(str(test.relative_to(ROOT)))
    assert lost == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_is_imported_by_a_test_that_stands_where_it_stands(package):
    tests = (TESTS / package).glob("test_*.py")
    names = {name for test in tests for name in imported(test)}
    dotted = "laconic." + package.replace("/", ".")
    assert [module for module in modules(package) if f"{dotted}.{module}" not in names] == []


def test_no_file_of_tests_is_too_long():
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines())
        for path in TESTS.rglob("*.py")
    }
    assert {path: count for path, count in lengths.items() if count >= LONGEST} == {}


def checks(node: ast.stmt | ast.ExceptHandler | ast.match_case) -> bool:
    """Return whether a statement checks something on every path."""
    if isinstance(node, ast.Assert):
        return True
    if isinstance(node, ast.With) and "pytest.raises" in ast.unparse(node.items[0]):
        return True
    if isinstance(node, ast.If):
        return any(map(checks, node.body)) and any(map(checks, node.orelse))
    inner = [statement for name in ("body", "finalbody") for statement in getattr(node, name, [])]
    return any(map(checks, inner))


def asserts(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Assert) for part in ast.walk(node))


def test_no_test_checks_something_only_under_a_condition() -> None:
    functions = [
        (path.name, node)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and asserts(node)
    ]
    assert len(functions) > 1000
    conditional = {(name, node.name) for name, node in functions if not any(map(checks, node.body))}
    # A page may have no command, and each program's command is checked in its own way.
    assert conditional == {("test_pages.py", "test_every_command_of_a_page_can_be_composed")}
