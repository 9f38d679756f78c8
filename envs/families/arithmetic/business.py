"""A family about a business: things in places in places, packed, sold and paid for."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from laconic.envs.families.arithmetic.tale import Tale
from laconic.envs.families.arithmetic.words import ITEMS, PEOPLE, another
from laconic.envs.families.common.generation import Problem

_FRUIT = ("apples", "pears", "lemons", "plums", "figs", "nuts")
_BAKED = ("cakes", "cookies")
_PLACES = (
    ("farm", ("field", "fields"), ("row", "rows"), ("tree", "trees"), _FRUIT),
    ("bakery", ("oven", "ovens"), ("shelf", "shelves"), ("tray", "trays"), _BAKED),
    ("shop", ("room", "rooms"), ("shelf", "shelves"), ("box", "boxes"), ITEMS),
    ("school", ("floor", "floors"), ("class", "classes"), ("desk", "desks"), ITEMS),
    ("museum", ("hall", "halls"), ("case", "cases"), ("drawer", "drawers"), ITEMS),
)


def business(random: Random, level: int) -> Problem:
    """Count what a place holds, then lose, gain, pack, sell and pay."""
    person = random.choice(PEOPLE)
    place, *containers, things = random.choice(_PLACES)
    item, tale, owned = random.choice(things), Tale(random), f"{person}'s {place}"
    depth = random.randint(max(1, level - 5), min(3, level))
    nested = containers[3 - depth :]
    _nest(tale, owned, nested, item)
    tail = random.randint(max(0, level - depth - 2), min(3, level - depth))
    changes = level - depth - tail
    losses_first = random.random() < 0.5
    for index in range(changes):
        size = random.randint(2, min(9, tale.value // 2)) if index == changes - 1 else 1
        (_lose if losses_first == (index == 0) else _gain)(tale, owned, item, size)
    question = _sell(tale, person, owned, item, tail)

    def decoy(random: Random) -> tuple[str, str]:
        who, number = another(random, PEOPLE, person), random.randint(2, 12)
        if random.random() < 0.4:
            box, boxes = random.choice(nested)
            return f"{who} {boxes}", f"{who}'s {place} has {number} {boxes}."
        what = item
        if random.random() < 0.5:
            who, what = person, another(random, things, item)
        return f"{who} {what}", f"{who}'s {place} gets {number} more {what} from a cousin."

    return tale.ask(question, decoy)


def _nest(tale: Tale, owned: str, nested: Sequence[tuple[str, str]], item: str) -> None:
    """Places in places, and the items in the innermost."""
    count = tale.random.randint(2, 6)
    tale.start(count, f"{owned} has {count} {nested[0][1]}.")
    for (box, _), (_, contents) in zip(nested, (*nested[1:], ("", item)), strict=True):
        count = tale.random.randint(3, 12) if contents == item else tale.random.randint(2, 6)
        tale.tell(f"Each {box} of {owned} has {count} {contents}.", "*", count)


def _lose(tale: Tale, owned: str, item: str, size: int) -> None:
    """Lose some, so that what is left can be packed by `size`; at least one pack is left."""
    value = tale.value
    lost = value % size or size
    while lost < 2 or (lost < value // 3 and tale.random.random() < 0.7):
        lost += size
    fate = tale.random.choice(("are damaged and thrown away", "go to a charity", "are stolen"))
    tale.tell(f"{lost} of the {item} of {owned} {fate}.", "-", lost)


def _gain(tale: Tale, owned: str, item: str, size: int) -> None:
    """Gain some, so that the whole can be packed by `size`."""
    gained = -tale.value % size + size * tale.random.randint(2, 5)
    tale.tell(f"{owned} gets {gained} more {item} from a cousin.", "+", gained)


def _sell(tale: Tale, person: str, owned: str, item: str, stages: int) -> str:
    """Pack, sell and pay, as many of these as there are stages; the question that follows."""
    if stages == 0:
        return f"How many {item} does {owned} have in the end?"
    size = tale.divisor(range(2, 10)) or tale.value
    tale.tell(f"All the {item} that {owned} has in the end are packed in bags of {size}.")
    bags = tale.step("/", size)
    if stages == 1:
        return f"How many bags of {item} does {owned} fill?"
    price = tale.random.randint(2, 9)
    tale.tell(f"{person} sells each bag of {item} for ${price}.", "*", price, bags)
    if stages == 2:
        return f"How many dollars does {person} get for all the bags of {item}?"
    cost = tale.random.randint(1, min(40, tale.value - 1))
    tale.tell(f"{person} pays ${cost} to a driver who takes the {item} to the market.", "-", cost)
    return f"How many dollars does {person} have left from the sale of the {item}?"
