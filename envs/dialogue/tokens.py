"""How text is cut into the tokens that budgets count and prices charge.

A tokenizer here is a function from a text to its tokens as substrings that join back to the text;
their number is the text's length in tokens. A policy brings the one of its own model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Tokenize = Callable[[str], Sequence[str]]

# At most eight letters a token, so that a long unbroken word is not cheap; every character matches.
_TOKEN = re.compile(r"\s?[^\W\d_]{1,8}|\s?\d{1,3}|\s?[^\w\s]|[\s\S]")


def split_words(text: str) -> list[str]:
    """Cut text into short words, numbers and signs; needs no download.

    A word of more than eight letters counts once for every eight, a number once for every three
    digits. One white space before a token belongs to it.
    """
    return _TOKEN.findall(text)


def cut(text: str, limit: int, tokenize: Tokenize) -> tuple[str, int]:
    """The longest beginning of `text`, ending at a token border, of at most `limit` tokens.

    Tokenizers may cut a beginning otherwise than the whole, so the result is counted again and
    shortened until it fits.

    Returns:
        The beginning, and its length in tokens. With a limit of 0 or less both are empty.
    """
    if not text or limit <= 0:
        return "", 0
    kept = tokenize(text)
    count = len(kept)
    if count <= limit:
        return text, count
    for length in range(limit, 0, -1):
        beginning = "".join(kept[:length])
        count = len(tokenize(beginning))
        if count <= limit:
            return beginning, count
    return "", 0


def well_formed(text: str) -> str:
    """The text with lone surrogates, which no file or terminal takes, replaced each by a `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
