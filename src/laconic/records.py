"""Show the fields of public records in `help(...)`.

Python keeps no text below a field, so `help(Reward)` would name the fields and explain none. The
texts stay where they are; a docstring reads them from the source when somebody asks.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass


class RecordDocs:
    """Docstring of a record with an entry for each field that has one."""

    def __init__(self, text: str) -> None:
        """Keep the docstring that the class has by itself."""
        self._text = inspect.cleandoc(text)

    def __get__(self, record: object, kind: type) -> str:
        """Return the docstring and the fields of `kind`, which may have some from its bases."""
        texts = {name: text for base in reversed(kind.__mro__) for name, text in _texts(base)}
        own = [field.name for field in fields(kind) if field.name in texts]  # type: ignore[arg-type]
        lines = [f"    {name}: {' '.join(texts[name].split())}" for name in own]
        return "\n".join([self._text, "", "Attributes:", *lines]) if lines else self._text


def explain(things: Iterable[object]) -> None:
    """Give the records among some objects a docstring that explains their fields."""
    for thing in things:
        if isinstance(thing, type) and is_dataclass(thing):
            if not isinstance(vars(thing).get("__doc__"), RecordDocs):
                type.__setattr__(thing, "__doc__", RecordDocs(thing.__doc__ or ""))


def _texts(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the fields of a class and the texts below them; none if there is no source."""
    if not is_dataclass(kind):
        return
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError):
        return
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for node, below in zip(body, body[1:], strict=False):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                yield node.target.id, str(below.value.value)
