"""Every folder has tests, every public name is named by one, and a test always checks something."""

from __future__ import annotations

import ast
import re

import pytest
from places import ROOT

FLOORS = ("envs", "learners", "experiments", "extras")
TESTS = ROOT / "tests"
PACKAGES = sorted(
    path.parent.relative_to(ROOT).as_posix()
    for floor in FLOORS
    for path in (ROOT / floor).rglob("__init__.py")
    # Configurations alone.
    if path.parent.name != "conf"
)
WORDS = {
    word
    for path in sorted(TESTS.rglob("*.py"))
    for word in re.findall(r"\w+", path.read_text("utf-8"))
}
"""Words of all tests."""


def public(module: str) -> list[str]:
    """Return the names that a module lists in `__all__`."""
    place = ROOT / "src" / module.replace(".", "/")
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_has_tests(package: str) -> None:
    assert any((TESTS / package).rglob("test_*.py"))


def test_every_public_name_is_named_by_a_test() -> None:
    page = (ROOT / "docs" / "api" / "index.md").read_text("utf-8")
    modules = re.findall(r"^<!-- names: (\S+) -->$", page, re.M)
    names = {name for module in modules for name in public(module)}
    assert len(names) > 100 and sorted(names - WORDS) == []


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
