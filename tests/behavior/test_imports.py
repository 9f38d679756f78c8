"""Imports point one way: extras -> experiments -> learners -> envs, without circles."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from places import ROOT

CONFIGURATION = {"hydra", "omegaconf"}
PAGES = {"jinja2", "matplotlib"}
"""What draws pages and pictures; chat templates of models need jinja2 as well."""
FLOORS = ("envs", "learners", "experiments", "extras")

FORBIDDEN = {
    "envs": {"torch", "transformers", "tokenizers"}
    | {"laconic.learners", "laconic.experiments", "laconic.extras", "laconic.conf"}
    | {*CONFIGURATION, *PAGES},
    "learners": {"laconic.experiments", "laconic.extras", "laconic.conf", "laconic.envs.library"}
    | {*CONFIGURATION, "matplotlib"},
    "experiments": {"laconic.extras"} | PAGES,
}

RARE = {"gate", "gates", "gated", "rlccf", "sdpo", "hindsight"}
"""Words of the methods in `extras/methods` that mean nothing else."""

Edge = tuple[str, str]
"""The file or folder that imports, and the one that is imported."""
FILE_CIRCLES: set[Edge] = set()
"""Imports that close a circle of files. The list may only become shorter."""
FOLDER_CIRCLES: set[Edge] = set()
"""Imports that close a circle of folders. The list may only become shorter."""
AREA_CIRCLES: set[Edge] = {("learners/agents", "learners/rollout")}
"""Imports that close a circle of areas. The list may only become shorter. New weights learn their
tokenizer from played episodes, and demonstrations are played in the tokens of an agent."""


@functools.cache
def _imported(source: str, package: str) -> tuple[str, ...]:
    """Return dotted names of all that a file imports, also within functions.

    Args:
        source: text of the file.
        package: dotted name of its package, to which relative imports refer.
    """
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += (module, *(f"{module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = ast.unparse(node.func).rsplit(".")[-1]
            if called in ("import_module", "__import__", "resolve_name"):
                names.append(str(node.args[0].value).replace(":", "."))
    return tuple(names)


def _files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def _package(file: Path) -> str:
    return ".".join(("laconic", *file.parent.relative_to(ROOT).parts))


def _trespasses(source: str, forbidden: set[str], package: str) -> list[str]:
    return sorted(
        {
            module
            for module in _imported(source, package)
            for name in forbidden
            if module == name or module.startswith(f"{name}.")
        }
    )


def _file_graph() -> dict[str, set[str]]:
    """Return for each file of the package those that it imports, as paths below the root."""
    names = {}
    for file in (file for floor in FLOORS for file in _files(floor)):
        name = _package(file) if file.stem == "__init__" else f"{_package(file)}.{file.stem}"
        names[name] = file
    graph = {}
    for file in names.values():
        results = {
            names[module]
            for module in _imported(file.read_text(encoding="utf-8"), _package(file))
            if module in names
        }
        # `from package import module` names the package too, of which only the module is used.
        used = {path for path in results if path.stem != "__init__" or not _parts_of(path, results)}
        graph[_shown(file)] = {_shown(path) for path in used if path != file}
    return graph


def _parts_of(package: Path, result: set[Path]) -> set[Path]:
    return {file for file in result if file != package and package.parent in file.parents}


def _shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _folder_graph(files: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return for each folder those whose files it imports; one inside the other does not count."""
    graph: dict[str, set[str]] = {}
    for file, imported in files.items():
        folder = Path(file).parent
        others = graph.setdefault(folder.as_posix(), set())
        for other in (Path(path).parent for path in imported):
            if not (folder.is_relative_to(other) or other.is_relative_to(folder)):
                others.add(other.as_posix())
    return graph


def _area_graph(files: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return for each area those that it imports.

    An area is a folder of a floor with all below it, or a file at its top, such as a program.
    """
    graph: dict[str, set[str]] = {}
    for file, imported in files.items():
        others = graph.setdefault(_area(file), set())
        others |= {_area(path) for path in imported} - {_area(file)}
    return graph


def _area(file: str) -> str:
    parts = Path(file).parts
    return file if len(parts) == 2 else "/".join(parts[:2])


def _circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return one circle of a graph; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])[::-1]
    return []


def _check_circles(graph: dict[str, set[str]], edges: set[Edge]) -> None:
    rest = {
        file: {other for other in others if (file, other) not in edges}
        for file, others in graph.items()
    }
    assert _circle(rest) == []
    for file, other in sorted(edges):
        assert other in graph.get(file, ()), f"take {file} -> {other} off the list"
        assert _circle({**rest, file: rest[file] | {other}}), f"take {file} -> {other} off the list"


def test_there_is_something_to_read():
    assert all(_files(package) for package in FLOORS)


@pytest.mark.parametrize("package", FORBIDDEN)
def test_nothing_is_imported_against_the_direction(package):
    results = {}
    for file in _files(package):
        text = file.read_text(encoding="utf-8")
        if names := _trespasses(text, FORBIDDEN[package], _package(file)):
            results[_shown(file)] = names
    assert results == {}


def test_no_configuration_of_the_core_names_an_extra():
    files = sorted((ROOT / "conf").rglob("*.yaml"))
    assert files
    assert [_shown(path) for path in files if "laconic.extras" in path.read_text("utf-8")] == []


@pytest.mark.parametrize("floor", ["conf", "envs/dialogue", "learners", "experiments"])
def test_no_file_of_the_core_names_a_rare_method(floor):
    # `TheWord` and `the_word` are two words. Former names of moved classes stay on one list.
    listed = ROOT / "experiments" / "command_line" / "gone.py"
    for file in {*(ROOT / floor).rglob("*.py"), *(ROOT / floor).rglob("*.yaml")} - {listed}:
        text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", file.read_text("utf-8")).lower()
        assert not {*re.findall(r"[a-z0-9]+", text)} & RARE, file


def test_chat_templates_alone_need_jinja2_below_extras():
    seeing = {
        _shown(file)
        for file in _files("learners")
        if _trespasses(file.read_text(encoding="utf-8"), {"jinja2"}, _package(file))
    }
    assert seeing == {f"learners/agents/{name}.py" for name in ("render", "template", "thoughts")}


def test_only_experiments_and_extras_see_hydra():
    seeing = {
        package
        for package in (*FLOORS, "conf")
        for file in _files(package)
        if _trespasses(file.read_text(encoding="utf-8"), CONFIGURATION, _package(file))
    }
    assert seeing == {"experiments", "extras"}


def test_no_file_imports_in_a_circle_beyond_those_that_are_known():
    _check_circles(_file_graph(), FILE_CIRCLES)


def test_no_folder_imports_in_a_circle_beyond_those_that_are_known():
    _check_circles(_folder_graph(_file_graph()), FOLDER_CIRCLES)


def test_no_area_imports_in_a_circle_beyond_those_that_are_known():
    _check_circles(_area_graph(_file_graph()), AREA_CIRCLES)


def test_an_area_is_a_whole_folder_and_a_program_an_area_by_itself():
    # Leaf folders alone would miss both circles.
    deep = {"l/a/x/f.py": {"l/b/g.py"}, "l/b/g.py": set(), "l/b/y/h.py": {"l/a/i.py"}}
    assert _area_graph(deep) == {"l/a": {"l/b"}, "l/b": {"l/a"}}
    program = {"e/train.py": {"e/session/s.py"}, "e/session/s.py": {"e/train.py"}}
    assert _area_graph(program) == {"e/train.py": {"e/session"}, "e/session": {"e/train.py"}}
    assert _circle(_folder_graph(deep)) == _circle(_folder_graph(program)) == []


@pytest.mark.parametrize(
    ("graph", "edges", "stale"),
    [
        ({"a": {"b"}, "b": {"a"}}, set(), "assert"),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}}, {("c", "a")}, ""),
        # The import is gone; the import is there, and closes no circle.
        ({"a": {"b"}, "b": set()}, {("b", "a")}, "off the list"),
        ({"a": {"b"}, "b": set()}, {("a", "b")}, "off the list"),
    ],
)
def test_a_new_circle_and_a_stale_exception_are_noticed(graph, edges, stale):
    if not stale:
        _check_circles(graph, edges)
        return
    with pytest.raises(AssertionError, match=stale):
        _check_circles(graph, edges)


@pytest.mark.parametrize(
    ("line", "package", "result"),
    [
        ("import torch.nn as nn", "envs", ["torch.nn"]),
        ("def f():\n    from transformers import x", "envs", ["transformers", "transformers.x"]),
        ("from .learners import rollout", "envs", []),
        (
            "from ..learners import rollout",
            "envs",
            ["laconic.learners", "laconic.learners.rollout"],
        ),
        ("from .. import extras", "experiments", ["laconic.extras"]),
        (
            "from laconic.envs.library import x",
            "learners",
            ["laconic.envs.library", "laconic.envs.library.x"],
        ),
        ("from laconic.envs import library", "learners", ["laconic.envs.library"]),
        ("from laconic import learners", "envs", ["laconic.learners"]),
        ("importlib.import_module('hydra')", "learners", ["hydra"]),
        ("importlib.import_module('laconic.extras')", "experiments", ["laconic.extras"]),
        ("resolve_name('laconic.extras:X')", "experiments", ["laconic.extras.X"]),
        ("def f():\n    import jinja2", "experiments", ["jinja2"]),
        ("import torchless", "envs", []),
        ("from laconic.envs import make", "learners", []),
    ],
)
def test_the_reader_finds_imports_of_every_form(line, package, result):
    assert _trespasses(line, FORBIDDEN[package], f"laconic.{package}") == result
