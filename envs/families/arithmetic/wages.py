"""A family about a job: money by the hour, day and week, with gains and expenses."""

from __future__ import annotations

from random import Random

from laconic.envs.families.arithmetic.tale import Problem, Tale
from laconic.envs.families.arithmetic.words import PEOPLE, another, their

_JOBS = (
    "the bakery",
    "the cinema",
    "the bookshop",
    "the farm",
    "the garage",
    "the hotel",
    "the zoo",
)
_GOODS = ("coat", "bicycle", "desk", "radio", "guitar", "tent", "camera")


def wages(random: Random, level: int) -> Problem:
    """Money by the hour, day and week, with regular and single gains and expenses."""
    person, job = random.choice(PEOPLE), random.choice(_JOBS)
    tale = Tale(random)
    pay, hours = random.randint(8, 25), random.randint(2, 8)
    tale.tell(f"{person} earns ${pay} an hour at {job}.")
    tale.tell(f"{person} works {hours} hours a day at {job}.")
    tale.step("*", hours, pay)
    chosen = sorted(random.sample(range(7), level - 1))
    period = "week" if 0 in chosen else "day"
    for stage in chosen:
        _STAGES[stage](tale, person, job, period)
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


def _days(tale: Tale, person: str, job: str, period: str) -> None:
    days = tale.random.randint(2, 6)
    tale.tell(f"{person} works {days} days a week at {job}.")
    tale.step("*", days)


def _tips(tale: Tale, person: str, job: str, period: str) -> None:
    tips = tale.random.randint(3, 40)
    tale.tell(f"{person} also gets ${tips} in tips every {period}.")
    tale.step("+", tips)


def _fares(tale: Tale, person: str, job: str, period: str) -> None:
    fares = tale.random.randint(2, 9)
    tale.tell(f"{person} spends ${fares} on bus rides every {period}.")
    tale.step("-", fares)


def _weeks(tale: Tale, person: str, job: str, period: str) -> None:
    weeks = tale.random.randint(2, 6)
    tale.tell(f"{person} keeps the job at {job} for {weeks} {period}s and saves the money.")
    tale.step("*", weeks)


def _savings(tale: Tale, person: str, job: str, period: str) -> None:
    saved = tale.random.randint(10, 90)
    tale.tell(f"{person} had ${saved} before starting at {job}.")
    tale.step("+", saved)


def _purchase(tale: Tale, person: str, job: str, period: str) -> None:
    price, thing = tale.random.randint(4, min(120, tale.value - 2)), tale.random.choice(_GOODS)
    tale.tell(f"After the last day at {job}, {person} buys a {thing} for ${price}.")
    tale.step("-", price)


def _change_of_luck(tale: Tale, person: str, job: str, period: str) -> None:
    """Half of the money goes, or, where it cannot be halved in whole dollars, it doubles."""
    if tale.value % 2 == 0:
        tale.tell(f"At the very end, {person} gives half of all {their(person)} money to charity.")
        tale.step("/", 2)
    else:
        tale.tell(f"At the very end, {person}'s mother doubles all {their(person)} money.")
        tale.step("*", 2)


_STAGES = (_days, _tips, _fares, _weeks, _savings, _purchase, _change_of_luck)
