"""A family about a car journey: legs of several days, then gas, its price, tolls and savings."""

from __future__ import annotations

from random import Random

from laconic.envs.families.arithmetic.tale import DAYS, TIMES, Tale, portions
from laconic.envs.families.arithmetic.words import PEOPLE, another
from laconic.envs.families.common.generation import Problem

_CONSUMPTION = (10, 12, 15, 20, 25, 30)
_CASH = (100, 200, 300, 500, 800, 1000, 2000, 5000)
_MAX_LEGS = 5


def journey(random: Random, level: int) -> Problem:
    """Miles on each day, added up; then what the journey costs."""
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
    random = tale.random
    if hours:
        _timed_leg(tale, person, DAYS[0])
    else:
        miles = random.randint(20, 90)
        tale.start(miles, f"On {DAYS[0]}, {person} drives {miles} miles.")


def _leg(
    tale: Tale, person: str, days: tuple[str, str], steps: int, previous: tuple[int, int]
) -> int:
    """One more day on the road, after the day before; the miles of this day.

    One step is a plain distance, two are one that has to be worked out. `previous` has the miles of
    the day before, and what a plain leg makes the sum a multiple of.
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
    time, speed = tale.random.randint(2, 6), tale.random.randint(6, 13) * 5
    tale.tell(f"On {day}, {person} drives {time} hours at {speed} miles an hour.")
    return tale.step("*", speed, time)


def _costs(tale: Tale, person: str, stages: int, miles_a_gallon: int) -> str:
    """Gas, its price, tolls and savings, as many as there are stages; the question that follows."""
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
