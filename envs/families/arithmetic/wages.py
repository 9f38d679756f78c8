"""A family about a job: money by the hour, day and week, with gains and expenses."""

from __future__ import annotations

from random import Random

from laconic.envs.families.arithmetic.tale import Tale
from laconic.envs.families.arithmetic.words import PEOPLE, another, their
from laconic.envs.families.common.generation import Problem

_JOBS = tuple(f"the {place}" for place in "bakery cinema bookshop farm garage hotel zoo".split())
_GOODS = ("coat", "bicycle", "desk", "radio", "guitar", "tent", "camera")
_CHANGES = (
    ("{person} works {number} days a week at {job}.", "*", (2, 6)),
    ("{person} also gets ${number} in tips every {period}.", "+", (3, 40)),
    ("{person} spends ${number} on bus rides every {period}.", "-", (2, 9)),
    ("{person} keeps the job at {job} for {number} {period}s and saves the money.", "*", (2, 6)),
    ("{person} had ${number} before starting at {job}.", "+", (10, 90)),
)
"""What may happen to the money, in this order: the fact, and the step with its number."""


def wages(random: Random, level: int) -> Problem:
    """Money by the hour, day and week, with regular and single gains and expenses."""
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
    price, thing = tale.random.randint(4, min(120, tale.value - 2)), tale.random.choice(_GOODS)
    tale.tell(f"After the last day at {job}, {person} buys a {thing} for ${price}.", "-", price)


def _change_of_luck(tale: Tale, person: str, job: str) -> None:
    """Half of the money goes, or, where it cannot be halved in whole dollars, it doubles."""
    if tale.value % 2 == 0:
        tale.tell(f"At the very end, {person} gives half of all {their(person)} money to charity.")
        tale.step("/", 2)
    else:
        tale.tell(f"At the very end, {person}'s mother doubles all {their(person)} money.", "*", 2)


_ENDINGS = (_purchase, _change_of_luck)
