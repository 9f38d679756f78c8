r"""Reading simple LaTeX as sympy does, without any grader: what re-forms of answers are made from.

Whole numbers, single letters, `+ - / ^`, brackets, `\frac`, `\sqrt`, `\pi` and `\cdot`; anything
else is not read, so that a re-form is never made from a guess.
"""

from __future__ import annotations

import re
from functools import lru_cache

import sympy

_TOKEN = re.compile(r"\\[A-Za-z]+|[0-9]+|[a-zA-Z]|[-+/^(){}]")
_KNOWN = frozenset((r"\frac", r"\sqrt", r"\pi", r"\cdot"))
_NAMES = {"i": sympy.I, r"\pi": sympy.pi}


@lru_cache(maxsize=4096)
def expression(latex: str) -> sympy.Expr | None:
    """Return the value of an expression; None if it has parts that are not read here."""
    bare = re.sub(r"\\(?:left|right|!|,|;|:)|\\ |\s", "", re.sub(r"\\[dt]frac", r"\\frac", latex))
    tokens = _TOKEN.findall(bare)
    commands = {token for token in tokens if token[0] == "\\"}
    # Of `f(x)` nobody can tell whether it is a product.
    if "".join(tokens) != bare or not tokens or commands - _KNOWN or re.search(r"[a-zA-Z]\(", bare):
        return None
    try:
        value, rest = _sum(tokens)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    return value if not rest and value.is_finite is not False else None


def agree(first: sympy.Expr, second: sympy.Expr) -> bool:
    """Return whether two expressions have one value, at a point that no row was made for."""
    symbols = sorted(first.free_symbols | second.free_symbols, key=str)
    point = {symbol: sympy.Rational(37 + 12 * place, 29) for place, symbol in enumerate(symbols)}
    apart = abs(sympy.N((first - second).subs(point), 30))
    return bool(apart < sympy.Float(10) ** -20)


def _sum(tokens: list[str]) -> tuple[sympy.Expr, list[str]]:
    total, sign = sympy.Integer(0), 1
    if tokens[0] in "+-":
        sign, tokens = (-1 if tokens[0] == "-" else 1), tokens[1:]
    while True:
        term, tokens = _product(tokens)
        total += sign * term
        if not tokens or tokens[0] not in "+-":
            return total, tokens
        sign, tokens = (-1 if tokens[0] == "-" else 1), tokens[1:]


def _product(tokens: list[str]) -> tuple[sympy.Expr, list[str]]:
    value, tokens = _power(tokens)
    while tokens and tokens[0] not in (*"+-)}",):
        divides = tokens[0] == "/"
        factor, tokens = _power(tokens[1:] if divides or tokens[0] == r"\cdot" else tokens)
        value = value / factor if divides else value * factor
    return value, tokens


def _power(tokens: list[str]) -> tuple[sympy.Expr, list[str]]:
    base, tokens = _atom(tokens)
    if tokens and tokens[0] == "^":
        exponent, tokens = _argument(tokens[1:])
        base = base**exponent
    return base, tokens


def _argument(tokens: list[str]) -> tuple[sympy.Expr, list[str]]:
    """Read the argument of a command: a group, or else one digit or letter."""
    if tokens[0].isdigit() and len(tokens[0]) > 1:
        tokens = [tokens[0][0], tokens[0][1:], *tokens[1:]]
    return _atom(tokens)


def _atom(tokens: list[str]) -> tuple[sympy.Expr, list[str]]:
    token, rest = tokens[0], tokens[1:]
    if token in "({":
        value, rest = _sum(rest)
        if rest[0] != {"(": ")", "{": "}"}[token]:
            raise ValueError(token)
        return value, rest[1:]
    if token == r"\frac":
        above, rest = _argument(rest)
        below, rest = _argument(rest)
        return above / below, rest
    if token == r"\sqrt":
        inside, rest = _argument(rest)
        return sympy.sqrt(inside), rest
    if token.isdigit():
        return sympy.Integer(token), rest
    if token in _NAMES or token.isalpha():
        return _NAMES.get(token, sympy.Symbol(token)), rest
    raise ValueError(token)
