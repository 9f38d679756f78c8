"""Imports point one way: experiments -> learners -> envs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT

CONFIGURATION = {"hydra", "omegaconf"}

FORBIDDEN = {
    "envs": {"torch", "transformers", "tokenizers"}
    | {"laconic.learners", "laconic.experiments", "laconic.conf"}
    | CONFIGURATION,
    "learners": {"laconic.experiments", "laconic.conf", "laconic.envs.benchmarks"} | CONFIGURATION,
}


def _imported(source: str) -> Iterator[str]:
    """Dotted names of all that a file imports, wherever in it.

    Relative imports are left out, for they never leave their package.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = ast.unparse(node.func).rsplit(".")[-1]
            if called in ("import_module", "__import__"):
                yield str(node.args[0].value)


def _files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def _trespasses(source: str, forbidden: set[str]) -> list[str]:
    return sorted(
        {
            module
            for module in _imported(source)
            for name in forbidden
            if module == name or module.startswith(f"{name}.")
        }
    )


def test_there_is_something_to_read():
    assert all(_files(package) for package in ("envs", "learners", "experiments"))


@pytest.mark.parametrize("package", FORBIDDEN)
def test_nothing_is_imported_against_the_direction(package):
    found = {}
    for file in _files(package):
        if names := _trespasses(file.read_text(encoding="utf-8"), FORBIDDEN[package]):
            found[str(file.relative_to(ROOT))] = names
    assert found == {}


def test_only_experiments_see_hydra():
    seeing = {
        package
        for package in ("envs", "learners", "conf", "experiments")
        for file in _files(package)
        if _trespasses(file.read_text(encoding="utf-8"), CONFIGURATION)
    }
    assert seeing == {"experiments"}


@pytest.mark.parametrize(
    ("line", "package", "found"),
    [
        ("import torch.nn as nn", "envs", ["torch.nn"]),
        ("def f():\n    from transformers import x", "envs", ["transformers", "transformers.x"]),
        ("from .learners import rollout", "envs", []),
        (
            "from laconic.envs.benchmarks import x",
            "learners",
            ["laconic.envs.benchmarks", "laconic.envs.benchmarks.x"],
        ),
        ("from laconic.envs import benchmarks", "learners", ["laconic.envs.benchmarks"]),
        ("from laconic import learners", "envs", ["laconic.learners"]),
        ("importlib.import_module('hydra')", "learners", ["hydra"]),
        ("import torchless", "envs", []),
        ("from laconic.envs import make", "learners", []),
    ],
)
def test_the_reader_finds_imports_of_every_form(line, package, found):
    assert _trespasses(line, FORBIDDEN[package]) == found
