"""Reading text: typographic characters as ASCII ones, and paragraphs as sentences.

`ascii_alike` replaces each typographic character (full-width forms, dashes, spaces) by one ASCII
character, so places in a text stay the same. `split_sentences` neither adds nor drops anything: the
sentences joined by spaces are the paragraph again, up to white space.
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
_END = re.compile(r"[.?!][\"'”’)\]]*\s+(?=[\"'“‘(\[$]*[A-Z0-9])")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Mt|No|vs|etc|e\.g|i\.e|[A-Z])\.$")
_CLOCK = re.compile(r"\b[ap]\.m\.$", re.IGNORECASE)
_NOT_A_START = re.compile(r"[\"'“‘(\[]*[0-9$]")


def ascii_alike(text: str) -> str:
    """Return a text of the same length in which typographic characters are ASCII ones.

    Thin spaces and apostrophes between groups of three digits become commas, and currency signs
    become `$`.
    """
    if text.isascii() and "'" not in text:
        return text
    return _WORD_DASH.sub(",", _GROUPS.sub(",", text)).translate(_TABLE)


def split_sentences(text: str) -> tuple[str, ...]:
    """Split a paragraph into its sentences, in order and stripped.

    A sentence ends in `.`, `?` or `!` before white space and a capital letter or a digit. A full
    stop inside a number, and one that belongs to a title, an initial or `a.m.`, does not end it.
    Text without letters gives no sentence.
    """
    sentences, start = [], 0
    for match in _END.finditer(text):
        end = match.end()
        if _ends(text[start:end].rstrip(), text[end : end + 4]):
            sentences.append(text[start:end])
            start = end
    return tuple(filter(None, (part.strip() for part in (*sentences, text[start:]))))


def split_question(text: str) -> tuple[tuple[str, ...], str]:
    """Split a word problem into its facts and the question at its end.

    The question begins with the last sentence that holds a question mark, together with question
    sentences right before it, and runs to the end. Without a question mark it is the last sentence.
    """
    sentences = split_sentences(text)
    asking = [index for index, sentence in enumerate(sentences) if "?" in sentence]
    start = asking[-1] if asking else len(sentences) - 1
    while start > 0 and "?" in sentences[start - 1]:
        start -= 1
    return sentences[: max(start, 0)], " ".join(sentences[max(start, 0) :])


def _ends(sentence: str, following: str) -> bool:
    """Return whether a candidate ends a sentence, rather than a title or `a.m.`."""
    if _TITLE.search(sentence):
        return False
    return not (_CLOCK.search(sentence) and _NOT_A_START.match(following))
