"""Characters that look like ASCII ones, or like nothing.

`ascii_alike` prepares a text for reading. It replaces each typographic character (full-width forms,
dashes, spaces) by one ASCII character, so places in a text stay the same.
"""

from __future__ import annotations

import re

DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
"""Hyphens, dashes and minus signs that stand for `-`."""
SPACES = "\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
"""Characters that print nothing, such as the byte order mark."""
_TABLE = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys(map(ord, DASHES), "-"),
    **dict.fromkeys(map(ord, SPACES + INVISIBLE), " "),
    **dict.fromkeys(map(ord, "\u2044\u2215"), "/"),
    **dict.fromkeys(map(ord, "\u20ac\u00a3\u00a5\u20b9\u20a9\uffe0\uffe1\uffe5"), "$"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc\u2032"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d"), '"'),
    ord("\u3002"): ".",
    ord("\u3001"): ",",
}
# A dash between words is punctuation, and no sign of what follows.
_WORD_DASH = re.compile(r"(?<=[A-Za-z.!?)] )[\u2012-\u2015](?= )")
# Thin spaces and apostrophes that group digits, as in `42'000`.
_GROUPS = re.compile(r"(?<=[0-9])[\u00a0\u2007-\u200a\u202f'\u2019](?=[0-9]{3}(?![0-9]))")


def ascii_alike(text: str) -> str:
    """Return a text of the same length in which typographic characters are ASCII ones.

    Thin spaces and apostrophes between groups of three digits become commas, and currency signs
    become `$`.
    """
    if text.isascii() and "'" not in text:
        return text
    return _WORD_DASH.sub(",", _GROUPS.sub(",", text)).translate(_TABLE)
