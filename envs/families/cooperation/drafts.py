"""Drafts for both agents of a generated function, the best first.

The best pair shares the work: the auxiliary does the first step, main calls it and does the rest.
All drafts are bare code of a few lines, so that small policies can learn from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from laconic.envs.families.coding.function import Chain, neighbors
from laconic.envs.families.coding.generate import Item
from laconic.envs.families.cooperation.assemble import AUXILIARY

_VALUE = "v"
"""Name of the variable in all drafts; no expression of a step binds it."""
_CALL = f"{AUXILIARY}({_VALUE})"


def drafts(item: Item) -> dict[str, tuple[str, ...]]:
    """Return the drafts of each role.

    Auxiliary: the first step; a step easily mistaken for it, or none; the first step, but
    nothing is returned; words. Main: the other steps on the auxiliary's result; all steps, and
    a call whose result is ignored; all steps by itself; a thin wrapper; invalid Python; words.
    The function has at least two steps.
    """
    chain, name = item.puzzle.chain, item.puzzle.name
    first, rest = chain[:1], chain[1:]
    words = f"I begin with: {first[0].words}.", f"I go on with: {rest[0].words}."
    silent = _define(AUXILIARY, [f"{_VALUE} = {first[0].code(_VALUE)}"])
    shared = [f"{_VALUE} = {_CALL}", *_lines(rest)]
    return {
        "auxiliary": (
            _define(AUXILIARY, _lines(first)),
            _define(AUXILIARY, _mistaken(first, item.key)),
            silent,
            words[0],
        ),
        "main": (
            _define(name, shared),
            _define(name, [_CALL, *_lines(chain)]),
            _define(name, _lines(chain)),
            _define(name, [f"return {_CALL}"]),
            _define(name, [f"{_VALUE} = {_CALL}", "return ("]),
            words[1],
        ),
    }


def _define(name: str, lines: Sequence[str]) -> str:
    return "\n    ".join([f"def {name}({_VALUE}):", *lines])


def _lines(chain: Chain) -> list[str]:
    """Return the body of a function, one line per step."""
    *before, last = (step.code(_VALUE) for step in chain)
    return [*(f"{_VALUE} = {code}" for code in before), f"return {last}"]


def _mistaken(chain: Chain, key: str) -> list[str]:
    """Return the body of a neighbor that is written differently; empty for a step without one."""
    right = _lines(chain)
    others = (_lines(other) for other in neighbors(chain, Random(key)))
    return next((lines for lines in others if lines != right), [f"return {_VALUE}"])
