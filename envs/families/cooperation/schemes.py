"""The cooperation report: in which ways a main function works with the auxiliary.

MAGRPO (arXiv 2508.04652) names four schemes that its agents come to show. They are found here by
reading the syntax tree, by rules of our own. Words of the rules:

- *The result* is what a call `aux(...)` returns, or a name that main gives it.
- Main *judges* the result where it stands in the test of `if`, `while`, a conditional expression or
  a comprehension, is the subject of `match`, or stands before `or`; also in `filter(aux, ...)`.
- What main *gives back* is what it returns or yields: of `a if t else b` both sides, of `a or b`
  both, of a name everything it is given. Tests in it are no part of it.
- Calls whose result is ignored (`envs.families.cooperation.calls`) count for nothing.
- The auxiliary is *a check* where all it gives back is truth values (comparisons, `not`, `True`,
  `isinstance(...)`, `text.isdigit()`, `all(...)`) or constants, other than `None` alone.

The schemes, in the order in which they are reported; a program may show several, or none:

- `fallback`: main judges the result, or catches what a call raises, and gives back the result in
  one case and something computed without it in another. A constant is not computed. A check before
  `or` is no fallback, for both sides are truth values.
- `decorator`: main calls the auxiliary on the whole case, and does something before (an argument is
  neither a parameter of main nor a constant) or after (the result is part of a larger expression
  outside of tests, is judged though it is no check, or is replaced by a constant). Where main is a
  coordinator it is no decorator too.
- `coordinator`: main splits the case: it calls the auxiliary in a loop, in a comprehension, in a
  `lambda`, by `map(aux, ...)` or `key=aux`, or by several calls with different arguments.
- `strategy_filter`: the auxiliary is a check, main judges the result and does not give it back.
"""

from __future__ import annotations

import ast

from laconic.envs.families.coding.syntax import function, parse
from laconic.envs.families.cooperation.assemble import AUXILIARY
from laconic.envs.families.cooperation.calls import is_thin
from laconic.envs.families.cooperation.reading import Reading

SCHEMES = ("fallback", "decorator", "coordinator", "strategy_filter")
"""The schemes that are told apart."""


def schemes(program: str, main: str, auxiliary: str = AUXILIARY) -> tuple[str, ...]:
    """Return the cooperation schemes that a program of these two functions shows, in order.

    Empty where a function is missing, the program is not Python, main does not call the auxiliary,
    or does nothing but pass on its call.
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
