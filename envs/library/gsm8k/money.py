"""Families of stories about money: a shopping basket, a job, a business and a car journey."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from laconic.envs.benchmarks.generation import Problem
from laconic.envs.benchmarks.words import ITEMS, PEOPLE, another, their
from laconic.envs.library.gsm8k.tale import DAYS, TIMES, Tale, portions, singular

_NOTES = (20, 50, 100, 200, 500, 1000)
_JOBS = tuple(f"the {place}" for place in "bakery cinema bookshop farm garage hotel zoo".split())
_GOODS = ("coat", "bicycle", "desk", "radio", "guitar", "tent", "camera")
_CHANGES = (
    ("{person} works {number} days a week at {job}.", "*", (2, 6)),
    ("{person} also gets ${number} in tips every {period}.", "+", (3, 40)),
    ("{person} spends ${number} on bus rides every {period}.", "-", (2, 9)),
    ("{person} keeps the job at {job} for {number} {period}s and saves the money.", "*", (2, 6)),
    ("{person} had ${number} before starting at {job}.", "+", (10, 90)),
)
"""Changes of the money, in this order: the fact, the operation and the range of its number."""
_FRUIT = ("apples", "pears", "lemons", "plums", "figs", "nuts")
_BAKED = ("cakes", "cookies")
_PLACES = (
    ("farm", ("field", "fields"), ("row", "rows"), ("tree", "trees"), _FRUIT),
    ("bakery", ("oven", "ovens"), ("shelf", "shelves"), ("tray", "trays"), _BAKED),
    ("shop", ("room", "rooms"), ("shelf", "shelves"), ("box", "boxes"), ITEMS),
    ("school", ("floor", "floors"), ("class", "classes"), ("desk", "desks"), ITEMS),
    ("museum", ("hall", "halls"), ("case", "cases"), ("drawer", "drawers"), ITEMS),
)
_CONSUMPTION = (10, 12, 15, 20, 25, 30)
_CASH = (100, 200, 300, 500, 800, 1000, 2000, 5000)
_MAX_LEGS = 5


def shopping(random: Random, level: int) -> Problem:
    """Fill a basket, perhaps use a coupon, and ask for the bill, the change or a share."""
    person, items = random.choice(PEOPLE), random.sample(ITEMS, 9)
    tale = Tale(random)
    steps_left = level - 1
    coupon = steps_left > 1 and random.random() < 0.4
    ending = random.choice(("paid", "change", "shared")) if steps_left else "paid"
    steps_left -= coupon + (ending != "paid")
    count, price = random.randint(2, 12), random.randint(2, 15)
    tale.tell(f"{person} buys {count} {items[0]} at ${price} each.", "*", price, count)
    for item in items[1:]:
        if steps_left <= 0:
            break
        steps_left -= _buy(tale, person, item, steps_left)
    if coupon:
        # The coupon makes the bill even, so that sharing it comes out in whole dollars.
        off = tale.value % 4 + random.choice((0, 4) if tale.value % 4 else (4, 8))
        off = off if off < tale.value else 1
        tale.tell(f"{person} has a coupon that takes ${off} off {their(person)} whole bill.")
        tale.step("-", off)
    question = _settle(tale, person, ending)

    def decoy(random: Random) -> tuple[str, str]:
        count, price = random.randint(2, 12), random.randint(2, 15)
        if random.random() < 0.6:
            who, what = another(random, PEOPLE, person), random.choice(items)
            return f"{who} {what}", f"{who} buys {count} {what} at ${price} each."
        what = another(random, ITEMS, *items)
        return f"{person} {what}", f"{person} looks at {what} for ${price} each but buys none."

    return tale.ask(question, decoy)


def _buy(tale: Tale, person: str, item: str, steps_left: int) -> int:
    """Put something more into the basket; return the number of steps it takes."""
    random, before = tale.random, tale.value
    if steps_left >= 2 and random.random() < 0.6:
        count, price = random.randint(2, 12), random.randint(2, 15)
        cost = tale.tell(f"{person} also buys {count} {item} for ${price} each.", "*", price, count)
        tale.step("+", cost, before)
        return 2
    price = random.randint(2, 40)
    tale.tell(f"{person} also buys {singular(item)} for ${price}.", "+", price)
    return 1


def _settle(tale: Tale, person: str, ending: str) -> str:
    """Pay, and return the question: the bill, the change or each payer's share."""
    if ending == "paid":
        return f"How many dollars does {person} pay in all?"
    payers = tale.divisor((2, 3, 4, 5)) if ending == "shared" else None
    if payers:
        tale.tell(f"{payers} people share {person}'s bill equally.", "/", payers)
        return f"How many dollars of {person}'s bill does each of them pay?"
    note = next(note for note in _NOTES if note > tale.value)
    tale.tell(f"{person} pays with ${note}.", "-", tale.value, note)
    return f"How many dollars does {person} get back?"


def wages(random: Random, level: int) -> Problem:
    """Earn money by the hour, day and week, with regular and single gains and expenses."""
    person, job = random.choice(PEOPLE), random.choice(_JOBS)
    tale = Tale(random)
    pay, hours = random.randint(8, 25), random.randint(2, 8)
    tale.tell(f"{person} earns ${pay} an hour at {job}.")
    tale.tell(f"{person} works {hours} hours a day at {job}.", "*", hours, pay)
    chosen = sorted(random.sample(range(7), level - 1))
    period = "week" if 0 in chosen else "day"
    for stage in chosen:
        if stage >= len(_CHANGES):
            _ENDINGS[stage - len(_CHANGES)](tale, person, job)
            continue
        fact, operation, limits = _CHANGES[stage]
        number = random.randint(*limits)
        tale.tell(fact.format(person=person, job=job, period=period, number=number))
        tale.step(operation, number)
    if set(chosen) <= {0}:
        question = f"How many dollars does {person} earn in one {period}?"
    else:
        worked = "" if 3 in chosen else f" after one {period} of work"
        question = f"How many dollars does {person} have in the end{worked}?"

    def decoy(random: Random) -> tuple[str, str]:
        kind, number = random.randint(0, 2), random.randint(2, 9)
        if kind == 0:
            return f"{person} drives", f"{person} drives {number} miles to {job} each day."
        who = another(random, PEOPLE, person)
        if kind == 1:
            return f"{who} earns", f"{who} earns ${number + 7} an hour at {job}."
        return f"{who} works", f"{who} works {number} hours a day at {job}."

    return tale.ask(question, decoy)


def _purchase(tale: Tale, person: str, job: str) -> None:
    """Spend a part of the money."""
    price, thing = tale.random.randint(4, min(120, tale.value - 2)), tale.random.choice(_GOODS)
    tale.tell(f"After the last day at {job}, {person} buys a {thing} for ${price}.", "-", price)


def _change_of_luck(tale: Tale, person: str, job: str) -> None:
    """Halve the money, or double it where it cannot be halved in whole dollars."""
    if tale.value % 2 == 0:
        tale.tell(f"At the very end, {person} gives half of all {their(person)} money to charity.")
        tale.step("/", 2)
    else:
        tale.tell(f"At the very end, {person}'s mother doubles all {their(person)} money.", "*", 2)


_ENDINGS = (_purchase, _change_of_luck)


def business(random: Random, level: int) -> Problem:
    """Count the stock of a place, then lose, gain, pack, sell and pay."""
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
    """Nest places in places, and put the items into the innermost."""
    count = tale.random.randint(2, 6)
    tale.start(count, f"{owned} has {count} {nested[0][1]}.")
    for (box, _), (_, contents) in zip(nested, (*nested[1:], ("", item)), strict=True):
        count = tale.random.randint(3, 12) if contents == item else tale.random.randint(2, 6)
        tale.tell(f"Each {box} of {owned} has {count} {contents}.", "*", count)


def _lose(tale: Tale, owned: str, item: str, size: int) -> None:
    """Lose some, so that the rest can be packed by `size`; at least one pack is left."""
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
    """Pack, sell and pay, up to this number of stages; return the question that follows."""
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


def journey(random: Random, level: int) -> Problem:
    """Add up the miles of each day; then ask for them, or for the cost of the journey."""
    person, tale = random.choice(PEOPLE), Tale(random)
    tail = random.randint(max(0, level - _MAX_LEGS), min(4, level - 1))
    miles_a_gallon = random.choice(_CONSUMPTION) if tail else 1
    _first_leg(tale, person, hours=(level - tail) > 1 and random.random() < 0.5)
    costs = portions(random, level - tail - len(tale.steps), len(DAYS) - 1)
    if tail and costs[-1] == 2:
        # The last leg makes the whole journey use whole gallons, which only a plain leg can.
        costs[-1:] = [1, 1]
    last_leg = tale.value
    for index, (day, cost) in enumerate(zip(DAYS[1:], costs, strict=False)):
        even = miles_a_gallon if index == len(costs) - 1 else 1
        last_leg = _leg(tale, person, (DAYS[index], day), cost, (last_leg, even))
    question = _costs(tale, person, tail, miles_a_gallon)

    def decoy(random: Random) -> tuple[str, str]:
        day, number = random.choice(DAYS[: len(costs) + 1]), random.randint(2, 9)
        if random.random() < 0.3:
            return f"{person} {day}", f"On {day}, {person} walks {number} miles."
        who = another(random, PEOPLE, person)
        if random.random() < 0.5:
            return f"{who} {day}", f"On {day}, {who} drives {number * 10} miles."
        speed = random.randint(6, 13) * 5
        return f"{who} {day}", f"On {day}, {who} drives {number} hours at {speed} miles an hour."

    return tale.ask(question, decoy)


def _first_leg(tale: Tale, person: str, hours: bool) -> None:
    """Tell the first day on the road."""
    random = tale.random
    if hours:
        _timed_leg(tale, person, DAYS[0])
    else:
        miles = random.randint(20, 90)
        tale.start(miles, f"On {DAYS[0]}, {person} drives {miles} miles.")


def _leg(
    tale: Tale, person: str, days: tuple[str, str], steps: int, previous: tuple[int, int]
) -> int:
    """Tell one more day on the road; return its miles.

    With one step the distance is stated, with two it has to be worked out. `previous` has the miles
    of the day before, and the number that a stated distance makes the sum a multiple of.
    """
    random, so_far, (before, today) = tale.random, tale.value, days
    miles_before, even = previous
    if steps == 1:
        miles = -so_far % even + even * random.randint(2, max(2, 60 // even))
        tale.tell(f"On {today}, {person} drives {miles} miles.", "+", miles)
        return miles
    kind = random.choice(("hours", "times", "half"))
    if kind == "times" and miles_before <= 120:
        times = random.choice((2, 3))
        tale.tell(f"On {today}, {person} drives {TIMES[times]} as many miles as on {before}.")
        miles = tale.step("*", times, miles_before)
    elif kind == "half" and miles_before % 2 == 0:
        tale.tell(f"On {today}, {person} drives half as many miles as on {before}.")
        miles = tale.step("/", 2, miles_before)
    else:
        miles = _timed_leg(tale, person, today)
    tale.step("+", miles, so_far)
    return miles


def _timed_leg(tale: Tale, person: str, day: str) -> int:
    """Tell a day by hours and speed; return its miles."""
    time, speed = tale.random.randint(2, 6), tale.random.randint(6, 13) * 5
    tale.tell(f"On {day}, {person} drives {time} hours at {speed} miles an hour.")
    return tale.step("*", speed, time)


def _costs(tale: Tale, person: str, stages: int, miles_a_gallon: int) -> str:
    """Tell gas, its price, tolls and cash, up to this number of stages; return the question."""
    if stages == 0:
        return f"How many miles does {person} drive in all?"
    tale.tell(f"{person}'s car needs one gallon of gas for every {miles_a_gallon} miles.")
    tale.step("/", miles_a_gallon)
    if stages == 1:
        return f"How many gallons of gas does {person}'s car need for the whole journey?"
    price = tale.random.randint(2, 6)
    tale.tell(f"{person} pays ${price} for each gallon of gas.", "*", price)
    if stages == 2:
        return f"How many dollars does {person} pay for gas on the whole journey?"
    tolls = tale.random.randint(3, 40)
    tale.tell(f"{person} also pays ${tolls} in tolls on the journey.", "+", tolls)
    if stages == 3:
        return f"How many dollars does {person} pay for gas and tolls on the whole journey?"
    cash = next(cash for cash in _CASH if cash > tale.value)
    tale.tell(f"{person} takes ${cash} along to pay for gas and tolls.", "-", tale.value, cash)
    return f"How many dollars does {person} have left after the journey?"
