"""What may stand beside a number that is an answer: nothing that changes its value.

Behind a number stands one of three things:

- nothing;
- a sign, a unit or a noun phrase that names what is counted: `12%`, `12 kg`, `12 red apples`;
- something that changes the value: another amount, with or without a joint (`12 to 14`,
  `5 hrs. 30 min.`), an operation (`12 plus tax`, `12 in base 3`), a multiple, share or power
  (`7 long dozen`, `7 tenths`, `7, doubled`) or a bound (`12 or more`, `12 at most`).

Only the third is no answer. A word that is not known names what is counted, and so does a word of
number before a noun: `12 third graders`, `12 half hours`, `12 ten-dollar bills`. The noun phrase
ends at a preposition, a verb or a conjunction, and what follows is a remark. A remark may tell how
the number came about (`12 (3 x 4)`) or spell it (`12 (twelve)`).

Before the number, back to the last `is`, `=`, `:` or comma, may stand any words but those of
shares, multiples, bounds and functions (`half of 12`, `between 6 and 7`, `max(12)`).
"""

from __future__ import annotations

import re
from unicodedata import category

from laconic.envs.benchmarks.number_words import (
    CARDINAL,
    MULTIPLE,
    MULTIPLIED,
    OPERATION,
    PART,
    POWER,
    spelled,
)

_NUMBER_WORD = rf"(?:{CARDINAL}|{MULTIPLE}|{PART}|{MULTIPLIED})"
_DIGITS = r"-?\$?\s*\.?[0-9]"
_AMOUNT = rf"(?:{_DIGITS}|{_NUMBER_WORD}(?![\w-]))"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_MULTIPLIES = _pattern(
    rf"[\s-]*(?:{MULTIPLE}|{PART}|{POWER}|(?-i:[kKMBT])|and\s+(?:a|{CARDINAL})\s+{PART})(?!\w)"
)
_SIGN = _pattern(r"(?:\s*(?:[%$\u00ba\u00b0\u00a2]|(?:percent|per\s+cent|pct)(?!\w)))+")
# `p.m.` and `sq.ft.` are words, and the full stop behind them ends no sentence.
_DOTTED = re.compile(r"(?<![A-Za-z.])([A-Za-z])\.([A-Za-z])(?![A-Za-z])\.?")
_WORD = re.compile(r"[\s-]*([^\W\d_]+(?:['-][^\W\d_]+)*)(?!\w)")
_UNREAD = re.compile(r"[\s-]*\w")
_HANGING = re.compile(r"\s*(?:-|square)\s*$|\.[0-9]|\s*\.\.+\s*\$?[0-9]")
# A sign or a letter that joins two amounts: `5 hours - 30 minutes`, `6 y 7`.
_SIGNED = _pattern(
    rf"\s*(?:[^\w\s.,;:!?()\[\]{{}}'\"]|(?!a\s)[^\W\d](?!\w))\s*\(?\s*(?:(?:an?|the)\s+)?{_AMOUNT}"
)
_BOUND = (
    r"(?:or\s+(?:up|more|fewer|less|greater|above|over|under|below|beyond|higher|lower"
    r"|better|larger|smaller|bigger)|at\s+(?:the\s+)?(?:least|most|minimum|maximum|min|max))(?!\w)"
)
# What goes on with another amount, or makes this one inexact, behind any word of a noun phrase.
_GOES_ON = _pattern(
    rf"\s*(?:{_BOUND}"
    r"|and\s+(?:up|more|above|over|beyond|some|change|counting|a\s+(?:bit|little))(?!\w)"
    r"|-?(?:and|&|or|to|by|through|thru|over|then|less|times|past|point)(?![\w-])"
    rf"\s*(?:(?:an?|the|about|of)\s+){{0,2}}{_AMOUNT}|(?:and|then)\s+{POWER}(?!\w)"
    rf"|(?:times\s+(?:\w+\s+){{1,2}})?(?:than|as)\s+{_DIGITS}[0-9.,]*(?!\s*[^\W\d])"
    rf"|(?:in\s+)?base\s+{_AMOUNT}|(?:below|under|beneath)\s+(?:zero|par|freezing|sea)(?!\w)"
    r"|\+\s*\w|(?:and|or|to|than|through|thru|until|till)\W*$)"
)
_INEXACT = _pattern(rf"\s*{_BOUND}")
# What makes an operation of a word right behind the number: `12 to`, `12 out`, `12 in` (inches).
_OPERAND = _pattern(
    r"\s*(?:(?:of|in|from|off|out|above|below|under|to|by|up|more|fewer|less|over|times|into"
    r"|through|until|till|than)(?!\w)\s*(?:(?:an?|the|of|by|to|than|every|each|about)\s+){0,2}"
    rf"(?:{_AMOUNT}|(?:\w+\s+)?power\b|itself\b|(?!a\b)[^\W\d](?!\w))"
    rf"|(?:per|every|each|an?)\s+(?:{_DIGITS}|{CARDINAL}(?![\w-])))"
)
# The value of a bill or a coin: `ten-dollar bills`, `hundred dollar bills`.
_DENOMINATION = _pattern(
    rf"[\s-]*{_NUMBER_WORD}[\s-]+(?:dollar|cent|pound|euro|peso)[\s-]+(?:bill|note|coin)s?(?!\w)"
)
_PAIRS = _pattern(r"pairs?(?!\w)(?!\s+of\s)")
_CHANGING = _pattern(rf"(?:{CARDINAL}|{MULTIPLE}|{OPERATION})")
_SHARE = _pattern(rf"(?:{PART}|{MULTIPLIED}|negative)")
_RAISED = _pattern(POWER)
_COINS = _pattern(r"quarters(?!\s+of\s+(?:an?|one)\s)")
_PLURAL = _pattern(r"(?:[\s-]+[^\W\d_]+){0,2}?[\s-]+(?:\w+(?<!s)s|people|children|men|women)(?!\w)")
_IRREGULAR = frozenset("people children men women feet fish sheep mice geese".split())
_PHRASE = 10
"""Words of a noun phrase that are read."""
_ENDS = frozenset(
    "a about across after against all along among an and are around as at away be because been"
    " before behind being between beyond but by can could did do does during each every for from"
    " had has have he her hers him his how i if in inside into is it its me might must my near not"
    " of off on onto or our out over per she should since so than that the their them then these"
    " they this those through throughout till times to toward towards under until up us was we"
    " were what when where whether which while who whom whose why will with within without would"
    " you your".split()
)
"""Words before which a noun phrase ends."""
_LETTERS = frozenset(
    "m g h s l L c C F V W N A J hz kg mg lb oz cm mm km mi ft yd ml dl cl gal qt pt hr am pm"
    " sq cu kb mb gb tb kw in ea pc wk mo yr".split()
)
"""Units of one letter, and of two glued to a number; others may be variables."""
_MEASURES = tuple(
    {name: rank for rank, names in enumerate(measure.split("|")) for name in names.split()}
    for measure in (
        "year yr|month mo|week wk|day|hour hr h|minute min m|second sec s",
        "dollar buck usd euro pound $|cent c penny pennie pence dime nickel \u00a2",
        "mile mi|yard yd|foot feet ft|inch inche in",
        "kilometer kilometre km|meter metre m|centimeter centimetre cm|millimeter millimetre mm",
        "ton tonne|kilogram kg|pound lb|ounce oz|gram g|milligram mg",
        "gallon gal|quart qt|pint pt|cup|liter litre l|milliliter millilitre ml",
    )
)
"""Units of a measure with their ranks, from the largest to the smallest."""
_SMALLER = _pattern(
    r"(?:[^0-9.;=]*?(?<!\w)(?:and|with|plus|then|&))?\s+\$?[0-9][0-9.,]*\s*(?P<unit>[a-z]+|\u00a2)"
)
_REMARK = _pattern(
    r"\s*(?P<mark>[,;:(\[]|[.!](?!\w))[\s(\[]*(?:(?:and|then|in|i\.?e\.?)\s+(?!up|more))?"
)
_SAID = _pattern(
    rf"(?:(?P<digits>{_DIGITS}[0-9.,]*)"
    rf"|(?P<words>(?:an?\s+)?{_NUMBER_WORD}(?:[\s-]+(?:and\s+)?{_NUMBER_WORD})*)(?![\w-]))"
)
_EXPLAINS = _pattern(r"\s*(?:of|as|that|the|what|checked)(?!\w)")
_WORKING = _pattern(
    r"[^;()\[\]]*?[0-9a-z]\s*(?:[^\w\s.,;:!?()\[\]'\"$%]|\\[a-z]+|(?:x|times|plus|minus)(?!\w))"
    r"\s*[$(]?\w"
)
_FRAGMENT = _pattern(r"(?:\s*[^\W\d_]+){0,2}\s*(?:[.!)\]]|$)")
_OPERATED = _pattern(
    rf"(?:(?:[*+\u00d7\u00f7/^]|x(?!\w)|times(?!\w)|{OPERATION}(?![\w-])|base(?!\w))\s*\(?\s*"
    rf"(?:by\s+)?{_AMOUNT}|(?:{POWER}|{MULTIPLE})(?![\w-])|{_BOUND})"
)
_ADDED = _pattern(r"(?:plus|minus)(?![\w-])")

_LABEL = _pattern(r"[=:,\u2190-\u21ff]|\b(?:is|are|was|were|be|equals?)\b")
_BEFORE = _pattern(
    rf"\b(?:{MULTIPLE}|{PART}|{MULTIPLIED}|(?:percent|per\s+cent|pct)\s+of|between|from|than|least"
    r"|most|under|below|above|over|until|beyond|within|out|square|cube|inverse|opposite|reciprocal"
    r"|root|sqrt|log|ln|exp|sin|cos|tan|factorial|absolute\s+value)"
    r"(?:\s+(?:of|as|an?|the|his|her|its|their|all|many|much))*[\s(\[-]*$"
    rf"|\b{PART}\s+(?:past|to|before|after|till)\s+$"
    r"|^\s*up\s+to\s+$|\bbetween\s+\S+\s+and\s+$|[^\W\d_]\($"
    rf"|\b(?:{CARDINAL}|{MULTIPLE})[\s-]+(?:(?:and|or|to|through|point|by|times|plus|minus)\s+)?$"
)
_NEARLY = frozenset("~\u223c\u2243\u2245\u2248")
_FIRST = _pattern(
    r"(?<![\w.,$])(?P<dollar>\$?)[0-9][0-9.,]*\s*(?P<unit>(?!(?:and|with|plus|to)\s)[a-z]*)"
    r"\.?,?\s*(?P<joint>(?:and|with|plus|to)(?!\w))?\s*$"
)
_FROM = _pattern(r"\b(?:from|between)\s+$")
_UNIT = _pattern(r"\s*([a-z]+|\u00a2)")


def changed_before(text: str) -> bool:
    """Return whether the words up to a number make another number of it."""
    clause = text[max((label.end() for label in _LABEL.finditer(text)), default=0) :]
    signs = any(sign == "|" or (_is_operator(sign) and sign not in _NEARLY) for sign in clause)
    return signs or _BEFORE.search(clause) is not None


def joined(before: str, behind: str) -> bool:
    """Return whether a number is the second one of an amount or of a range.

    Args:
        before: text up to the number.
        behind: text from the end of the number on.
    """
    first, unit = _FIRST.search(before), _UNIT.match(behind)
    if first is None:
        return False
    name, other = first["unit"] or first["dollar"], unit[1] if unit else ""
    if (first["joint"] or "").lower() == "to":
        # `from 9 to 12` tells where something ends.
        alike = first["unit"].lower() in ("", other.lower())
        return alike and _FROM.search(before[: first.start()]) is None
    return _is_part(other, name)


def changed_behind(text: str, value: str, money: bool) -> bool:
    """Return whether what stands behind a number makes another number of it.

    Args:
        text: text from the end of the number on.
        value: the number in plain form.
        money: whether a currency sign stands before the number.
    """
    text = _DOTTED.sub(r"\1\2", text)
    sign = _SIGN.match(text)
    if not sign and _is_factor(text, money):
        return True
    return changed_by_phrase(text[sign.end() :] if sign else text, value, money)


def changed_by_phrase(text: str, value: str, money: bool = False) -> bool:
    """Return whether a noun phrase behind a number, or a remark behind that, changes the number.

    Args:
        text: text from the noun phrase on.
        value: the number in plain form.
        money: whether a currency sign stands beside the number.
    """
    if _is_operator(text.lstrip()[:1]) or _OPERAND.match(text) or _HANGING.match(text):
        return True
    place = 0
    units, counted, over = ["$"] if money else [], False, False
    for _ in range(_PHRASE):
        # Behind a noun and another word, as in `24 students scored`, an amount is not joined to it.
        if not over and (_SIGNED.match(text, place) or _GOES_ON.match(text, place)):
            return True
        if not over and (denomination := _DENOMINATION.match(text, place)):
            place, counted = denomination.end(), True
            continue
        word = _WORD.match(text, place)
        if word is None or word[1].lower() in _ENDS:
            break
        if not over and _is_change(text, word, value, units):
            return True
        over = counted
        counted = counted or _is_noun(word[1])
        units += [] if over else [word[1]]
        place = word.end()
    if _INEXACT.match(text, place) or (not over and _UNREAD.match(text, place) and word is None):
        return True
    smaller = _SMALLER.match(text, place)
    if smaller and any(_is_part(smaller["unit"], unit) for unit in units):
        return True
    return _is_changed_by_remark(text, place, value, units, over)


def multiplied(text: str) -> bool:
    """Return whether the words behind a number multiply or raise it, as in `7 million`."""
    return _MULTIPLIES.match(text) is not None


def _is_factor(text: str, money: bool) -> bool:
    """Return whether the letters right behind a number may be a variable or a multiple."""
    word = _WORD.match(text)
    glued = word is not None and word.start(1) == 0
    if word is None or (word[1].lower() == "a" and not glued):
        return False
    if money:
        # `$6m` and `$6 MM` are millions.
        return len(word[1]) == 1 or word[1].lower() == "mm"
    letters = word[1] if len(word[1]) == 1 else word[1].lower()
    return len(letters) <= 1 + glued and letters not in _LETTERS


def _is_change(text: str, word: re.Match[str], value: str, before: list[str]) -> bool:
    """Return whether a word of a noun phrase changes the value of the number before it."""
    name, parts = word[1], word[1].split("-")
    if len(parts) > 1:
        # `half-million` is a number, `half-dollars` are coins, and `ten-dollar bills` are bills.
        kinds = (_CHANGING, _SHARE, _RAISED)
        return all(any(kind.fullmatch(part) for kind in kinds) for part in parts)
    if name.lower() in ("score", "ones"):
        # `7 score` is a multiple, and `318 combined score` and `10 blue ones` count.
        return not before
    if _CHANGING.fullmatch(name) or _PAIRS.match(text, word.start(1)):
        return True
    if _RAISED.fullmatch(name):
        # `12 meters squared`
        return not (before and any(_singular(before[-1]) in measure for measure in _MEASURES))
    if not _SHARE.fullmatch(name):
        return False
    if name.lower().endswith("s") or name.lower() == "halves":
        return _COINS.match(text, word.start(1)) is None
    return value in ("1", "-1") or _PLURAL.match(text, word.end()) is None


def _is_changed_by_remark(text: str, place: int, value: str, units: list[str], over: bool) -> bool:
    """Return whether a remark behind a noun phrase begins with another amount or an operation."""
    remark = _REMARK.match(text, place)
    if remark is None:
        return False
    place, stop, bracket = remark.end(), remark["mark"] in ".!", remark["mark"] in "(["
    if _OPERATED.match(text, place) or (not stop and _ADDED.match(text, place)):
        return True
    said = _SAID.match(text, place)
    if said is None:
        return False
    if said["digits"]:
        number = said["digits"].replace(",", "").rstrip(".").lstrip("$ ")
    else:
        number = str(spelled(said["words"]))
    if number == value or (said["words"] and _EXPLAINS.match(text, said.end())):
        return False
    if said["digits"] and (stop or bracket) and _WORKING.match(text, place):
        return False
    if stop:
        return _FRAGMENT.match(text, said.end()) is not None
    unit = _UNIT.match(text, said.end())
    if units and unit and (over or bracket):
        # `60 minutes (1 hour)`, and `15 years old, 5 years younger than Bob`
        alike = bracket and _singular(unit[1]) == _singular(units[-1])
        return alike or any(_is_part(unit[1], larger) for larger in units)
    return not (units and bracket and text[said.end() : said.end() + 1] == "%")


def _is_part(unit: str, larger: str) -> bool:
    """Return whether a unit measures what a larger one leaves, as minutes do behind hours."""
    small, large = _singular(unit), _singular(larger)
    return any(measure.get(small, -1) > measure.get(large, 9) for measure in _MEASURES)


def _singular(word: str) -> str:
    name = word.lower()
    return name[:-1] if len(name) > 1 and name.endswith("s") else name


def _is_noun(word: str) -> bool:
    name = word.lower()
    plural = len(name) > 2 and name.endswith("s") and not name.endswith("ss")
    return plural or name in _IRREGULAR or any(_singular(name) in measure for measure in _MEASURES)


def _is_operator(sign: str) -> bool:
    return bool(sign) and category(sign) == "Sm" and not "\u2190" <= sign <= "\u21ff"
