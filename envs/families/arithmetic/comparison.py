"""A family about people compared with each other, link by link."""

from __future__ import annotations

from random import Random

from laconic.envs.families.arithmetic.tale import TIMES, Tale, portions
from laconic.envs.families.arithmetic.words import ITEMS, PEOPLE, another
from laconic.envs.families.common.generation import Problem

_HABITS = ("has", "collects", "finds", "paints", "draws", "counts", "packs", "orders")
_LARGEST_FACTORED = 150


def comparison(random: Random, level: int) -> Problem:
    """A chain of people; asked is the last one's number, or that of several together."""
    item, habit = random.choice(ITEMS), random.choice(_HABITS)
    together, links = _plan(random, level)
    people = random.sample(PEOPLE, len(links) + 1)
    tale, start = Tale(random), random.randint(4, 24)
    tale.start(start, f"{people[0]} {habit} {start} {item}.")
    amounts = [start]
    for before, person, cost in zip(people, people[1:], links, strict=False):
        tale.tell(f"{person} {habit} {_link(tale, item, cost)} {before}.")
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
        return f"{who} {what}", f"{who} {habit} {count} {more} {what} than {before}."

    return tale.ask(_question(item, habit, people[-together:]), decoy)


def _plan(random: Random, level: int) -> tuple[int, list[int]]:
    """How many people the question adds up, and the steps of each link."""
    together = random.choice((1, 2, 2 + level // 2 - 1))
    if together > 2 and level % 2 == 0:
        # Everybody: as many links as additions.
        return together, [1] * (level // 2)
    together = min(together, 2)
    return together, portions(random, level - (together - 1), 8)


def _link(tale: Tale, item: str, steps: int) -> str:
    """How one person compares with the one before, who is named next."""
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


def _question(item: str, habit: str, people: list[str]) -> str:
    verb = "have" if habit == "has" else habit[:-1]
    if len(people) == 1:
        return f"How many {item} does {people[0]} {verb}?"
    listed = f"{', '.join(people[:-1])} and {people[-1]}"
    return f"How many {item} do {listed} {verb} together?"
