"""A family about a task done a bit every day: pages of a book, laps of a training plan."""

from __future__ import annotations

from random import Random

from laconic.envs.families.arithmetic.tale import DAYS, TIMES, Tale, portions
from laconic.envs.families.arithmetic.words import PEOPLE, another
from laconic.envs.families.common.generation import Problem

_HABITS = (
    ("reads", "read", "pages", "{person}'s book has {whole} pages."),
    ("swims", "swim", "laps", "{person}'s training plan asks for {whole} laps."),
    ("solves", "solve", "puzzles", "{person}'s puzzle book has {whole} puzzles."),
    ("knits", "knit", "rows", "{person}'s scarf needs {whole} rows."),
    ("lays", "lay", "bricks", "{person}'s wall needs {whole} bricks."),
    ("plants", "plant", "bulbs", "{person}'s garden needs {whole} bulbs."),
    ("writes", "write", "cards", "{person}'s guest list asks for {whole} cards."),
    ("folds", "fold", "shirts", "{person}'s laundry has {whole} shirts."),
)


def habit(random: Random, level: int) -> Problem:
    """So much a day, added up; then what is left, and how much that is a day."""
    person, tale = random.choice(PEOPLE), Tale(random)
    does, do, things, whole = random.choice(_HABITS)
    tail = random.randint(0, min(2, level - 1))
    start = random.randint(4, 30)
    tale.start(start, f"On {DAYS[0]}, {person} {does} {start} {things}.")
    costs = portions(random, level - tail, len(DAYS) - 2)
    count = start
    for before, day, cost in zip(DAYS, DAYS[1:], costs, strict=False):
        so_far = tale.value
        if cost == 1:
            count = random.randint(4, 30)
            tale.tell(f"On {day}, {person} {does} {count} {things}.")
        else:
            tale.tell(f"On {day}, {person} {does} {_link(tale, things, count)} on {before}.")
            count = tale.value
        tale.step("+", count, so_far)
    last = DAYS[len(costs)]
    question = f"How many {things} does {person} {do} from {DAYS[0]} to {last}?"
    if tail:
        question = _rest(tale, person, (do, things, whole), last, tail)

    def decoy(random: Random) -> tuple[str, str]:
        day, number = random.choice(DAYS[: len(costs) + 1]), random.randint(4, 30)
        if random.random() < 0.5:
            who = another(random, PEOPLE, person)
            return f"{who} {day}", f"On {day}, {who} {does} {number} {things}."
        does_too, _, what, _ = random.choice([row for row in _HABITS if row[2] != things])
        return f"{person} {what} {day}", f"On {day}, {person} {does_too} {number} {what}."

    return tale.ask(question, decoy)


def _link(tale: Tale, things: str, before: int) -> str:
    """How much is done on a day compared with the one before, which is named next."""
    random = tale.random
    kind = random.choice(("times", "half", "more", "fewer"))
    if kind == "half" and before % 2 == 0 and before >= 6:
        tale.step("/", 2, before)
        return f"half as many {things} as"
    if kind == "times" and before <= 60:
        times = random.choice(tuple(TIMES))
        tale.step("*", times, before)
        return f"{TIMES[times]} as many {things} as"
    if kind == "fewer" and before > 4:
        fewer = random.randint(2, min(12, before - 2))
        tale.step("-", fewer, before)
        return f"{fewer} fewer {things} than"
    more = random.randint(2, 12)
    tale.step("+", more, before)
    return f"{more} more {things} than"


def _rest(tale: Tale, person: str, words: tuple[str, str, str], last: str, stages: int) -> str:
    """What is left of the whole, and perhaps how much that is a day; the question about it."""
    do, things, whole = words
    days, done = tale.random.randint(2, 9), tale.value
    total = done + days * tale.random.randint(2, 20)
    tale.tell(whole.format(person=person, whole=total), "-", done, total)
    if stages == 1:
        return f"How many {things} does {person} have left to {do} after {last}?"
    tale.tell(f"{person} wants to {do} the rest of the {things} evenly over the next {days} days.")
    tale.step("/", days)
    return f"How many {things} must {person} {do} on each of these days?"
