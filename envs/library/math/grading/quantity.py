r"""Reading a single quantity: an exact number, its unit, or words.

Answers are exact: a decimal is the fraction it spells, so `0.333` is not one third. Percent signs,
degrees and other units are annotations: `50\%` equals `50` and `3\text{ cm}` equals `3`, but two
different units never agree. Words that change the number are no unit: `7\text{ million}` is
`7000000`, and `7\text{ pairs}` is no number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from laconic.envs.benchmarks.number_words import MULTIPLES
from laconic.envs.library.gsm8k.beside import changed_by_phrase
from laconic.envs.library.math.grading.latex import DROW, WORD, squeezed

_MAX_DIGITS = 60
_MAX_POWER = 60
_INTEGER = r"[0-9]{1,60}"
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DECIMAL = re.compile(rf"(?:{_INTEGER}\.?[0-9]{{0,60}}|\.[0-9]{{1,60}})")
_FRACTION = re.compile(
    rf"(?P<whole>{_INTEGER})?\\frac\{{(?P<above>-?{_INTEGER})\}}\{{(?P<below>-?{_INTEGER})\}}"
)
_SLASH = re.compile(rf"\(?(?P<above>-?{_INTEGER})\)?/\(?(?P<below>-?{_INTEGER})\)?")
_MIXED = re.compile(rf"(?P<whole>{_INTEGER}) +(?P<above>{_INTEGER}) ?/ ?(?P<below>{_INTEGER})")
_REPEATING = re.compile(
    r"(?P<whole>[0-9]{0,20})\.(?P<once>[0-9]{0,20})\\overline\{(?P<again>[0-9]{1,20})\}"
)
_SCIENCE = re.compile(r"(?P<number>.+?)\\(?:times|cdot)10\^\{?(?P<power>-?[0-9]{1,2})\}?")
_NOT_LETTERS = re.compile(r"""[\s(){}\[\]\\"'`,;!_]|(?<![0-9])\.|\.(?![0-9])""")
_BASED = re.compile(
    r"(?P<digits>-?[0-9A-Za-z]{1,60}(?:\.[0-9A-Za-z]{1,60})?)_\{?(?P<base>[0-9]{1,2}|[a-z]+)\}?"
)
_BASES = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}

_MARKED_UNIT = re.compile(
    rf"\s*{WORD}(?P<unit>[^{WORD}{DROW}]*){DROW}\s*(?P<power>\^[23])?$|(?P<degree>\s*\^\\circ)$"
)
_MODULUS = re.compile(rf"\s*{WORD}mod (?P<modulus>[0-9]+){DROW}$")
_MULTIPLE = re.compile(
    rf"(?P<number>.*[0-9}}])\s*(?P<word>[{WORD} ])\s*(?P<multiple>{'|'.join(MULTIPLES)})s?(?![\w-])"
)
_MAX_MULTIPLES = 3
_PER = re.compile(
    r"(?<=[0-9}\s])\s*(?P<above>[A-Za-z]{0,12})\s*/\s*(?P<below>[A-Za-z]{1,12})(?P<power>\^[23])?$"
)
_PLAIN_UNIT = re.compile(
    r"(?<=[0-9}\s])\s*(?P<unit>[A-Za-z][A-Za-z.]+(?:[ .]+[A-Za-z][A-Za-z.]+){0,3})\s*"
    r"(?P<power>\^[23])?$"
)
_NO_UNITS = frozenset(
    "hundred thousand million billion trillion dozen half pi sqrt squared".split()
)
_REMARKS = frozenset("no not or but is wait actually instead maybe".split())
_MAX_UNIT_WORDS = 6
_SAME = {
    alias: name
    for name, aliases in {
        "cm": "cm centimeter centimetre",
        "mm": "mm millimeter millimetre",
        "km": "km kilometer kilometre",
        "m": "m meter metre",
        "inch": "in inch inches",
        "foot": "ft foot feet",
        "yard": "yd yard",
        "mile": "mi mile",
        "second": "s sec second",
        "minute": "min minute",
        "hour": "h hr hour",
        "day": "day",
        "week": "week",
        "month": "month",
        "year": "year yr",
        "dollar": "dollar usd",
        "cent": "cent",
        "percent": "percent",
        "degree": "degree deg",
        "gram": "g gram",
        "kilogram": "kg kilogram",
        "pound": "pound lb",
        "ounce": "ounce oz",
        "liter": "l liter litre",
        "gallon": "gallon",
        "am": "a.m. am a.m",
        "pm": "p.m. pm p.m",
        "mile/hour": "mph",
        "km/hour": "kph kmh",
    }.items()
    for alias in aliases.split()
}
_FUNCTIONS = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)(?![a-z])")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A single quantity, taken apart."""

    text: str
    """Its value without unit, white space and marks of words."""
    number: Fraction | None
    """The exact number that the text spells, if it spells one."""
    unit: str
    """Its unit by one name; empty without one, and for units that are not known."""
    words: bool
    """True if the value consists of words, which are compared letter by letter."""


def quantity(tidied: str) -> Quantity:
    """Split a tidied answer that is neither list nor matrix into value and unit."""
    value, unit = _split_unit(_multiplied(tidied.strip()))
    words = WORD in value or bool(re.fullmatch(r"[A-Z]{2,}|[A-Z]?[a-z]{3,}[A-Za-z ]*", value))
    number = None if words else rational(value)
    text = squeezed(value)
    if words:
        text = letters(text)
    return Quantity(text, number, unit, words)


def letters(text: str) -> str:
    """Words as they are compared: without case, spaces, brackets and punctuation."""
    return _NOT_LETTERS.sub("", text).casefold()


def rational(text: str) -> Fraction | None:
    """Return the exact number of a tidied text: whole, decimal, fraction or mixed, or None."""
    text = text.strip().removeprefix("+").strip()
    negative = text.startswith("-")
    bare = text.removeprefix("-").strip()
    match = _MIXED.fullmatch(bare)
    value = _mixed(match) if match else _unsigned("".join(bare.split()))
    return -value if negative and value is not None else value


def based(text: str) -> tuple[str, int] | None:
    """Return the digits and the base of a number written like `1011_2`; None for other texts."""
    match = _BASED.fullmatch(text)
    if not match:
        return None
    base = _BASES.get(match["base"]) or (int(match["base"]) if match["base"].isdigit() else 0)
    return (match["digits"].upper(), base) if 2 <= base <= 36 else None


def in_base(digits: str, base: int) -> int | None:
    """Return the number that digits spell in a base; None if a digit is too large."""
    try:
        return int(digits, base)
    except ValueError:
        return None


def _unsigned(text: str) -> Fraction | None:
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    if _DECIMAL.fullmatch(text) and len(text) <= _MAX_DIGITS:
        return Fraction(text.rstrip(".") if text.endswith(".") else text)
    match = _FRACTION.fullmatch(text)
    if match:
        return _mixed(match)
    match = _SLASH.fullmatch(text)
    if match and int(match["below"]):
        return Fraction(int(match["above"]), int(match["below"]))
    match = _REPEATING.fullmatch(text)
    if match:
        # 0.1666... is 1/10 and 6/9 of a tenth.
        once = int(match["whole"] + match["once"] or 0)
        again = Fraction(int(match["again"]), 10 ** len(match["again"]) - 1)
        return Fraction(once + again, 10 ** len(match["once"]))
    match = _SCIENCE.fullmatch(text)
    if match and abs(int(match["power"])) <= _MAX_POWER and "\\times" not in match["number"]:
        number = rational(match["number"]) if "cdot" not in match["number"] else None
        return None if number is None else number * Fraction(10) ** int(match["power"])
    return None


def _mixed(match: re.Match[str]) -> Fraction | None:
    if not int(match["below"]):
        return None
    return int(match["whole"] or 0) + Fraction(int(match["above"]), int(match["below"]))


def _multiplied(text: str) -> str:
    """Write `7 million dollars` as `7000000 dollars`; keep texts without a multiple in words."""
    for _ in range(_MAX_MULTIPLES):
        match = _MULTIPLE.match(text)
        number = rational(match["number"]) if match else None
        if match is None or number is None:
            break
        rest = (match["word"] + text[match.end() :]).replace(f"{WORD}{DROW}", "")
        text = f"{number * MULTIPLES[match['multiple']]}{rest}".strip()
    return text


def _split_unit(text: str) -> tuple[str, str]:
    """Split a quantity into its value and the name of its unit, which may be empty.

    The unit of a remainder is its modulus, so two different ones never agree.
    """
    if modulus := _MODULUS.search(text):
        value = text[: modulus.start()].strip()
        remainder = rational(value)
        whole = remainder is not None and remainder.denominator == 1
        if remainder is None or not whole or not 0 <= remainder < int(modulus["modulus"]):
            return text, ""
        return value, f"mod {int(modulus['modulus'])}"
    marked = _MARKED_UNIT.search(text)
    if marked and (value := text[: marked.start()].strip()) and value[-1] not in "+-_^/,=\\":
        if marked["degree"]:
            return (text, "") if _FUNCTIONS.search(text) else (value, "degree")
        if _is_remark(marked["unit"]):
            return text, ""
        return value, _unit(marked["unit"], marked["power"])
    per = _PER.search(text)
    if per and (value := text[: per.start("above")].strip()) and rational(value) is not None:
        # Letters under a line may be variables, unless they name a unit.
        below = _unit(per["below"], per["power"])
        return (value, _unit(f"{per['above']} per {per['below']}", None)) if below else (text, "")
    plain = _PLAIN_UNIT.search(text)
    if plain and (value := text[: plain.start("unit")].strip()):
        words = set(plain["unit"].lower().split())
        min_letters = 3 if text[plain.start("unit") - 1].isspace() else 4
        # `6xy` is a product, and `6cm` is not.
        is_name = len(plain["unit"]) >= min_letters or _unit(plain["unit"], None)
        is_unit = is_name and not words & _NO_UNITS and not _is_remark(plain["unit"])
        if is_unit and rational(value) is not None:
            return value, _unit(plain["unit"], plain["power"])
    return text, ""


def _is_remark(words: str) -> bool:
    """Return whether words after a number say more than a unit: another number, or a doubt."""
    parts = words.lower().replace(",", " ").split()
    return (
        len(parts) > _MAX_UNIT_WORDS
        or bool(re.search("[0-9]", words))
        or bool(_REMARKS & {*parts})
        or changed_by_phrase(f" {words}", "2")
    )


def _unit(words: str, power: str | None) -> str:
    """Return the standard name of a unit, with its power: `in^2` is `inch^2`.

    A unit per another has both names, as in `mile/hour`; it is empty if either is unknown.
    """
    above, per, below = words.lower().replace("/", " per ").partition(" per ")
    if per:
        names = _unit(above, None), _unit(below, power)
        return "/".join(names) if all(names) else ""
    dimension = {"^2": 2, "^3": 3}.get(power or "", 1)
    name = ""
    for word in above.replace("sq.", "square").replace(",", " ").split():
        if word in ("square", "sq", "cubic", "cu"):
            dimension = 2 if word.startswith("s") else 3
        else:
            standard = _SAME.get(word) or _SAME.get(word.removesuffix("s"))
            if standard is None:
                return ""
            name += standard
    return f"{name}^{dimension}" if name and dimension > 1 else name
