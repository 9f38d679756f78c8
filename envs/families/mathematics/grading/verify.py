"""Asking math-verify whether two expressions are equal. Imported by graders' own processes only.

math-verify guards itself with a signal that works in no thread and stops no long multiplication;
here its guards are off and the process around it is killed instead.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import Any

from math_verify import LatexExtractionConfig, parse, verify
from sympy import Expr, I, Rational

logging.getLogger("math_verify").setLevel(logging.CRITICAL)

# Units were taken off before; the library would take `t` and `m` for some, which are variables.
_WITHOUT_UNITS = replace(LatexExtractionConfig().normalization_config, units=False)
_READER = (LatexExtractionConfig(boxed_match_priority=0, normalization_config=_WITHOUT_UNITS),)
_DECIMAL = re.compile(r"(?<![\d.])(\d{0,30})\.(\d{1,30})(?![\d.])")
_MAX_CHARACTERS = 300
_DIGITS = 30
_TOLERANCE = Rational(1, 10**12)


def expressions_equal(gold: str, answer: str) -> bool:
    """Return whether two expressions are equal; unreadable expressions equal nothing.

    Decimals are handed over as the fractions they spell, because math-verify rounds them.
    """
    if max(len(gold), len(answer)) > _MAX_CHARACTERS:
        return False
    try:
        expected, got = _parsed(gold), _parsed(answer)
        if not (expected and got and verify(expected, got, timeout_seconds=None)):
            return False
        return not _apart(expected[0], got[0])
    except (Exception, RecursionError, MemoryError):
        # The library fails in as many ways as there are texts; each means: not known to be equal.
        return False


def same_form(one: str, other: str) -> bool:
    """Return whether two expressions are alike after arithmetic and cancellation.

    So `x + 0`, `(x)^1` and `2x/2` have the form of `x`; products stay apart from sums.
    """
    if max(len(one), len(other)) > _MAX_CHARACTERS:
        return False
    try:
        first, second = _parsed(one), _parsed(other)
        return bool(first and second) and _evaluated(first[0]) == _evaluated(second[0])
    except (Exception, RecursionError, MemoryError):
        # As above: what cannot be read is like nothing.
        return False


def _evaluated(tree: Any) -> Any:
    if not isinstance(tree, Expr) or not tree.args:
        return tree
    return tree.func(*map(_evaluated, tree.args))


def _apart(expected: Any, got: Any) -> bool:
    """Return whether two expressions differ in value although the library calls them equal.

    The library takes differences below some size for none, so that tiny numbers are all alike.
    """
    if not (isinstance(expected, Expr) and isinstance(got, Expr)):
        return False
    symbols = sorted(expected.free_symbols | got.free_symbols, key=str)
    point = {symbol: Rational(37 + 12 * index, 29) for index, symbol in enumerate(symbols)}
    first, second = (expression.doit().subs(point).evalf(_DIGITS) for expression in (expected, got))
    if not (first.is_number and second.is_number and first.is_finite and second.is_finite):
        return False
    return bool(abs(first - second) > _TOLERANCE * max(abs(first), abs(second)))


def _parsed(text: str) -> list[Any]:
    exact = _DECIMAL.sub(_fraction, text)
    expressions = parse(
        rf"\boxed{{{exact}}}",
        extraction_config=_READER,
        fallback_mode="no_fallback",
        parsing_timeout=None,
    )
    return [
        _with_imaginary_unit(expression)
        for expression in expressions
        if not isinstance(expression, str)
    ]


def _with_imaginary_unit(tree: Any) -> Any:
    """Replace the variable `i` of an expression by the imaginary unit."""
    if not isinstance(tree, Expr):
        return tree
    return tree.subs({symbol: I for symbol in tree.free_symbols if str(symbol) == "i"})


def _fraction(match: re.Match[str]) -> str:
    whole, decimals = match[1], match[2]
    return rf"\frac{{{int(whole + decimals)}}}{{{10 ** len(decimals)}}}"
