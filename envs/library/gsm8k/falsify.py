"""Another number in a statement of a word problem, and the answer that would follow.

The answer is worked out again from the problem's steps (`6 + 3 = 9, 9 * 2 = 18`). They do not say
where a number comes from, so a statement is changed only if there is no doubt: its number stands
once in the facts and once in the steps, and no step has the same result. The false number stands
nowhere else in the task.
"""

from __future__ import annotations

import re
from collections import Counter
from operator import add, floordiv, mul, sub
from random import Random

from laconic.envs.task import Falsehood, Task, relevant_statements

_NUMBER = re.compile(r"\d+")
_STEP = re.compile(r"(\d+) ([+*/-]) (\d+) = (\d+)")
_OPERATIONS = {"+": add, "-": sub, "*": mul, "/": floordiv}
_DIGITS = 10


def falsified(task: Task, index: int, random: Random) -> Falsehood | None:
    """Return a statement with another number; None if it is in doubt what would follow.

    Args:
        task: a generated word problem.
        index: index of a relevant statement.
        random: source of the choice of a number and of its false value. Values lie between 2 and
            twice the number, or below 10.
    """
    statement = task.statements[index]
    stated = Counter(numbers(" ".join(relevant_statements(task, range(len(task.statements))))))
    in_task = {*numbers(" ".join((*task.statements, task.question, task.solution, task.answer)))}
    places = list(_NUMBER.finditer(statement))
    for place in random.sample(places, len(places)):
        true = int(place.group())
        values = [v for v in range(2, max(_DIGITS, 2 * true + 1)) if v not in in_task]
        for value in random.sample(values, len(values)):
            answer = worked_out(task.solution, stated, true, value)
            if answer is not None and answer != task.answer:
                changed = f"{statement[: place.start()]}{value}{statement[place.end() :]}"
                return Falsehood(index, changed, str(value), answer)
    return None


def numbers(text: str) -> list[int]:
    """Return the whole numbers of a text."""
    return [int(digits) for digits in _NUMBER.findall(text)]


def worked_out(steps: str, stated: Counter[int], true: int, value: int) -> str | None:
    """Return the result of a solution if a number in it has another value.

    Args:
        steps: steps of a solution, separated by commas.
        stated: how often each number stands in the facts.
        true: number that has another value.
        value: that value.

    Returns:
        None if a step has no whole, non-negative result, or if it is in doubt what it takes up.
    """
    results: dict[int, int] = {}
    uses, last = 0, None
    for first, sign, second, result in _STEP.findall(steps):
        operands = [int(first), int(second)]
        same = operands == [true, true] and stated[true] == 2 and sign in "+*"
        for place, number in enumerate(operands):
            changed = results.get(number, number) != number
            if (number == true and number in results) or (changed and stated[number]):
                return None
            operands[place] = results.get(number, number)
            if number == true:
                uses += 1
                # Of two equal numbers that may change places, the first is the false one.
                operands[place] = true if same and place else value
        uses -= same
        if sign == "/" and (not operands[1] or operands[0] % operands[1]):
            return None
        last = _OPERATIONS[sign](*operands)
        if last < 0 or results.setdefault(int(result), last) != last:
            return None
    once = stated[true] == 1 or (stated[true] == 2 and steps.count(" = ") == 1)
    return str(last) if uses == 1 and once and last is not None else None
