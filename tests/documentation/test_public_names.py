"""docs/api/index.md, `__all__` and the imports of the examples agree on what is public."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from places import ROOT

PAGE = ROOT / "docs" / "api" / "index.md"
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LAZY = ("laconic", "laconic.learners", "laconic.experiments")
"""Packages that load a public name when it is first used."""


def listed() -> dict[str, list[str]]:
    """Return the names of the page by module."""
    sections = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.M)[1:]
    return {
        text.partition("\n")[0]: re.findall(r"^\| `(\w+)` \| .+ \|$", text, re.M)
        for text in sections
    }


PUBLIC = listed()


@cache
def tree_of(module: str) -> ast.Module:
    """Return the syntax tree of a module; extras need not be importable."""
    path = ROOT.joinpath("src", *module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text("utf-8"))


def assigned(node: ast.stmt) -> set[str]:
    """Return the names that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {
        name.id
        for target in targets
        if target is not None
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }


def exported(module: str) -> list[str]:
    """Return `__all__` of a module."""
    (value,) = [node.value for node in tree_of(module).body if "__all__" in assigned(node)]
    return ast.literal_eval(value)


def docstring(module: str, name: str) -> str | None:
    """Return the docstring of a class, a function, or a constant (the text below it)."""
    body = tree_of(module).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            if text := ast.get_docstring(node):  # overloads have none
                return text
        if name in assigned(node) and isinstance(following, ast.Expr):
            return ast.literal_eval(following.value)
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return docstring(str(node.module), name)
    return None


@pytest.mark.parametrize("module", PUBLIC)
def test_the_page_lists_what_a_module_exports(module):
    assert PUBLIC[module] == sorted(exported(module))


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_has_a_docstring(module):
    assert [name for name in PUBLIC[module] if not docstring(module, name)] == []


def test_a_missing_docstring_is_noticed():
    assert docstring("laconic.envs.registry", "_registered") is None
    assert docstring("laconic.envs", "Budget") and docstring("laconic.envs.wrappers", "BYTES")


@pytest.mark.parametrize("module", LAZY)
def test_names_that_are_loaded_late_exist(module):
    package = import_module(module)
    assert [name for name in PUBLIC[module] if getattr(package, name).__name__ != name] == [
        name for name in PUBLIC[module] if name == "AfterEvaluation"
    ]
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = package.absent


@pytest.mark.parametrize("module", [*LAZY, "laconic.envs", "laconic.envs.wrappers"])
def test_the_import_of_a_package_loads_no_torch(module):
    code = f"import sys, {module}; print('torch' in sys.modules)"
    completed = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "src", capture_output=True, text=True, check=True
    )
    assert completed.stdout == "False\n"


def sources(page: Path, code_blocks) -> str:
    """Return the Python of a page or a notebook, and import lines of its blocks of text."""
    if page in NOTEBOOKS:
        cells = json.loads(page.read_text("utf-8"))["cells"]
        return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    lines = [
        line
        for block in code_blocks(page)
        if block.kind == "text"
        for line in block.code.splitlines()
        if re.match(r"(from|import) laconic", line)
    ]
    return "\n".join([block.code for block in code_blocks(page) if block.kind == "python"] + lines)


def used(code: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of what code imports from laconic, or reaches through a module."""
    modules = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "laconic":
                    modules[alias.asname or "laconic"] = alias.name if alias.asname else "laconic"
                    yield alias.name, ""
        elif isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "laconic":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in PUBLIC:
                    modules[alias.asname or alias.name] = whole
                else:
                    yield str(node.module), alias.name
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute):
            first, *rest = ast.unparse(node.value).split(".")
            module = ".".join([modules.get(first, ""), *rest])
            if module in PUBLIC and f"{module}.{node.attr}" not in PUBLIC:
                yield module, node.attr


def private(code: str) -> list[tuple[str, str]]:
    """Return what code uses that is not public."""
    return [(m, name) for m, name in used(code) if m not in PUBLIC or name not in ["", *PUBLIC[m]]]


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda page: page.name)
def test_examples_use_public_names(page, code_blocks):
    assert private(sources(page, code_blocks)) == []


def test_a_private_name_in_an_example_is_noticed():
    code = (
        "import laconic\nfrom laconic import envs\nfrom laconic.envs.checks import whole\n"
        "envs.make('gsm8k')\nenvs.find\nlaconic.envs.make\nlaconic.learners.training"
    )
    assert private(code) == [
        *[("laconic.envs.checks", "whole"), ("laconic.envs", "find")],
        ("laconic.learners", "training"),
    ]
    assert sum(1 for page in [*PAGES, *NOTEBOOKS] if "laconic import" in page.read_text()) > 15
