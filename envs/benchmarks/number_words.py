"""Words of English that spell a number or make another number of one."""

from __future__ import annotations

import re

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = {
    **{word: value for value, word in enumerate(_SMALL)},
    **{word: 10 * tens for tens, word in enumerate(_TENS, 2)},
}
MULTIPLES = {
    "dozen": 12,
    "hundred": 10**2,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
"""Words that multiply the number before them, with their values."""

CARDINAL = rf"(?:{'|'.join(_SMALL + _TENS)})s?"
MULTIPLE = (
    r"(?:(?:hundred|thousand|\w{1,12}illi(?:on|ard)|googol|dozen|dz|doz|score|grand|lakh|lac|crore"
    r"|myriad|thou|mega|giga|milli|micro|mil|bil|tril|mio|mln|mn|bln|bn|trn|tn|mrd|kk)s?|kilo"
    r"|gross)"
)
PART = (
    r"(?:half|halves|(?:third|quarter|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
    r"|\w{3,6}teenth|\w{3,5}tieth|hundredth|thousandth|\w{1,12}illionth)s?)"
)
MULTIPLIED = r"(?:twice|thrice|doubles?|triples?|trebles?|quadruples?)"
POWER = r"(?:squared|cubed|factorial|fold|doubled|tripled|trebled|quadrupled|halved)"
OPERATION = r"(?:mod|modulo|rem|div|divided|multiplied|plus|minus|upon|vs|versus|choose|raised)"
_WORD = re.compile(r"[a-z]+")


def spelled(words: str) -> int | None:
    """Return the whole number that words spell (`a dozen`, `twenty-one`); None for other words."""
    total = count = 0
    names = _WORD.findall(words.lower())
    for name in names:
        if name in _VALUES:
            count += _VALUES[name]
        elif name in MULTIPLES:
            count = (count or 1) * MULTIPLES[name]
            if name not in ("dozen", "hundred"):
                total, count = total + count, 0
        elif name not in ("a", "an", "and"):
            return None
    return total + count if any(name in _VALUES or name in MULTIPLES for name in names) else None
