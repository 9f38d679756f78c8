"""Fills the templates of a report: everything that comes from outside is escaped on its way in.

What agents say is hostile input: every value passes `visible` and the escaping of jinja2, and the
page's policy admits one style sheet and one script, ours, by their hashes. A page is one file;
style, script and pictures are inside it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from laconic.learners.metrics import GLOSSARY

_LONGEST, _LONGEST_FILE = 6000, 200_000
TEMPLATES = Path(__file__).with_name("templates")
_OURS = (("style", "css"), ("script", "js"))
_BRACKET = re.compile(r"\[[^\]]*\]")


def visible(text: object, longest: int = _LONGEST) -> str:
    """Text without control characters, of at most `longest` characters; still to be escaped.

    What is cut is counted at the end; markup of a template is left as it is.
    """
    if isinstance(text, Markup):
        return text
    plain = str(text)
    if len(plain) > longest:
        plain = f"{plain[:longest]} … ({len(plain) - longest} more characters)"
    return "".join(
        char
        if char in "\n\t" or char.isprintable() or char.isspace()
        else "\N{REPLACEMENT CHARACTER}"
        for char in plain
    )


def fill(template: str, **values: Any) -> str:
    """A whole document from `run.html` or `sweep.html`.

    Raises:
        jinja2.UndefinedError: the template shows a value that is not given.
    """
    ours = {name: Markup((TEMPLATES / f"report.{end}").read_text("utf-8")) for name, end in _OURS}
    return _PAGES.get_template(template).render(glossary=GLOSSARY, **ours, **values)


def _whole(text: object) -> Markup:
    """A long text, cut later than others."""
    return escape(visible(text, _LONGEST_FILE))


def _hash(text: str) -> Markup:
    """What a content security policy calls a text that stands in the page."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return Markup(f"'sha256-{base64.b64encode(digest).decode('ascii')}'")


def _address(png: bytes) -> Markup:
    """A picture as an address, so that it lies inside the page."""
    return Markup(f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}")


def _aside(text: object) -> Markup:
    """Text in which everything in square brackets steps back."""
    whole = str(escape(visible(text)))
    return Markup(_BRACKET.sub(r'<span class="aside">\g<0></span>', whole))


_PAGES = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    # Applied to every value before it is escaped, so that no template can forget it.
    finalize=visible,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters |= {"whole": _whole, "hash": _hash, "address": _address, "aside": _aside}
