"""Cooperation schemes: the ways in which a main function works with the auxiliary.

MAGRPO (arXiv 2508.04652) names four schemes that its agents learn. They are recognized here in the
syntax tree, by our own rules. Terms of the rules:

- *The result* is a call `aux(...)`, or a name to which main assigns it.
- Main *judges* the result in the test of `if`, `while`, a conditional expression or a
  comprehension, as the subject of `match`, or before `or`; also by `filter(aux, ...)`.
- Main's *outcomes* are the expressions it returns or yields. `a if t else b` and `a or b` have both
  sides as outcomes, and a name has everything assigned to it. Tests are not part of an outcome.
- Calls whose result is ignored (`envs.families.cooperation.calls`) do not count.
- The auxiliary is *a check* if all its outcomes are truth values (comparisons, `not`, `True`,
  `isinstance(...)`, `text.isdigit()`, `all(...)`) or constants, and not all are `None`.

The schemes, in reporting order. A program may show several, or none:

- `fallback`: main judges the result, or catches exceptions of a call. The result is one outcome,
  and an expression computed without it is another. A constant is not computed. A check before `or`
  is not a fallback, because both sides are truth values.
- `decorator`: main calls the auxiliary on the whole case, and works before or after. Before: an
  argument is neither a parameter of main nor a constant. After: the result is part of a larger
  expression outside of tests, is judged although it is not a check, or is replaced by a constant. A
  coordinator is not a decorator.
- `coordinator`: main splits the case. It calls the auxiliary in a loop, in a comprehension, in a
  `lambda`, by `map(aux, ...)` or `key=aux`, or several times with different arguments.
- `strategy_filter`: the auxiliary is a check; main judges the result, which is not an outcome.
"""

from __future__ import annotations

import ast

from laconic.envs.families.coding.syntax import function, parse
from laconic.envs.families.cooperation.assemble import AUXILIARY
from laconic.envs.families.cooperation.calls import is_thin
from laconic.envs.families.cooperation.reading import Reading

SCHEMES = ("fallback", "decorator", "coordinator", "strategy_filter")
"""Names of the schemes, in reporting order."""


def schemes(program: str, main: str, auxiliary: str = AUXILIARY) -> tuple[str, ...]:
    """Return the cooperation schemes that a program of these two functions shows, in order.

    Empty if a function is missing, the program is not Python, or main does not call the auxiliary
    or only passes on its call.
    """
    module = parse(program)
    main_function, helper = (
        function(module, name) if module else None for name in (main, auxiliary)
    )
    if not isinstance(main_function, ast.FunctionDef) or not isinstance(helper, ast.FunctionDef):
        return ()
    reading = Reading(main_function, auxiliary)
    if not (reading.calls or reading.on_each) or is_thin(main_function, auxiliary):
        return ()
    by_scheme = _shown(reading, Reading(helper, auxiliary).is_check)
    return tuple(name for name in SCHEMES if by_scheme[name])


def _shown(reading: Reading, check: bool) -> dict[str, bool]:
    """Return whether each scheme is shown."""
    handed = any(map(reading.hands_back, reading.outcomes))
    questioned = reading.judged or reading.caught or (reading.before_or and not check)
    fallback = questioned and handed and any(map(reading.computes, reading.outcomes))
    worked_on = reading.prepares or reading.finishes(or_too=check)
    replaced = reading.judged and not check and not fallback
    return {
        "fallback": fallback,
        "decorator": (worked_on or replaced) and not reading.splits,
        "coordinator": reading.splits,
        "strategy_filter": check and reading.judged and not handed,
    }
