"""docs/api/index.md shows what is public, and the examples import nothing else."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import pytest
from places import ROOT

import laconic.envs

PAGE = ROOT / "docs" / "api" / "index.md"
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LAZY = ("laconic", "laconic.learners", "laconic.experiments")
"""Packages that load a public name when it is first used."""


def loaded():
    """Load docs/hooks.py as MkDocs does."""
    spec = importlib.util.spec_from_file_location("laconic_docs_hooks", ROOT / "docs" / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOKS = loaded()
MODULES = re.findall(r"^<!-- names: (\S+) -->$", PAGE.read_text("utf-8"), re.M)
PUBLIC = {module: HOOKS.exported(module) for module in MODULES}


def test_the_page_has_a_section_for_every_module_that_it_lists():
    assert len(MODULES) > 15
    assert re.findall(r"^## (\S+)", PAGE.read_text("utf-8"), re.M) == MODULES


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_explained_in_one_sentence(module):
    rows = dict(HOOKS.public(module))
    assert list(rows) == sorted(PUBLIC[module])
    assert {name: text for name, text in rows.items() if not 1 <= len(text.split()) <= 25} == {}


def test_the_table_of_a_module_holds_its_names():
    page = HOOKS.on_page_markdown("<!-- names: laconic.envs.wrappers.trl -->")
    # The names of `__all__` in alphabetical order, each with the first sentence of its docstring.
    assert re.findall(r"^\| `(\w+)` \| (\w+)", page, re.M) == [
        ("OVER", "Result"),
        ("Seat", "An"),
        ("seat", "Return"),
    ]


def test_a_missing_docstring_is_noticed():
    assert HOOKS.docstring("laconic.envs.registry", "_registered") is None
    assert HOOKS.docstring("laconic.envs", "Budget")
    assert HOOKS.docstring("laconic.envs.wrappers", "BYTES")


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


@pytest.mark.parametrize("module", LAZY)
def test_completion_offers_what_is_loaded_late(module):
    assert {*PUBLIC[module]} <= {*dir(import_module(module))}


EXPLAINED = (*LAZY, "laconic.envs", "laconic.envs.worlds", "laconic.envs.wrappers")


@pytest.mark.parametrize("module", EXPLAINED)
def test_help_explains_every_field_of_a_record(module):
    things = [getattr(import_module(module), name) for name in PUBLIC[module]]
    records = [each for each in things if isinstance(each, type) and is_dataclass(each)]
    # A private field, and one that the constructor does not take, is nothing to set.
    unexplained = [
        (record.__name__, field.name)
        for record in records
        for field in fields(record)
        if field.init and not field.name.startswith("_")
        if f"    {field.name}: " not in str(record.__doc__).partition("\nAttributes:\n")[2]
    ]
    assert records and unexplained == []


def test_the_text_of_a_field_is_that_below_it():
    lines = str(laconic.envs.Budget.__doc__).splitlines()
    assert lines[:4] == [
        "Caps on messages and thoughts, in tokens; None is no cap.",
        "",
        "Attributes:",
        "    message: Tokens of one message.",
    ]
    assert laconic.envs.Budget().__doc__ == laconic.envs.Budget.__doc__
