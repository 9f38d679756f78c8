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
import builtins
from functools import cached_property

from laconic.envs.families.coding.syntax import function, outside, parse
from laconic.envs.families.cooperation import calls
from laconic.envs.families.cooperation.assemble import AUXILIARY
from laconic.envs.families.cooperation.calls import is_thin

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


_BUILTINS = frozenset(dir(builtins))
_DEEPEST = 20
"""Maximum number of assignments from name to name to follow."""
_TRUTHS = frozenset({"bool", "all", "any", "isinstance", "issubclass", "callable", "hasattr"})
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_GIVING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)


class Reading:
    """Analysis of a function that may call the auxiliary."""

    def __init__(self, function: ast.FunctionDef, auxiliary: str) -> None:
        """Read a function that may call the auxiliary of this name."""
        self._function, self._auxiliary = function, auxiliary
        self._nodes = nodes = list(calls.inside(function))
        self._parents = {id(child): node for node in nodes for child in ast.iter_child_nodes(node)}
        thrown_away = {id(node) for node in calls.ignored(function, auxiliary)}
        used = (node for node in self._nodes if id(node) not in thrown_away)
        called = [node for node in used if isinstance(node, ast.Call)]
        self.calls = [node for node in called if calls.is_call(node, auxiliary)]
        self.on_each = [node for node in called if calls.is_on_each(node, auxiliary)]

    @cached_property
    def outcomes(self) -> list[ast.expr]:
        """Return the expressions that the function may return, one per case."""
        expressions: list[ast.expr] = []
        for node in outside(self._function.body):
            if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and node.value:
                expressions += self._cases(node.value)
        return expressions

    @cached_property
    def given(self) -> dict[str, list[ast.expr]]:
        """Return the values that each name is bound to in the function."""
        bound: dict[str, list[ast.expr]] = {}
        for node in self._nodes:
            value = getattr(node, "value", None)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                old = ast.Name(node.target.id, ast.Load())
                value = ast.BinOp(old, node.op, node.value)
            if isinstance(value, ast.expr):
                for name in calls.names_given(node) or ():
                    bound.setdefault(name, []).append(value)
        return bound

    @cached_property
    def results(self) -> set[str]:
        """Names that are given the result itself."""
        names: set[str] = set()
        before = -1
        while len(names) > before:
            before = len(names)
            for name, values in self.given.items():
                if any(self.is_call(value) or calls.is_name(value, names) for value in values):
                    names.add(name)
        return names

    @cached_property
    def judged(self) -> bool:
        """Return whether the result stands in a test, or the auxiliary is the test of `filter`."""
        filtered = any(calls.is_name(node.func, {"filter"}) for node in self.on_each)
        return filtered or any(id(node) in self._tests for node in self._results_read)

    @cached_property
    def before_or(self) -> bool:
        """Return whether the result stands before an `or` outside tests."""
        return any(
            self._is_result(value)
            for node in self._nodes
            if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)
            for value in node.values[:-1]
            if id(value) not in self._tests
        )

    @cached_property
    def caught(self) -> bool:
        """Return whether exceptions of a call are caught."""
        return any(
            calls.is_use(inner, self._auxiliary)
            for node in self._nodes
            if isinstance(node, ast.Try) and node.handlers
            for statement in node.body
            for inner in ast.walk(statement)
        )

    def hands_back(self, outcome: ast.expr) -> bool:
        """Return whether an outcome is the result, or holds it outside tests."""
        # A call whose result is named in a test is given back by that name.
        return self._is_result(outcome) or any(
            self._is_result(node) and id(node) not in self._tests for node in ast.walk(outcome)
        )

    def computes(self, outcome: ast.expr) -> bool:
        """Return whether an outcome is computed from something other than the result."""
        names = {node.id for node in ast.walk(outcome) if isinstance(node, ast.Name)}
        return bool(names - _BUILTINS) and not self.hands_back(outcome)

    @property
    def splits(self) -> bool:
        """Return whether the auxiliary is called on each of several items."""
        if self.on_each or any(self._is_repeated(node) for node in self.calls):
            return True
        arguments = [
            [*call.args, *(argument.value for argument in call.keywords)] for call in self.calls
        ]
        chained = any(self.hands_back(argument) for of_call in arguments for argument in of_call)
        different = {tuple(map(ast.dump, of_call)) for of_call in arguments}
        return len(different) > 1 and not chained

    @property
    def prepares(self) -> bool:
        """Return whether an argument of a call is neither a parameter nor a constant."""
        own = calls.parameters(self._function)
        return any(
            not calls.passes_on(call, own - self._changed_before(call), self._auxiliary)
            for call in self.calls
        )

    def finishes(self, *, or_too: bool) -> bool:
        """Return whether the result is part of a larger expression outside tests.

        With `or_too` an `or` makes an expression larger.
        """
        changed = any(
            isinstance(node, ast.AugAssign) and calls.is_name(node.target, self.results)
            for node in self._nodes
        )
        return changed or any(
            id(node) not in self._tests and self._is_processed(node, or_too)
            for node in self._results_read
        )

    @property
    def is_check(self) -> bool:
        """Return whether the function returns only truth values or constants."""
        constants = [value.value for value in self.outcomes if isinstance(value, ast.Constant)]
        silent = len(constants) == len(self.outcomes) and all(value is None for value in constants)
        return not silent and all(map(_is_truth, self.outcomes))

    def is_call(self, node: object) -> bool:
        """Return whether a node is a call of the auxiliary."""
        return calls.is_call(node, self._auxiliary)

    @cached_property
    def _results_read(self) -> list[ast.AST]:
        return [node for node in self._nodes if self._is_result(node)]

    @cached_property
    def _tests(self) -> set[int]:
        """Return the nodes that stand in tests."""
        tests: list[ast.AST] = []
        for node in self._nodes:
            if isinstance(node, (ast.If, ast.While, ast.IfExp)):
                tests.append(node.test)
            elif isinstance(node, ast.comprehension):
                tests += node.ifs
            elif isinstance(node, ast.Match):
                tests.append(node.subject)
        return {id(inner) for node in tests for inner in ast.walk(node)}

    def _changed_before(self, call: ast.Call) -> set[str]:
        """Return the names to which anything except the result is assigned above a call."""
        return {
            name
            for node in self._nodes
            if isinstance(node, _GIVING)
            and (node.lineno, node.col_offset) < (call.lineno, call.col_offset)
            and not (node.value and self._is_result(node.value))
            for name in calls.names_given(node) or ()
        }

    def _is_result(self, node: ast.AST) -> bool:
        read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        return self.is_call(node) or (read and calls.is_name(node, self.results))

    def _cases(self, value: ast.expr, depth: int = 0) -> list[ast.expr]:
        """Return the expressions that a value may stand for."""
        parts: list[ast.expr] = []
        if isinstance(value, ast.IfExp):
            parts = [value.body, value.orelse]
        elif isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
            parts = value.values
        elif isinstance(value, ast.NamedExpr):
            parts = [value.value]
        elif isinstance(value, ast.Name):
            parts = self.given.get(value.id, [])
        if not parts or depth > _DEEPEST:
            return [value]
        return [case for part in parts for case in self._cases(part, depth + 1)]

    def _is_repeated(self, node: ast.AST) -> bool:
        """Return whether a node runs per item: in a loop, comprehension or lambda."""
        while parent := self._parents.get(id(node)):
            once = getattr(parent, "iter", None) is node
            if isinstance(parent, ast.comprehension):
                whole = self._parents[id(parent)]
                once = once and getattr(whole, "generators", [None])[0] is parent
                node, parent = parent, whole
            if isinstance(parent, (*_LOOPS, *_COMPREHENSIONS)) and not once:
                return True
            node = parent
        return False

    def _is_processed(self, node: ast.AST, or_too: bool) -> bool:
        parent = self._parents.get(id(node))
        while isinstance(parent, (ast.IfExp, ast.NamedExpr)) or (
            isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.Or) and not or_too
        ):
            parent = self._parents.get(id(parent))
        kinds = (ast.Return, ast.Yield, ast.YieldFrom, ast.Assign, ast.AnnAssign, ast.Expr)
        return parent is not None and not isinstance(parent, kinds)


def _is_truth(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        return all(map(_is_truth, node.values))
    if isinstance(node, ast.Call):
        method = isinstance(node.func, ast.Attribute) and (
            node.func.attr.startswith("is") or node.func.attr in ("startswith", "endswith")
        )
        return method or calls.is_name(node.func, _TRUTHS)
    negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return negation or isinstance(node, (ast.Compare, ast.Constant))
