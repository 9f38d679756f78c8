"""Reading the number that a text commits to, or else the last one it mentions.

A number is written in ASCII digits, with an optional sign (`-` or the unicode minus), dollar sign,
commas between digits and decimal part: `12`, `-3`, `$12.50`, `1,234.0`, `12.`, `5%`. Digits glued
to a letter before them (`H2O`) belong to a word, and fractions and dates (`1/2`) are no numbers.

A commitment is read strictly: what is still to be worked out (`3!`, `12 * 2`), an equation that
says two things and a second number on offer (`12 or 13`) are none, and then the text has no answer,
rather than the last number in it.

Numbers are compared in plain form, a text without commas or needless zeros, so no digit is lost to
floating point. The work is bounded: a window at the end of the text is read, and a run of too many
digits is no number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WINDOW = 20_000
"""Characters at the end of a text that are read."""
_MAX_DIGITS = 40
_MAX_MARKS = 20
_MARK_LENGTH = 200

_SIGN = r"[-\u2212]"
# Possessive, so that no text makes the search go back over digits it has read.
_WHOLE = r"[0-9](?:,?[0-9])*+(?:\.[0-9]++)?+"
_DECIMAL = r"\.[0-9]++"
# A fraction; over 1 it is the number itself.
_OVER = r"[ ]?/[ ]?(?!1(?![0-9.]))[0-9]"
# Letters with digits after them (`15e3`) make a word of it.
_GLUED = r"[A-Za-z_]+[0-9]"
_SPACED = re.compile(r"(?<![0-9.,])([0-9]{1,3}(?: [0-9]{3})+)(?![0-9]| [0-9])")
_PLAIN = re.compile(
    # A minus glued to what stands before it subtracts or joins (`10-3`, `2-5 days`).
    rf"(?:(?<![A-Za-z0-9_)\]}}%.\-])(?P<sign>{_SIGN})\\?\$?|\\?\$(?P<late>{_SIGN})?)?+"
    rf"(?P<digits>(?<![A-Za-z0-9_])(?<!--){_WHOLE}|(?<![A-Za-z0-9_.])(?<!--){_DECIMAL})(?!{_GLUED})"
    rf"(?P<over>{_OVER})?+(?:[ ]?/[ ]?1(?![0-9.]))?+"
)
_HASHES = re.compile(rf"#{{4,}}(?P<content>[^\n#]{{0,{_MARK_LENGTH}}})")
_BOXED = re.compile(r"\\boxed[ ]?\{")
_LEAD = re.compile(r"[^0-9]*[0-9](?:[ ,.]?[0-9])*+")
_LAYOUT = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"\{,\}", ","),
        (r"(?<=[0-9])\\[,!;:](?=[0-9])", ""),
        (r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2"),
        (r"\\(?:text\w{0,2}|mathrm|mathbf|mbox)(?![A-Za-z])|\\(?=[$%])|\\[,!;: ]|\*\*|[{}]", " "),
        (rf"({_SIGN}|\$) +(?=[0-9$])", r"\1"),
    )
)
# What makes something else of the number before it, or offers another one.
_GOES_ON = re.compile(r"\s*(?:[!^*/_=<>+~\u00d7\u00b7\u2260\u2248]|\\|[,;&]?\s*-?\s*\$?[0-9])")
_BEFORE = re.compile(r"[\\/^!<>+*]|\bnot\b", re.IGNORECASE)
_DOUBT = re.compile(r"\b(?:or|not?|wait|wrong|actually|maybe|instead)\b", re.IGNORECASE)


def plain(number: str) -> str | None:
    """A number in plain form (`$1,234.50` -> `1234.5`), or None when the text is not one number."""
    bare = _unspaced(number.strip().rstrip("%").removesuffix("."))
    found = _PLAIN.fullmatch(bare)
    return _value(found) if found and not found["over"] else None


def answer_in(text: str) -> str | None:
    r"""The number a text answers with, in plain form: the marked one, or else the last one.

    A marker is `#### 12` or `\boxed{12}`. Where there are several the last with a digit counts, and
    any goes before unmarked numbers, even later ones. None where that holds no one number.
    """
    marked = next(_marks(text), None)
    if marked is not None:
        return marked[1]
    return _last_number(text, max(0, len(text) - WINDOW))


def commitment(text: str) -> tuple[str, str] | None:
    """The last marker, if it holds a number: its exact text, and the number in plain form."""
    letters, value = next(_marks(text), ("", None))
    return (letters, value) if value is not None else None


def _marks(text: str) -> Iterator[tuple[str, str | None]]:
    """The markers that hold a digit, the last first: their texts, and the numbers they commit to.

    The text of `#### 12 pens` ends with its number.
    """
    start = max(0, len(text) - WINDOW)
    found: list[tuple[int, str, str, bool]] = []
    for mark in _HASHES.finditer(text, start):
        content = mark["content"].partition("\\boxed")[0]
        if lead := _LEAD.match(content):
            letters = text[mark.start() : mark.start("content")] + lead.group()
            found.append((mark.start(), letters, content, False))
    for begin, inside in [one.span() for one in _BOXED.finditer(text, start)][-_MAX_MARKS:]:
        end = _closing_brace(text, inside)
        if end is not None and _LEAD.match(text, inside, end):
            found.append((begin, text[begin : end + 1], text[inside:end], True))
    for _, letters, content, whole in sorted(found, reverse=True):
        yield letters, _stated(content, whole)


def _stated(content: str, whole: bool) -> str | None:
    """The number that a marker commits to; None where it is none, or not the only one.

    Args:
        content: what the marker holds.
        whole: whether no other number may stand in it; else it may, but not as an alternative.
    """
    for pattern, new in _LAYOUT:
        content = pattern.sub(new, content)
    content = _unspaced(content.strip())
    found = _PLAIN.search(content)
    if not found or found["over"] or _BEFORE.search(content[: found.start()]):
        return None
    rest = content[found.end() :]
    value = _value(found)
    if re.search("[0-9]", content[: found.start()]) or _GOES_ON.match(rest):
        return None
    others = {_value(one) for one in _PLAIN.finditer(rest)} - {value}
    return None if others and (whole or _DOUBT.search(rest)) else value


def _value(found: re.Match[str]) -> str | None:
    digits = found["digits"].replace(",", "")
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
    for place in range(inside, min(len(text), inside + _MARK_LENGTH)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return None


def _unspaced(text: str) -> str:
    """`5 760 pens` as `5760 pens`."""
    return _SPACED.sub(lambda found: found[1].replace(" ", ""), text)
