"""A family about what somebody has: a diary of gains and losses, one a day."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from laconic.envs.families.arithmetic.tale import DAYS, TIMES, Tale, portions
from laconic.envs.families.arithmetic.words import ITEMS, PEOPLE, another, their
from laconic.envs.families.common.generation import Problem

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


def diary(random: Random, level: int) -> Problem:
    """A week of gains and losses, one event a day; at the end somebody may be compared."""
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
    """One step: a gain, a loss, a half or a doubling."""
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
    """Two steps: several packs, gifts to several friends, or a third or a quarter given away."""
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
    """Bring in somebody who has more at the end; the question that goes with it."""
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
