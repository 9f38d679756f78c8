"""Families of stories about amounts: a diary of gains, people compared, and a daily habit."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from laconic.envs.benchmarks.generation import Problem
from laconic.envs.benchmarks.words import ITEMS, PEOPLE, another, their
from laconic.envs.library.gsm8k.tale import DAYS, TIMES, Tale, portions

_PARTS = {3: "a third", 4: "a quarter"}
_GAINS = (
    "buys {count} {item}",
    "finds {count} more {item}",
    "gets {count} {item} from {their} aunt",
    "wins {count} {item} in a game",
)
_LOSSES = (
    "sells {count} {item}",
    "loses {count} of {their} {item}",
    "gives {count} {item} to {their} brother",
    "lends {count} {item} to a friend who keeps them",
)
_VERBS = ("has", "collects", "finds", "paints", "draws", "counts", "packs", "orders")
_LARGEST_FACTORED = 150
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


def diary(random: Random, level: int) -> Problem:
    """Tell a week of gains and losses, one event per day, and perhaps compare two people."""
    person, item = random.choice(PEOPLE), random.choice(ITEMS)
    other = another(random, PEOPLE, person)
    tale, ending = Tale(random), random.randint(0, min(2, level - 1))
    start = random.randint(6, 40)
    tale.start(start, f"{person} has {start} {item} at the start of the week.")
    for day, cost in zip(DAYS, portions(random, level - ending, len(DAYS)), strict=False):
        event = _small_event if cost == 1 else _large_event
        tale.tell(f"On {day}, {person} {event(tale, person, item)}.")
    question = f"How many {item} does {person} have at the end of the week?"
    if ending:
        question = _compare(tale, person, other, item, ending)

    def decoy(random: Random) -> tuple[str, str]:
        who, what = person, another(random, ITEMS, item)
        if random.random() < 0.5:
            who, what = another(random, PEOPLE, person, other), item
        return f"{who} {what}", _aside(random, who, what)

    return tale.ask(question, decoy)


def _small_event(tale: Tale, person: str, item: str) -> str:
    """Take one step (a gain, a loss, a half or a doubling) and return it in words."""
    random, value = tale.random, tale.value
    kind = random.choice(("gain", "gain", "loss", "loss", "half", "double"))
    if kind == "half" and value % 2 == 0 and value >= 6:
        tale.step("/", 2)
        return random.choice(("gives away", "sells", "loses")) + f" half of {their(person)} {item}"
    if kind == "double" and value <= 60:
        tale.step("*", 2)
        return f"wins as many {item} as {person} has already"
    if kind == "loss" and value >= 5:
        count = random.randint(2, min(20, value - 2))
        tale.step("-", count)
        return _event(random, _LOSSES, person, item, count)
    count = random.randint(2, 20)
    tale.step("+", count)
    return _event(random, _GAINS, person, item, count)


def _large_event(tale: Tale, person: str, item: str) -> str:
    """Take two steps (packs, gifts to friends, or a part given away) and return them in words."""
    random, value = tale.random, tale.value
    part, kind = tale.divisor((3, 4)), random.choice(("packs", "gifts", "part"))
    if kind == "part" and part and value >= 2 * part:
        share = tale.step("/", part)
        tale.step("-", share, value)
        return f"gives {_PARTS[part]} of {their(person)} {item} to a neighbor"
    times = random.randint(2, 6)
    if kind == "gifts" and value > 2 * times:
        each = random.randint(2, min(9, (value - 1) // times))
        gifts = tale.step("*", each, times)
        tale.step("-", gifts, value)
        return f"gives {each} {item} to each of {times} friends"
    each = random.randint(2, 12)
    bought = tale.step("*", each, times)
    tale.step("+", bought, value)
    return f"buys {times} packs of {each} {item}"


def _event(random: Random, kinds: Sequence[str], person: str, item: str, count: int) -> str:
    return random.choice(kinds).format(count=count, item=item, their=their(person))


def _compare(tale: Tale, person: str, other: str, item: str, steps: int) -> str:
    """Add a person who has more at the end; return the question about it."""
    own, when = tale.value, "at the end of the week"
    times = tale.random.choice(tuple(TIMES))
    if tale.random.random() < 0.5:
        tale.tell(f"{other} has {TIMES[times]} as many {item} as {person} {when}.")
        theirs = tale.step("*", times)
    else:
        more = tale.random.randint(2, 30)
        theirs = tale.tell(f"{other} has {more} more {item} than {person} {when}.", "+", more)
    if steps == 1:
        return f"How many {item} does {other} have {when}?"
    tale.step("+", theirs, own)
    return f"How many {item} do {person} and {other} have together {when}?"


def _aside(random: Random, person: str, item: str) -> str:
    kind, count = random.randint(0, 3), random.randint(2, 20)
    if kind == 0:
        return f"{person} has {count + 4} {item} at the start of the week."
    event = _event(random, _GAINS if kind < 3 else _LOSSES, person, item, count)
    return f"On {random.choice(DAYS)}, {person} {event}."


def comparison(random: Random, level: int) -> Problem:
    """Compare people along a chain; ask for the last number, or for the sum of several."""
    item, verb_form = random.choice(ITEMS), random.choice(_VERBS)
    together, links = _plan_chain(random, level)
    people = random.sample(PEOPLE, len(links) + 1)
    tale, start = Tale(random), random.randint(4, 24)
    tale.start(start, f"{people[0]} {verb_form} {start} {item}.")
    amounts = [start]
    for before, person, cost in zip(people, people[1:], links, strict=False):
        tale.tell(f"{person} {verb_form} {_comparison(tale, item, cost)} {before}.")
        amounts.append(tale.value)
    total, *rest = amounts[-together:]
    for amount in rest:
        total = tale.step("+", amount, total)

    def decoy(random: Random) -> tuple[str, str]:
        before, who, what = random.choice(people), another(random, PEOPLE, *people), item
        if random.random() < 0.5:
            who = another(random, tuple(people), before)
            what = another(random, ITEMS, item)
        count, more = random.randint(2, 12), random.choice(("more", "fewer"))
        return f"{who} {what}", f"{who} {verb_form} {count} {more} {what} than {before}."

    return tale.ask(_chain_question(item, verb_form, people[-together:]), decoy)


def _plan_chain(random: Random, level: int) -> tuple[int, list[int]]:
    """Draw the number of people that the question adds up, and the steps of each link."""
    together = random.choice((1, 2, 2 + level // 2 - 1))
    if together > 2 and level % 2 == 0:
        # All people: as many links as additions.
        return together, [1] * (level // 2)
    together = min(together, 2)
    return together, portions(random, level - (together - 1), 8)


def _comparison(tale: Tale, item: str, steps: int) -> str:
    """Compare a person with the one before in words, up to the name of the latter."""
    random, value = tale.random, tale.value
    small = value <= _LARGEST_FACTORED
    count = random.randint(2, 15)
    if steps == 2:
        times = random.choice(tuple(TIMES)) if small else 2
        tale.step("*", times)
        tale.step("+", count)
        return f"{count} more than {TIMES[times]} as many {item} as"
    kind = random.choice(("more", "fewer", "times", "half"))
    if kind == "half" and value % 2 == 0 and value >= 6:
        tale.step("/", 2)
        return f"half as many {item} as"
    if kind == "times" and small:
        times = random.choice(tuple(TIMES))
        tale.step("*", times)
        return f"{TIMES[times]} as many {item} as"
    if kind == "fewer" and value > count + 1:
        tale.step("-", count)
        return f"{count} fewer {item} than"
    tale.step("+", count)
    return f"{count} more {item} than"


def _chain_question(item: str, verb_form: str, people: list[str]) -> str:
    verb = "have" if verb_form == "has" else verb_form[:-1]
    if len(people) == 1:
        return f"How many {item} does {people[0]} {verb}?"
    listed = f"{', '.join(people[:-1])} and {people[-1]}"
    return f"How many {item} do {listed} {verb} together?"


def habit(random: Random, level: int) -> Problem:
    """Add up amounts per day; then ask for the rest, or for the rest per day."""
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
            tale.tell(f"On {day}, {person} {does} {_amount(tale, things, count)} on {before}.")
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


def _amount(tale: Tale, things: str, before: int) -> str:
    """Compare the amount of a day with the day before in words, up to the name of the latter."""
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
    """Tell how large the whole is, and perhaps spread the rest over days; return the question."""
    do, things, whole = words
    days, finished = tale.random.randint(2, 9), tale.value
    total = finished + days * tale.random.randint(2, 20)
    tale.tell(whole.format(person=person, whole=total), "-", finished, total)
    if stages == 1:
        return f"How many {things} does {person} have left to {do} after {last}?"
    tale.tell(f"{person} wants to {do} the rest of the {things} evenly over the next {days} days.")
    tale.step("/", days)
    return f"How many {things} must {person} {do} on each of these days?"
