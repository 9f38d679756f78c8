"""Cutting a docstring into statements about its function.

A statement is a sentence, an item of a list, an example of the interpreter (`>>> f(1)` and its
output), or a line in which the function is called. Headings of examples are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from laconic.envs.families.common.sources import split_sentences

_PROMPT = ">>>"
_MORE = "..."
_HEADING = re.compile(r"(?:for |some )?exam[pb]les?(?: cases?)?\s*:?", re.IGNORECASE)
_ITEM = re.compile(r"(?:[-*•]|\d+[.)])\s")


def conditions(docstring: str, name: str) -> tuple[str, ...]:
    """Return the statements of a docstring about the function `name`, in reading order.

    An example becomes "`f(1)` gives `2`". A docstring without words gives none.
    """
    statements: list[str] = []
    paragraph: list[str] = []
    for kind, line in _lines(docstring, name):
        if kind != "text":
            statements += _sentences(paragraph)
            paragraph = []
        if kind == "own":
            statements.append(line)
        elif line:
            paragraph.append(line)
    return (*statements, *_sentences(paragraph))


def _lines(docstring: str, name: str) -> Iterator[tuple[str, str]]:
    """Classify each line: `text` of a paragraph, its `start`, or a statement of its `own`."""
    lines = [line.strip() for line in docstring.split("\n")]
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if line.startswith(_PROMPT):
            end = index
            while end < len(lines) and lines[end] and not lines[end].startswith(_PROMPT):
                end += 1
            yield "own", _example(line, lines[index:end])
            index = end
        elif not line or _HEADING.fullmatch(line):
            yield "start", ""
        elif f"{name}(" in line:
            yield "own", line
        else:
            yield "start" if _ITEM.match(line) else "text", line


def _example(line: str, following: list[str]) -> str:
    code = [line.removeprefix(_PROMPT).strip()]
    while following and following[0].startswith(_MORE):
        code.append(following.pop(0).removeprefix(_MORE).strip())
    result = " ".join(following)
    return f"`{' '.join(code)}`" + (f" gives `{result}`" if result else "")


def _sentences(lines: list[str]) -> tuple[str, ...]:
    return split_sentences(" ".join(lines))
