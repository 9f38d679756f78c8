r"""Reading the number that a text commits to, or else the last one it mentions.

A number is written in digits, with an optional sign, currency sign, commas between digits and
decimal part: `12`, `-3`, `$12.50`, `1,234.0`, `12.`, `5%`. Typographic characters count as their
ASCII ones: full-width digits, any dash or minus sign, thin spaces between groups of three digits.
Digits glued to a letter before them (`H2O`) belong to a word. Fractions, dates, times of day,
powers and commas that group no thousands (`1/2`, `3:30`, `5^2`, `12,34`) are no numbers.

A commitment is read strictly: it is a number with nothing beside it that changes its value
(`beside`). These are none: a multiple (`7 million`), an open calculation (`3!`, `12 * 2`,
`6 x 7`), an equation that says two things, and a second number on offer (`12 or 13`). Such a text
has no answer, whatever else it mentions. An amount per unit (`$18/day`) is its number.

Numbers are compared in plain form, a text without commas or needless zeros, so no digit is lost to
floating point. The work is bounded: a window at the end of the text is read, and a run of too many
digits is no number.
"""

from __future__ import annotations

import re
from functools import lru_cache

from laconic.envs.dialogue.characters import ascii_alike
from laconic.envs.library.gsm8k.beside import (
    changed_before,
    changed_behind,
    joined,
    multiplied,
)

WINDOW = 20_000
"""Characters at the end of a text that are read."""
_MAX_DIGITS = 40
_MAX_MARKS = 20
_MARK_LENGTH = 200

# Possessive, so that no text makes the search go back over digits it has read.
_WHOLE = r"[0-9](?:,?[0-9])*+(?:\.[0-9]++)?+"
_DECIMAL = r"\.[0-9]++"
# A fraction; over 1 it is the number itself.
_OVER = r"[ ]?/[ ]?(?!1(?![0-9.]))[0-9]"
# Letters with digits after them (`15e3`) make a word of it, powers and halves another number.
_RAISED = r"\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u207f\u2150-\u215f\u2189"
_GLUED = rf"[A-Za-z_]+[0-9]|[{_RAISED}]"
_SPACED = re.compile(r"(?<![0-9.,])([0-9]{1,3}(?:([ _])[0-9]{3})(?:\2[0-9]{3})*)(?![0-9_]| [0-9])")
_PLAIN = re.compile(
    # A minus glued to what stands before it subtracts or joins (`10-3`, `2-5 days`).
    r"(?:(?<![A-Za-z0-9_)\]}%.\-])(?P<sign>-)\\?\$?|\\?\$(?P<late>-)?)?+"
    rf"(?P<digits>(?<![A-Za-z0-9_])(?<!--)(?<![0-9]:){_WHOLE}"
    rf"|(?<![A-Za-z0-9_.])(?<!--){_DECIMAL})(?!{_GLUED}|:[0-9])"
    rf"(?P<over>{_OVER})?+(?:[ ]?/[ ]?1(?![0-9.]))?+"
)
_GROUPED = re.compile(r"[1-9][0-9]?(?:[0-9]?(?:,[0-9]{3})++|(?:,[0-9]{2})+,[0-9]{3})(?:\.[0-9]++)?")
_HASHES = re.compile(rf"#{{4,}}(?P<content>[^\n#]{{0,{_MARK_LENGTH}}})")
_BOXED = re.compile(r"\\boxed[ ]?\{")
_LEAD = re.compile(r"[^0-9]*[0-9](?:[ ,.]?[0-9])*+")
_LAYOUT = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"\{,\}", ","),
        (r"(?<=[0-9])\\[,!;:](?=[0-9])", ""),
        # Tags of HTML and of chat templates, and delimiters of mathematics.
        (r"</?[A-Za-z][^<>]{0,40}>|<\|\w{1,30}\|>|\\+[()\[\]]", " "),
        (r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2"),
        (r"\\(?:text\w{0,2}|math(?:rm|bf|it|sf|tt)|mbox|displaystyle)(?![A-Za-z])", " "),
        (r"\\(?=[$%])|\\[,!;: ]|\*\*|[{}]", " "),
        (r"(?<![A-Za-z0-9*_])([*_]{1,3})([^*_]{1,60})\1(?![A-Za-z0-9*_])", r" \2 "),
        # The power of a unit, as in `m^2`.
        (r"(?<=[A-Za-z][A-Za-z]|[^A-Za-z]m)(?:\s*\^\s*[23](?![0-9])|[\u00b2\u00b3])", ""),
        (r"(?i:\b(?:minus|negative)) +(?=\$?[0-9])", "-"),
        # A plus sign of the number itself, and not that of a sum.
        (r"^(\s*|[^0-9+]*[=:({\[$]\s*)\+ ?(?=\$?\.?[0-9])", r"\1"),
        (r"^([^0-9+]*\s)\+(?=\$?\.?[0-9])", r"\1"),
        (r"(-|\$) +(?=[0-9$])", r"\1"),
    )
)
_TIMES = r"(?:[xX\u0445](?![A-Za-z])|(?:times|plus|minus|divided by|multiplied by)(?![A-Za-z]))"
_OPERATOR = (
    r"(?:[*=\u00b1\u00b7\u00d7\u00f7\u2022\u2200-\u22ff\u2715\u2716]"
    r"|\\(?:times|cdot|div|pm|ast)(?![a-z]))"
)
_UNIT_NAME = r"(?:(?!(?i:one|two|three|four|five|six|seven|eight|nine|ten|x|n)\b)[A-Za-z])"
# What makes something else of the number before it, or offers another one.
_GOES_ON = re.compile(
    rf"\s*(?:[!^_<>+~]|{_OPERATOR}|\\|/(?![ ]{{0,4}}{_UNIT_NAME})|[,;&']?\s*-?\s*\$?[0-9]"
    rf"|\(\s*-?\s*\$?[0-9][0-9.,]*\s*\))|\(\s*-?\$?[0-9]"
)
# `6 x 7` and `6 pens x 7`; in `42, for 6 x 7 is 42` the product stands apart from the number.
_WORKING = re.compile(
    r"(?:[%$]?\s+(?:[A-Za-z]{1,20}|\([A-Za-z]{1,20}\))){0,3}"
    rf"\s*(?:{_TIMES}|{_OPERATOR}|[+/\u2190-\u21ff])\s*[-$(]?\s*[0-9]"
)
_BEFORE = re.compile(
    r"[\\/^!<>+*]|\bnot\b|-\s*[(\[|]|(?<!\w)-\s?[A-Z]{3}\b|\b(?:minus|negative)\b|n't\b",
    re.IGNORECASE,
)
_DOUBT = re.compile(r"\b(?:or|not?|wait|wrong|actually|maybe|instead)\b", re.IGNORECASE)


def plain(number: str) -> str | None:
    """Return a number in plain form (`$1,234.50` -> `1234.5`), or None if it is not one number."""
    bare = _unspaced(ascii_alike(number).strip().rstrip("%").removesuffix("."))
    match = _PLAIN.fullmatch(bare)
    return _value(match) if match and not match["over"] else None


def answer_in(text: str) -> str | None:
    r"""Return the number that a text answers with, in plain form: the marked one, or else the last.

    A marker is `#### 12` or `\boxed{12}`. Where there are several the last with a digit counts. A
    marker goes before unmarked numbers, even later ones. None if it does not hold one number.
    """
    if mark := _last_mark(text):
        return mark[1]
    window, start = _window(text)
    plainer = _unspaced(ascii_alike(window))
    last, place = None, None
    for number in _PLAIN.finditer(plainer, start):
        if not number["over"] and (value := _value(number)):
            last, place = value, number.span()
    if place is None:
        return None
    line = plainer[plainer.rfind("\n", 0, place[0]) + 1 : place[0]][-_MARK_LENGTH:]
    before, behind = line[line.rfind(". ") + 1 :], plainer[place[1] : place[1] + _MARK_LENGTH]
    changed = changed_before(before) or joined(before, behind) or multiplied(behind)
    return None if changed else last


def commitment(text: str) -> tuple[str, str] | None:
    """Return the last marker, if it holds a number: its exact text, and its plain number."""
    mark = _last_mark(text)
    return (mark[0], mark[1]) if mark and mark[1] is not None else None


@lru_cache(maxsize=256)
def _last_mark(text: str) -> tuple[str, str | None] | None:
    """Return the last marker that holds a digit: its text, and the number that it commits to.

    The text of `#### 12 pens` ends with its number. The environment asks three times per message.
    """
    window, start = _window(text)
    plainer = ascii_alike(window)
    marks: list[tuple[int, str, str, bool]] = []
    for mark in _HASHES.finditer(plainer, start):
        content = mark["content"].partition("\\boxed")[0]
        if lead := _LEAD.match(content):
            end = mark.start("content") + lead.end()
            marks.append((mark.start(), window[mark.start() : end], content, False))
    for begin, inside in [box.span() for box in _BOXED.finditer(plainer, start)][-_MAX_MARKS:]:
        closing = _closing_brace(plainer, inside)
        if closing is not None and _LEAD.match(plainer, inside, closing):
            marks.append((begin, window[begin : closing + 1], plainer[inside:closing], True))
    if not marks:
        return None
    _, letters, content, whole = max(marks)
    return letters, _stated(content, whole)


def _stated(content: str, whole: bool) -> str | None:
    """Return the number that a marker commits to; None where it holds none, or not only one.

    Args:
        content: text in the marker.
        whole: whether it may hold no other number at all; otherwise it may, but not as an
            alternative.
    """
    for pattern, new in _LAYOUT:
        content = pattern.sub(new, content)
    content = _unspaced(content.strip())
    number = _PLAIN.search(content)
    if not number or number["over"] or _BEFORE.search(content[: number.start()]):
        return None
    rest = content[number.end() :].lstrip(")]")
    value = _value(number)
    if re.search("[0-9]", content[: number.start()]) or _GOES_ON.match(rest):
        return None
    if value is None or _WORKING.match(rest):
        return None
    if changed_before(content[: number.start()]) or changed_behind(rest, value, "$" in number[0]):
        return None
    others = {_value(other) for other in _PLAIN.finditer(rest)} - {value}
    return None if others and (whole or _DOUBT.search(rest)) else value


def _value(number: re.Match[str]) -> str | None:
    digits = number["digits"].replace(",", "")
    # Two signs are no number (`--3`), and neither are commas that group no thousands (`12,34`).
    if len(digits) > _MAX_DIGITS or (number["sign"] and number["late"]):
        return None
    if "," in number["digits"] and not _GROUPED.fullmatch(number["digits"]):
        return None
    whole, _, decimals = digits.partition(".")
    value = whole.lstrip("0") or "0"
    if decimals := decimals.rstrip("0"):
        value += f".{decimals}"
    negative = (number["sign"] or number["late"]) and value != "0"
    return f"-{value}" if negative else value


def _window(text: str) -> tuple[str, int]:
    """Return the end of a text, with one character more, and where the part to read begins."""
    window = text[-WINDOW - 1 :]
    return window, max(0, len(window) - WINDOW)


def _closing_brace(text: str, inside: int) -> int | None:
    """Return the place of the brace that closes the one before `inside`; None if it is far."""
    depth = 1
    for place in range(inside, min(len(text), inside + _MARK_LENGTH)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return None


def _unspaced(text: str) -> str:
    """Write `5 760 pens` and `5_760 pens` as `5,760 pens`, which is as long."""
    return _SPACED.sub(lambda groups: groups[1].replace(groups[2], ","), text)
