"""Insert tables and texts from the repository into pages when the site is built.

    <!-- settings: env/gsm8k -->                   keys, values and comments of conf/env/gsm8k.yaml
    <!-- words: learners/metrics.py GLOSSARY -->   names and meanings of a mapping in a module
    <!-- names: laconic.envs -->                   public names of a module and what they are

So every text is written once. In the search, tutorials and guides come before other pages. MkDocs
calls `on_page_markdown`, which imports nothing of the project.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
HIDDEN = ("_target_", "_partial_", "defaults", "hydra")
"""Keys that choose a class or a package, and are not settings."""
HOMES = (
    "learner/gspo",
    "learner/advantages/group",
    "learner/ippo",
    "train",
    "agent/hf",
    "optimizer/adamw",
    "env/gsm8k",
)
"""Files with the explanations of keys that other files set without a comment."""
Row = tuple[str, str, str]
"""Key, value and comment of a setting."""
BOOSTS = {"Tutorials": 3.0, "Guides": 2.0, "Background": 1.5}
"""Weight of a page in the search by section of the navigation; 1 in other sections."""
_MARK = re.compile(r"^<!-- (settings|words|names): (\S+)(?: (\w+))? -->$", re.M)


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
    if kind == "names":
        return table(("name", "what it is"), [(f"`{n}`", text) for n, text in public(name)])
    meanings = words(ROOT / name, variable)
    return table(("name", "meaning"), [(f"`{key}`", text) for key, text in meanings.items()])


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Write a table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines)


def explained(name: str) -> Iterator[Row]:
    """Yield the rows of `settings`; keys without a comment get one from elsewhere.

    It is the comment of the key in `HOMES`, else the comment of the keys beside it.
    """
    before = ("", "")
    for key, value, comment in settings(name):
        group = key.rpartition(".")[0]
        if not comment:
            comment = _at_home(ROOT).get(key) or (before[1] if before[0] in (group, key) else "")
        before = (key if not value else group, comment)
        yield key, value, comment


@cache
def _at_home(root: Path) -> dict[str, str]:
    """Map each key to its comment in the first of `HOMES` that has one."""
    comments: dict[str, str] = {}
    for name in HOMES:
        if (root / "conf" / f"{name}.yaml").exists():
            rows = settings(name)
            comments |= {key: text for key, _, text in rows if text and key not in comments}
    return comments


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
    rows: dict[str, Row] = {}
    for parent in yaml.safe_load(text).get("defaults", ()):
        if isinstance(parent, str) and parent.endswith("@_here_"):
            folder = name.rpartition("/")[0]
            rows |= _inherited(f"{folder}/{parent.removesuffix('@_here_')}", prefix)
    for row in _rows(yaml.compose(text, yaml.SafeLoader), text, prefix, set(rows)):
        rows = _put(rows, row)
    return rows


def _put(rows: dict[str, Row], row: Row) -> dict[str, Row]:
    """Replace the row of the same key, or add the row after the others of its group."""
    key, value, comment = row
    if key in rows:
        return {**rows, key: (key, value, comment or rows[key][2])}
    group = f"{key.rpartition('.')[0]}."
    last = max((n for n, name in enumerate(rows, 1) if name.startswith(group)), default=len(rows))
    items = list(rows.items())
    return dict([*items[:last], (key, row), *items[last:]])


def _rows(
    node: yaml.Node | None, text: str, prefix: str, inherited: Collection[str] = ()
) -> Iterator[Row]:
    """Yield the rows of a mapping; a mapping in braces is a value, unless its keys have rows."""
    lines = text.splitlines()
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.value in HIDDEN:
            continue
        name = f"{prefix}.{key.value}" if prefix else key.value
        comment = _comment(lines, key.start_mark.line)
        group = any(key.startswith(f"{name}.") for key in inherited)
        if isinstance(value, yaml.MappingNode) and (group or not value.flow_style):
            if comment and not value.flow_style:
                yield name, "", comment
            yield from _rows(value, text, name, inherited)
        else:
            source = text[value.start_mark.index : value.end_mark.index]
            yield name, " ".join(source.split()), comment


def _comment(lines: list[str], line: int) -> str:
    """Return the comment right above a line; empty for that of the whole file at its top."""
    first = line
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    if first == 0:
        return ""
    return " ".join(text.strip().removeprefix("#").strip() for text in lines[first:line])


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
