"""Reading the number that a text commits to, or else the last one it mentions.

A number is written in ASCII digits, with an optional sign (`-` or the unicode minus), dollar sign,
commas between digits and decimal part: `12`, `-3`, `$12.50`, `1,234.0`, `12.`, `5%`. Digits glued
to a letter before them (`H2O`) belong to a word, and fractions and dates (`1/2`) are no numbers.
Numbers are compared in plain form, a text without commas or needless zeros, so no digit is lost to
floating point. The work is bounded: a window at the end of the text is read, and a run of too many
digits is no number.
"""

from __future__ import annotations

import re

WINDOW = 20_000
"""Characters at the end of a text that are read."""
_MAX_DIGITS = 40
_MAX_BOXES = 20
_BOX_LENGTH = 200

_SIGN = r"[-\u2212]"
# Possessive, so that no text makes the search go back over digits it has read.
_WHOLE = r"[0-9](?:,?[0-9])*+(?:\.[0-9]++)?+"
_DECIMAL = r"\.[0-9]++"
# A fraction; over 1 it is the number itself.
_OVER = r"[ ]?/[ ]?(?!1(?![0-9.]))[0-9]"
# Letters with digits after them (`15e3`) make a word of it.
_GLUED = r"[A-Za-z]+[0-9]"
_SPACED = r"[0-9]{1,3}(?:[ ][0-9]{3})++(?![0-9])(?:\.[0-9]++)?+"
_MARKED = re.compile(
    rf"####[ \t]{{0,4}}\*{{0,2}}(?P<sign>{_SIGN})?[ ]?\\?\$?[ ]?(?P<late>{_SIGN})?"
    rf"(?P<digits>{_SPACED}|{_WHOLE}|{_DECIMAL})(?!{_OVER}|{_GLUED})"
)
_PLAIN = re.compile(
    # A minus glued to what stands before it subtracts or joins (`10-3`, `2-5 days`).
    rf"(?:(?<![A-Za-z0-9_)\]}}%.\-])(?P<sign>{_SIGN})\\?\$?|\\?\$(?P<late>{_SIGN})?)?+"
    rf"(?P<digits>(?<![A-Za-z0-9_])(?<!--){_WHOLE}|(?<![A-Za-z0-9_.])(?<!--){_DECIMAL})(?!{_GLUED})"
    rf"(?P<over>{_OVER})?+(?:[ ]?/[ ]?1(?![0-9.]))?+"
)
_BOXED = re.compile(r"\\boxed[ ]?\{")


def plain(number: str) -> str | None:
    """A number in plain form (`$1,234.50` -> `1234.5`), or None when the text is not one number."""
    found = _PLAIN.fullmatch(_unspaced(number.strip().rstrip("%").removesuffix(".")))
    return _value(found) if found and not found["over"] else None


def answer_in(text: str) -> str | None:
    r"""The number a text answers with, in plain form: the marked one, or else the last one.

    A marker is `#### 12` or `\boxed{12}`. Where there are several the last counts, and any marker
    with a number goes before unmarked numbers, even later ones.
    """
    marked = commitment(text)
    if marked is not None:
        return marked[1]
    return _last_number(text, max(0, len(text) - WINDOW))


def commitment(text: str) -> tuple[str, str] | None:
    """The last marker that holds a number: its exact text, and the number in plain form."""
    start = max(0, len(text) - WINDOW)
    best: tuple[int, str, str] | None = None
    for found in _MARKED.finditer(text, start):
        value = _value(found)
        if value is not None:
            best = (found.start(), found.group(), value)
    boxes = [found.span() for found in _BOXED.finditer(text, start)][-_MAX_BOXES:]
    for begin, inside in reversed(boxes):
        end = _closing_brace(text, inside)
        value = _boxed_number(text[inside:end]) if end is not None else None
        if value is not None and end is not None:
            if best is None or begin > best[0]:
                best = (begin, text[begin : end + 1], value)
            break
    return best[1:] if best else None


def _value(found: re.Match[str]) -> str | None:
    digits = found["digits"].replace(",", "").replace(" ", "")
    # Two signs are no number: `--3`.
    if len(digits) > _MAX_DIGITS or (found["sign"] and found["late"]):
        return None
    whole, _, decimals = digits.partition(".")
    value = whole.lstrip("0") or "0"
    if decimals := decimals.rstrip("0"):
        value += f".{decimals}"
    negative = (found["sign"] or found["late"]) and value != "0"
    return f"-{value}" if negative else value


def _last_number(text: str, start: int) -> str | None:
    last = None
    for found in _PLAIN.finditer(text, start):
        if not found["over"]:
            last = _value(found) or last
    return last


def _closing_brace(text: str, inside: int) -> int | None:
    depth = 1
    for place in range(inside, min(len(text), inside + _BOX_LENGTH)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return None


def _boxed_number(content: str) -> str | None:
    if "frac" in content:
        return None
    simple = re.sub(r"\{,\}", ",", content)
    return _last_number(_unspaced(re.sub(r"\\[!,;: ]", "", simple).strip()), 0)


def _unspaced(text: str) -> str:
    """`5 760` as `5760`, where that is all there is."""
    return text.replace(" ", "") if re.fullmatch(rf"[-$]*{_SPACED}", text) else text
