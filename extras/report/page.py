"""Fill the templates of a report, with every value escaped.

Messages of agents are hostile input: every value passes `visible` and the escaping of jinja2. The
content security policy of the page allows only its own style sheet and script, by their hashes. A
page is one file that contains style, script and pictures.
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
    """Replace control characters and cut a text to `longest` characters; it is not escaped yet.

    The end of a cut text says how much is missing. Markup of a template stays unchanged.
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
    """Make a whole document from `run.html` or `sweep.html`.

    Raises:
        jinja2.UndefinedError: the template needs a value that is missing.
    """
    ours = {name: Markup((TEMPLATES / f"report.{end}").read_text("utf-8")) for name, end in _OURS}
    return _PAGES.get_template(template).render(glossary=GLOSSARY, **ours, **values)


def _whole(text: object) -> Markup:
    """Escape a long text, with a higher limit than other texts."""
    return escape(visible(text, _LONGEST_FILE))


def _hash(text: str) -> Markup:
    """Return the hash of a text in the syntax of a content security policy."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return Markup(f"'sha256-{base64.b64encode(digest).decode('ascii')}'")


def _address(png: bytes) -> Markup:
    """Return a picture as a data address, so that the page contains it."""
    return Markup(f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}")


def _aside(text: object) -> Markup:
    """Mark everything in square brackets as secondary."""
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
