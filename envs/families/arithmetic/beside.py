"""What may stand beside a number that is an answer: nothing that changes its value.

Behind the number may stand a sign (`%`, `$`), a unit (`12 red apples`, `12 kg`, `12 fish`) or a
word with which the sentence goes on (`12 left`, `12 because ...`). A unit is a plural, an irregular
one or an abbreviation. Any other word is taken for a multiplier, since English has new ones (`7
grand`, `7 mio`). So is a unit with a second amount behind it (`12 dollars and 50 cents`).

Before the number, back to the last `is`, `=`, `:` or comma, may stand any words but those of
shares, multiples and bounds (`half of 12`, `between 6 and 7`).
"""

from __future__ import annotations

import re
from unicodedata import category

_CARDINAL = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)s?"
)
_MULTIPLE = (
    r"(?:(?:hundred|thousand|\w{1,12}illi(?:on|ard)|googol|dozen|dz|doz|score|grand|lakh|lac|crore"
    r"|myriad|thou|mega|giga|milli|micro|mil|bil|tril|mio|mln|mn|bln|bn|trn|tn|mrd|k)s?|kilo|gross)"
)
_PART = (
    r"(?:half|halves|(?:third|quarter|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
    r"|\w{3,6}teenth|\w{3,5}tieth|hundredth|thousandth|\w{1,12}illionth)s?)"
)
_MULTIPLIED = r"(?:twice|thrice|doubles?|triples?|trebles?|quadruples?)"
_POWER = r"(?:squared|cubed|factorial|fold|doubled|tripled|trebled|quadrupled|halved)"
_OPERATION = r"(?:mod|modulo|rem|div|divided|multiplied|minus|upon|vs|versus|choose|raised|point)"
_NUMBER_WORD = rf"(?:{_CARDINAL}|{_MULTIPLE}|{_PART}|{_MULTIPLIED})"
_CHANGES = re.compile(rf"(?:{_NUMBER_WORD}|{_POWER}|{_OPERATION})(?!\w)", re.IGNORECASE)
_MULTIPLIES = re.compile(
    rf"[\s-]*(?:{_MULTIPLE}|{_PART}|{_POWER}|(?-i:[kKMBT])|and\s+(?:a|{_CARDINAL})\s+{_PART})(?!\w)",
    re.IGNORECASE,
)
_DIGITS = r"-?\$?\s*\.?[0-9]"
_AMOUNT = rf"(?:{_DIGITS}|(?:{_NUMBER_WORD})(?!\w))"
# A second amount: at once, or behind a sign or letter that joins the two.
_JOINING = (
    r"(?:[^\w\s.,;:!?()\[\]{}'\"]\s*\(?|[^\W\d](?!\w)\s*\(?"
    r"|(?:and|or|to|by|through|thru|plus|minus|less|times|mod|over)(?!\w))\s*(?:(?:an?|the)\s+)?"
)
_SECOND = re.compile(
    rf"[\s,;:&]*(?:{_DIGITS}|(?:{_CARDINAL}|{_MULTIPLE})(?!\w)|{_JOINING}{_AMOUNT})|\s+{_AMOUNT}",
    re.IGNORECASE,
)
# What makes an operation of a word before it: `12 to`, `12 out`, `12 in` (inches).
_OPERAND = re.compile(
    rf"\s*(?:(?:an?|the|of|by|to|than|every|each|about)\s+){{0,2}}"
    rf"(?:{_AMOUNT}|(?:\w+\s+)?power\b|itself\b|(?!a\b)[^\W\d](?!\w))",
    re.IGNORECASE,
)
_SIGN = re.compile(r"(?:\s*(?:[%$]|(?:percent|pct)(?!\w)))+", re.IGNORECASE)
_BRACKET = re.compile(r"\s*\(\s*(?:in\s+)?", re.IGNORECASE)
_WORD = re.compile(r"[\s-]*([^\W\d_]+)(?!\w)")
_ADJECTIVES = 4
"""Words before the noun of a unit, and that noun, that are read."""
_SHORTEST = 3
"""Letters of the shortest adjective, and of the shortest plural that is no known unit."""
_GOES_ON = frozenset(
    "after again ago all altogether apiece are as at away back because before but can change"
    " cheaper combined daily deep during exactly extra for had has have high hourly if is later"
    " left leftover long now old older on only overall profit remain remaining short since so"
    " still such tall that then there therefore these this thus today together tomorrow total was"
    " weekly were when where which while who wide will with within worth would yearly yesterday"
    " younger".split()
)
"""Words with which a sentence goes on behind a number without a unit."""
_JOINS = frozenset(
    "a an and by each every fewer from in into less more of or out over per plus than through to"
    " until up times".split()
)
"""Words with which it goes on, too, unless another amount follows."""
# Plurals without an `s`, units in the singular, and their abbreviations.
_UNITS = frozenset(
    "people children grandchildren men women policemen firemen feet teeth geese mice dice fish"
    " goldfish swordfish fruit candy shrimp salmon tuna sheep deer moose cattle oxen elk bison"
    " aircraft pence dollar buck euro pound cent penny rupee yen yuan peso franc usd eur gbp inr"
    " jpy cad aud hour minute second day week month year inch foot yard mile meter metre kilometer"
    " kilometre centimeter centimetre millimeter millimetre liter litre milliliter millilitre gram"
    " kilogram milligram ounce ton tonne gallon quart pint cup degree person kg g mg lb oz cm mm m"
    " km mi ft yd l L ml dl cl gal qt pt h hr min s sec am pm mph kmh kph fps rpm wpm bpm cal kcal"
    " sq cu kb mb gb tb kw kwh mw mwh".split()
)
_LABEL = re.compile(r"[=:,\u2190-\u21ff]|\b(?:is|are|was|were|be|equals?)\b", re.IGNORECASE)
_BEFORE = re.compile(
    rf"\b(?:{_MULTIPLE}|{_PART}|{_MULTIPLIED}|between|from|than|least|most|under|below|above|over"
    r"|until|beyond|within|out|square|cube|inverse|opposite|reciprocal|root|sqrt|log|ln|exp|sin|cos"
    r"|tan|factorial)(?:\s+(?:of|as|an?|the|his|her|its|their|all|many|much))*[\s(\[-]*$"
    r"|^\s*up\s+to\s+$|\bbetween\s+\S+\s+and\s+$"
    rf"|\b(?:{_CARDINAL}|{_MULTIPLE})[\s-]+(?:(?:and|or|to|through|point|by|times|plus|minus)\s+)?$",
    re.IGNORECASE,
)


def changed_before(text: str) -> bool:
    """Return whether the words up to a number make another number of it."""
    clause = text[max((label.end() for label in _LABEL.finditer(text)), default=0) :]
    signs = any(sign == "|" or category(sign) == "Sm" for sign in clause)
    return signs or _BEFORE.search(clause) is not None


def changed_behind(text: str, value: str, money: bool) -> bool:
    """Return whether what stands behind a number makes another number of it.

    Args:
        text: text from the end of the number on.
        value: the number in plain form; behind 1 a unit has no plural.
        money: whether a currency sign stands before the number, which then has a unit.
    """
    if sign := _SIGN.match(text):
        text = text[sign.end() :]
    if _is_operator(text.lstrip()[:1]) or _SECOND.match(text):
        return True
    if bracket := _BRACKET.match(text):
        return _CHANGES.match(text, bracket.end()) is not None
    place, one = 0, value in ("1", "-1")
    for count in range(_ADJECTIVES):
        word = _WORD.match(text, place)
        if word is None:
            unread = re.match(r"[\s-]*\w", text[place:]) is not None
            return unread or count > 0
        name, place = word[1], word.end()
        if _CHANGES.match(name):
            return True
        if count == 0 and name.lower() in _GOES_ON:
            return False
        if count == 0 and name.lower() in _JOINS:
            return _OPERAND.match(text, place) is not None
        if ((money or one) and len(name) >= _SHORTEST) or (_is_unit(name) and not money):
            return _SECOND.match(text, place) is not None
        if len(name) < _SHORTEST:
            return True
    return True


def multiplied(text: str) -> bool:
    """Return whether the words behind a number multiply or raise it, as in `7 million`."""
    return _MULTIPLIES.match(text) is not None


def _is_operator(sign: str) -> bool:
    return bool(sign) and category(sign) == "Sm" and not "\u2190" <= sign <= "\u21ff"


def _is_unit(word: str) -> bool:
    name = word.lower()
    plural = len(name) >= _SHORTEST and name.endswith("s") and not name.endswith("ss")
    # `6m` is a length, and `6M` are millions.
    return plural or (word if len(word) == 1 else name) in _UNITS
