"""Insert tables and texts from the repository into pages when the site is built.

    <!-- settings: env/gsm8k -->                   keys, values and meanings in conf/env/gsm8k.yaml
    <!-- hidden: train -->                         settings of a program that no yaml shows
    <!-- words: learners/metrics.py GLOSSARY -->   names and meanings of a mapping in a module
    <!-- names: laconic.envs -->                   public names of a module and what they are
    <!-- metrics: envs -->                         measures that environments, or a feature, declare
    <!-- card: gsm8k -->                           the environment's table in docs/cards.md

So every text is written once. In the search, tutorials and guides come before other pages. MkDocs
calls `on_page_markdown`, which imports no torch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from laconic.envs.checks import in_words
from laconic.envs.registry import metrics
from laconic.experiments.command_line.meanings import Composed, Row, read_rows
from laconic.experiments.command_line.tree import declared
from laconic.learners.metrics import of_feature

ROOT = Path(__file__).resolve().parent.parent
CONF = ROOT / "conf"
LEFT_OUT = {
    "env.free": "for laconic.envs.make in Python",
    "env.render_mode": "for laconic.envs.make in Python",
    "env.split": "set by programs",
    "env.topology.kind": "chooses the form of env.topology",
    "learner.processes": "set by programs",
    "learner.seed": "set by programs",
    "learner.sharing": "declared by methods",
    "logger.tensorboard.purge_step": "set by programs",
}
"""Settings that no page shows, and why."""
BOOSTS = {"Tutorials": 3.0, "Guides": 2.0, "Background": 1.5}
"""Weight of a page in the search by section of the navigation; 1 in other sections."""
_MARK = re.compile(r"^<!-- (settings|hidden|words|names|metrics|card): (\S+)(?: (\w+))? -->$", re.M)


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Replace the marks of a page by tables, and set the weight of the page in the search."""
    if page is not None:
        section = page.ancestors[-1].title if page.ancestors else ""
        page.meta.setdefault("search", {"boost": BOOSTS.get(section, 1.0)})
    return _MARK.sub(_replacement, markdown)


def _replacement(mark: re.Match[str]) -> str:
    kind, name, variable = mark.groups()
    if kind == "settings":
        rows = [(f"`{k}`", f"`{v}`" if v else "", text) for k, v, text in explained(name)]
        return table(("key", "value", "meaning"), rows)
    if kind == "hidden":
        return table(("key", "default", "takes", "meaning"), [*hidden(name)])
    if kind == "names":
        return table(("name", "what it is"), [(f"`{n}`", text) for n, text in public(name)])
    if kind == "card":
        return card(name)
    if kind == "metrics":
        found = metrics() if name == "envs" else of_feature(name).metrics
        meanings = {key: metric.meaning for key, metric in found.items()}
    else:
        meanings = words(ROOT / name, variable)
    return table(("name", "meaning"), [(f"`{key}`", text) for key, text in meanings.items()])


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Write a table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines)


def card(environment: str) -> str:
    """Return the table of an environment in the page of cards.

    Raises:
        LookupError: there is no card.
    """
    sections = (ROOT / "docs" / "cards.md").read_text("utf-8").split("\n## ")[1:]
    heads = (section.partition("\n") for section in sections)
    return {head: text.strip() for head, _, text in heads}[environment]


def explained(name: str) -> Iterator[Row]:
    """Yield the rows of `settings`; a key without a comment has the meaning of `--help`."""
    for key, value, comment in settings(name):
        yield key, value, comment or _composed(name).meaning(key)


def hidden(program: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield key, default, values and meaning of each setting of ours that no yaml shows."""
    composed = _composed(program)
    files = [path.relative_to(CONF).with_suffix("") for path in CONF.rglob("*.yaml")]
    shown = {key for file in files for key, _, _ in settings(file.as_posix())} | {*LEFT_OUT}
    for key, setting in declared(composed.values, composed.record).items():
        takes = in_words(setting.kind) if setting.owner.startswith("laconic.") else ""
        hides = key not in shown and not composed.is_shown(key) and not composed.parts(key)
        if takes and hides:
            yield f"`{key}`", f"`{composed.value(key)}`", takes, composed.meaning(key)


@cache
def _composed(name: str) -> Composed:
    """Return the configuration of a program, or of a training with an option."""
    group, _, option = name.partition("/")
    if group != "experiment":
        group, _, option = name.rpartition("/")
    return Composed(*(("train", CONF, [f"{group}={option}"]) if group else (name, CONF)))


def settings(name: str) -> Iterator[Row]:
    """Yield key, value and comment of each setting in a YAML file, also of inherited ones.

    Keys are those of overrides. A file inherits by `base/dialogue@_here_` in its defaults.

    Args:
        name: path of the file in `conf/`, without `.yaml`.

    Raises:
        FileNotFoundError: there is no such file.
    """
    yield from _inherited(name, _package(name)).values()


def _package(name: str) -> str:
    package = re.match(r"# @package (\S+)", _read(name))
    prefix = package[1] if package else ".".join(name.split("/")[:-1])
    return "" if prefix == "_global_" else prefix


def _read(name: str) -> str:
    folders = (ROOT / "conf", ROOT / "extras" / "conf")
    paths = [folder / f"{name}.yaml" for folder in folders]
    return next((path for path in paths if path.exists()), paths[0]).read_text("utf-8")


def _inherited(name: str, prefix: str) -> dict[str, Row]:
    """Return the rows of a YAML file, merged over those of the files it inherits, by key."""
    text = _read(name)
    found: dict[str, Row] = {}
    for parent in yaml.safe_load(text).get("defaults", ()):
        if isinstance(parent, str) and parent.endswith("@_here_"):
            folder = name.rpartition("/")[0]
            found |= _inherited(f"{folder}/{parent.removesuffix('@_here_')}", prefix)
    for row in read_rows(text, prefix, set(found)):
        found = _put(found, row)
    return found


def _put(rows: dict[str, Row], row: Row) -> dict[str, Row]:
    """Replace the row of the same key, or add the row after the others of its group."""
    key, value, comment = row
    if key in rows:
        return {**rows, key: (key, value, comment or rows[key][2])}
    group = f"{key.rpartition('.')[0]}."
    last = max((n for n, name in enumerate(rows, 1) if name.startswith(group)), default=len(rows))
    items = list(rows.items())
    return dict([*items[:last], (key, row), *items[last:]])


def words(path: Path, variable: str) -> dict[str, str]:
    """Return a mapping of texts that a module contains as a literal.

    Raises:
        LookupError: the module has no such mapping.
    """
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.AnnAssign | ast.Assign) and node.value is not None:
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            if any(isinstance(target, ast.Name) and target.id == variable for target in targets):
                mapping: dict[str, str] = ast.literal_eval(node.value)
                return mapping
    raise LookupError(f"{path} has no mapping {variable!r}")


def public(module: str) -> Iterator[tuple[str, str]]:
    """Yield each name in `__all__` of a module, with the first sentence of its docstring."""
    for name in sorted(exported(module)):
        text = " ".join((docstring(module, name) or "").split())
        yield name, re.split(r"(?<=[.:]) ", text)[0].rstrip(".:")


def exported(module: str) -> list[str]:
    """Return `__all__` of a module."""
    (value,) = [node.value for node in _tree(module).body if "__all__" in _assigned(node)]
    names: list[str] = ast.literal_eval(value)
    return names


def docstring(module: str, name: str) -> str | None:
    """Return the docstring of a class, a function, or a constant (the text below it).

    A name that the module imports is followed to where it is defined.
    """
    body = _tree(module).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            if text := ast.get_docstring(node):  # overloads have none
                return text
        if name in _assigned(node) and isinstance(following, ast.Expr):
            return str(ast.literal_eval(following.value))
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return docstring(str(node.module), name)
    return None


@cache
def _tree(module: str) -> ast.Module:
    """Return the syntax tree of a module; what it imports need not be installed."""
    path = ROOT.joinpath("src", *module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text("utf-8"))


def _assigned(node: ast.stmt) -> set[str]:
    """Return the names that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {
        name.id
        for target in targets
        if target is not None
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
