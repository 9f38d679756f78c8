"""Comparison of two expressions by math-verify, imported only by the grader processes.

math-verify limits its time by a signal, which fails in threads and during long multiplications.
Here its limits are off, and the grader process is killed instead.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import Any

from math_verify import LatexExtractionConfig, parse, verify
from sympy import Expr, I, Rational

logging.getLogger("math_verify").setLevel(logging.CRITICAL)

# Units were removed before; the library would mistake the variables `t` and `m` for units.
_WITHOUT_UNITS = replace(LatexExtractionConfig().normalization_config, units=False)
_READER = (LatexExtractionConfig(boxed_match_priority=0, normalization_config=_WITHOUT_UNITS),)
_DECIMAL = re.compile(r"(?<![\d.])(\d{0,30})\.(\d{1,30})(?![\d.])")
_MAX_CHARACTERS = 300
_DIGITS = 30
_TOLERANCE = Rational(1, 10**12)


def expressions_equal(gold: str, answer: str) -> bool:
    """Return whether two expressions are equal; unreadable expressions equal nothing.

    Decimals are passed as exact fractions, because math-verify rounds decimals.
    """
    if max(len(gold), len(answer)) > _MAX_CHARACTERS:
        return False
    try:
        expected, got = _parsed(gold), _parsed(answer)
        if not (expected and got and verify(expected, got, timeout_seconds=None)):
            return False
        return not _apart(expected[0], got[0])
    except (Exception, RecursionError, MemoryError):
        # The library can fail with any error; the expressions then do not count as equal.
        return False


def same_form(first: str, second: str) -> bool:
    """Return whether two expressions are equal after arithmetic and cancellation.

    So `x + 0`, `(x)^1` and `2x/2` have the form of `x`. Products are not expanded to sums.
    """
    if max(len(first), len(second)) > _MAX_CHARACTERS:
        return False
    try:
        trees = _parsed(first), _parsed(second)
        return all(trees) and _evaluated(trees[0][0]) == _evaluated(trees[1][0])
    except (Exception, RecursionError, MemoryError):
        # As above.
        return False


def _evaluated(tree: Any) -> Any:
    if not isinstance(tree, Expr) or not tree.args:
        return tree
    return tree.func(*map(_evaluated, tree.args))


def _apart(expected: Any, got: Any) -> bool:
    """Return whether two expressions differ in value although the library calls them equal.

    The library ignores differences below some size, so all tiny numbers are equal to it.
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
