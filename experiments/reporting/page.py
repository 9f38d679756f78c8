"""Pieces of HTML: everything that is not written here is escaped on its way in.

What agents say is hostile input: the page holds no script, its policy forbids any, and text from
outside passes `safe`. A page is one file; pictures are inside it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape

from laconic.experiments.reporting.css import CSS
from laconic.experiments.reporting.look import Picture
from laconic.learners.metrics import GLOSSARY

_LONGEST = 6000
_BRACKET, _ASIDE = re.compile(r"\[[^\]]*\]"), r'<span class="aside">\g<0></span>'
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def safe(text: object, longest: int = _LONGEST) -> str:
    """Text as HTML: escaped, control characters made visible, endless ones shortened."""
    plain = str(text)
    if len(plain) > longest:
        plain = f"{plain[:longest]} … ({len(plain) - longest} more characters)"
    seen = "".join(
        char
        if char in "\n\t" or (char.isprintable() or char.isspace())
        else "\N{REPLACEMENT CHARACTER}"
        for char in plain
    )
    return escape(seen.encode("utf-8", "replace").decode("utf-8"))


def page(title: str, body: Iterable[str]) -> str:
    """A whole document around a body of finished HTML."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def heading(kind: str, title: str, facts: Sequence[str]) -> str:
    """The top of a page."""
    return (
        f'<p class="eyebrow">{safe(kind)}</p>\n<h1>{safe(title)}</h1>\n'
        f'<p class="muted">{" · ".join(map(safe, facts))}</p>'
    )


def notice(title: str, lines: Sequence[str], mild: bool = False) -> str:
    """A box with things to know; nothing without lines."""
    if not lines:
        return ""
    items = "".join(f"<li>{safe(line)}</li>" for line in lines)
    kind = "notice mild" if mild else "notice"
    return f'<div class="{kind}"><strong>{safe(title)}</strong><ul>{items}</ul></div>'


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], dense: bool = False) -> str:
    """A table of texts; what stands in square brackets, the first column aside, steps back.

    Args:
        columns: heads, from the left.
        rows: one text for each column.
        dense: put what is in brackets on a line of its own.
    """
    head = "".join(f"<th>{safe(column)}</th>" for column in columns)
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td>{_BRACKET.sub(_ASIDE, safe(cell))}</td>" for cell in others)
        lines.append(f"<tr><td>{safe(first)}</td>{cells}</tr>")
    kind = ' class="dense"' if dense else ""
    return (
        f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def pictures(shown: Iterable[Picture]) -> str:
    """Pictures beside each other, with captions, inside the page."""
    figures = []
    for one in shown:
        data = base64.b64encode(one.png).decode("ascii")
        figures.append(
            f"<figure{' class=wide' if one.wide else ''}>"
            f'<img alt="{safe(one.caption)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{safe(one.caption)}</figcaption></figure>"
        )
    return f'<div class="pictures">{"".join(figures)}</div>'


def folded(title: str, text: str) -> str:
    """A long text that opens with a click."""
    return f"<details><summary>{safe(title)}</summary><pre>{safe(text, 200_000)}</pre></details>"


def glossary() -> str:
    """What the metrics mean."""
    entries = "".join(
        f"<dt><code>{safe(name)}</code></dt><dd>{safe(meaning)}</dd>"
        for name, meaning in GLOSSARY.items()
    )
    return f"<h2>What the metrics mean</h2><dl>{entries}</dl>"
