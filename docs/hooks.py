"""Fills in what pages take from the code, when the site is built.

    <!-- settings: env/gsm8k -->                   keys, values and comments of conf/env/gsm8k.yaml
    <!-- words: learners/metrics.py GLOSSARY -->   names and meanings of a mapping in a module
    <!-- readme: first-run -->                     what stands in the README under this heading

So each of them is written once. MkDocs calls `on_page_markdown`; nothing of ours is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
HIDDEN = ("_target_", "_partial_", "defaults", "hydra")
"""Keys that say what is made, not how."""
_MARK = re.compile(r"^<!-- (settings|words|readme): (\S+)(?: (\w+))? -->$", re.M)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put tables where a page asks for them."""
    return _MARK.sub(_fill, markdown)


def _fill(mark: re.Match[str]) -> str:
    kind, name, variable = mark.groups()
    if kind == "readme":
        return section((ROOT / "README.md").read_text("utf-8"), name)
    if kind == "settings":
        rows = [(f"`{k}`", f"`{v}`" if v else "", text) for k, v, text in settings(name)]
        return table(("key", "value", "meaning"), rows)
    meanings = words(ROOT / name, variable)
    return table(("name", "meaning"), [(f"`{key}`", text) for key, text in meanings.items()])


def section(page: str, name: str) -> str:
    """What stands under a heading, up to the next one of any level; paths as in `docs/`.

    Args:
        page: Markdown of the README.
        name: the heading in small letters, with hyphens.

    Raises:
        LookupError: there is no such heading.
    """
    for part in re.split(r"^##+ ", page, flags=re.M):
        heading, _, text = part.partition("\n")
        if heading.lower().replace(" ", "-") == name:
            return text.strip().replace("](docs/", "](")
    raise LookupError(f"README.md has no heading {name!r}")


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines)


def settings(name: str) -> Iterator[tuple[str, str, str]]:
    """Key as an override names it, value as it is written, comment; of one yaml in `conf/`.

    Args:
        name: path of the yaml in `conf/`, without its ending.

    Raises:
        FileNotFoundError: there is no such yaml.
    """
    text = (ROOT / "conf" / f"{name}.yaml").read_text("utf-8")
    package = re.match(r"# @package (\S+)", text)
    prefix = package[1] if package else ".".join(name.split("/")[:-1])
    prefix = "" if prefix == "_global_" else prefix
    yield from _rows(yaml.compose(text, yaml.SafeLoader), text, prefix)


def _rows(node: yaml.Node | None, text: str, prefix: str) -> Iterator[tuple[str, str, str]]:
    lines = text.splitlines()
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.value in HIDDEN:
            continue
        name = f"{prefix}.{key.value}" if prefix else key.value
        comment = _comment(lines, key.start_mark.line)
        if isinstance(value, yaml.MappingNode) and not value.flow_style:
            if comment:
                yield name, "", comment
            yield from _rows(value, text, name)
        else:
            source = text[value.start_mark.index : value.end_mark.index]
            yield name, " ".join(source.split()), comment


def _comment(lines: list[str], line: int) -> str:
    """The comment right above a line; that at the head of a file is about the whole of it."""
    first = line
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    if first == 0:
        return ""
    return " ".join(one.strip().removeprefix("#").strip() for one in lines[first:line])


def words(path: Path, variable: str) -> dict[str, str]:
    """A mapping of texts that a module writes out.

    Raises:
        LookupError: the module has no such mapping.
    """
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.AnnAssign | ast.Assign) and node.value is not None:
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            if any(isinstance(one, ast.Name) and one.id == variable for one in targets):
                found: dict[str, str] = ast.literal_eval(node.value)
                return found
    raise LookupError(f"{path} has no mapping {variable!r}")


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
