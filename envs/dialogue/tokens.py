"""How text is cut into the tokens that budgets count and prices charge.

A tokenizer here is a function from a text to its tokens as substrings that join back to the text;
their number is the text's length in tokens. A policy brings the one of its own model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Tokenize = Callable[[str], Sequence[str]]

_MAX_BYTES = 8
# At most eight letters a token, so that a long unbroken word is not cheap; every character matches.
_TOKEN = re.compile(r"\s?[^\W\d_]{1,8}|\s?\d{1,3}|\s?[^\w\s]|[\s\S]")


def split_words(text: str) -> list[str]:
    """Cut text into short words, numbers and signs; needs no download.

    A word counts once for every eight letters, and where they are not ASCII once for every eight
    bytes of UTF-8, so that no script is cheaper than another; a number once for every three digits.
    One white space before a token belongs to it.
    """
    tokens = _TOKEN.findall(text)
    if text.isascii():
        return tokens
    return [piece for token in tokens for piece in _short(token)]


def _short(token: str) -> list[str]:
    """A token in pieces of at most eight bytes, a white space before it not counted."""
    pieces, size = [""], 0
    for place, character in enumerate(token):
        size += 0 if place == 0 and character.isspace() else _bytes(character)
        if size > _MAX_BYTES:
            pieces.append("")
            size = _bytes(character)
        pieces[-1] += character
    return pieces


def _bytes(character: str) -> int:
    return len(character.encode("utf-8", "surrogatepass"))


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
