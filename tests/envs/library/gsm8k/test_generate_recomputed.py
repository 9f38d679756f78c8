"""Stories read again from their English alone, by a reader that knows nothing of their makers."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from random import Random

import pytest

from laconic.envs.benchmarks.generation import Problem
from laconic.envs.library.gsm8k.amounts import comparison, diary, habit
from laconic.envs.library.gsm8k.money import business, journey, shopping, wages

TIMES = {"half": Fraction(1, 2), "twice": Fraction(2), "three times": Fraction(3)}
TIMES |= {"four times": Fraction(4)}
_COMPARED = r"(?:(\d+) (more|fewer) (?:than )?)?(?:(half|twice|three times|four times) as many )?"


def numbers(fact: str) -> list[Fraction]:
    return [Fraction(number) for number in re.findall(r"\d+", fact)]


def compared(words: str, other: Fraction) -> Fraction:
    """Work out `3 more than twice as many pens as Ann` from the number of Ann's pens."""
    count, sign, times = re.match(_COMPARED, words).groups()  # type: ignore[union-attr]
    assert count or times, words
    value = other * TIMES[times] if times else other
    return value + (int(count) if sign == "more" else -int(count)) if count else value


def money(problem: Problem) -> Fraction:
    """Wages: by the hour, and then whatever comes, in the order told."""
    value = Fraction(1)
    for fact in problem.facts:
        number = (numbers(fact) or [Fraction(2)])[0]
        if re.search("an hour at|hours a day|days a week|keeps the job|doubles", fact):
            value *= number
        elif "gives half" in fact:
            value /= 2
        else:
            assert re.search(r"in tips|had \$|bus rides|buys a", fact), fact
            value += number if re.search(r"in tips|had \$", fact) else -number
    return value


def bill(problem: Problem) -> Fraction:
    """Shopping: what is bought, less the coupon; then shared, or taken from a note."""
    value = Fraction(0)
    for fact in problem.facts:
        result = numbers(fact)
        if " each." in fact:
            value += result[0] * result[1]
        elif "also buys" in fact:
            value += result[0]
        elif "coupon" in fact:
            value -= result[0]
        elif "share" in fact:
            value /= result[0]
        else:
            assert "pays with" in fact
            value = result[0] - value
    return value


def together(problem: Problem) -> Fraction:
    """Comparison: everybody's number, and the sum over whom the question names."""
    have: dict[str, Fraction] = {}
    for fact in problem.facts:
        person, _, words = fact.rstrip(".").partition(" ")
        words, other = words.partition(" ")[2], fact.rstrip(".").rpartition(" ")[2]
        have[person] = compared(words, have[other]) if other in have else numbers(words)[0]
    return sum((have[name] for name in re.findall(r"[A-Z]\w+", problem.question) if name in have),
               Fraction(0))  # fmt: skip


def week(problem: Problem) -> Fraction:
    """Diary: events of one person day by day, perhaps compared with another at the end."""
    own, others = Fraction(0), None
    for fact in problem.facts:
        result = numbers(fact)
        if "at the start" in fact:
            own = result[0]
        elif "at the end" in fact:
            others = compared(fact.split(" has ")[1], own)
        elif " half of " in fact:
            own /= 2
        elif "as many" in fact:
            own *= 2
        elif "a third of" in fact or "a quarter of" in fact:
            own -= own / (3 if "a third" in fact else 4)
        elif "packs of" in fact or "to each of" in fact:
            own += result[0] * result[1] * (1 if "packs of" in fact else -1)
        else:
            gains = re.search("buys|finds|gets|wins", fact)
            assert gains or re.search("sells|loses|gives|lends", fact), fact
            own += result[0] if gains else -result[0]
    if others is None:
        return own
    return own + others if "together" in problem.question else others


def trade(problem: Problem) -> Fraction:
    """Business: places in places, losses and gains, bags, their price and a driver."""
    value = Fraction(1)
    for fact in problem.facts:
        number = numbers(fact)[0]
        if re.match(r"\d+ of the ", fact) or "to a driver" in fact:
            value -= number
        elif " more " in fact:
            value += number
        elif "bags of" in fact:
            value /= number
        else:
            assert re.search(r" has \d+ |sells each bag", fact), fact
            value *= number
    return value


def days(problem: Problem) -> tuple[Fraction, list[str]]:
    """Add up days, each a number, a speed and a time, or compared with another day."""
    finished: dict[str, Fraction] = {}
    rest = []
    for fact in problem.facts:
        match = re.fullmatch(r"On (\w+), \w+ \w+ (.*)\.", fact)
        if not match:
            rest.append(fact)
            continue
        day, words = match.groups()
        other = re.search(r" on (\w+)$", words)
        if other:
            finished[day] = compared(words, finished[other[1]])
        else:
            result = numbers(words)
            finished[day] = result[0] * (result[1] if "an hour" in words else 1)
    return sum(finished.values(), Fraction(0)), rest


def road(problem: Problem) -> Fraction:
    """Journey: miles, gallons, dollars for gas, tolls, and what is left of the cash."""
    value, rest = days(problem)
    for fact in rest:
        result = numbers(fact)[-1]
        if "for every" in fact:
            value /= result
        elif "each gallon" in fact:
            value *= result
        else:
            assert "tolls on the journey" in fact or "takes $" in fact, fact
            value = value + result if "on the journey" in fact else result - value
    return value


def bits(problem: Problem) -> Fraction:
    """Habit: what is done, or left to do, or left a day."""
    value, rest = days(problem)
    for fact in rest:
        value = value / numbers(fact)[0] if "evenly" in fact else numbers(fact)[0] - value
    return value


READERS: list[tuple[Callable[[Random, int], Problem], Callable[[Problem], Fraction]]] = [
    *((wages, money), (shopping, bill), (comparison, together), (diary, week)),
    *((business, trade), (journey, road), (habit, bits)),
]


@pytest.mark.parametrize(("family", "read"), READERS, ids=lambda value: value.__name__)
@pytest.mark.parametrize("level", range(2, 9))
def test_the_answer_is_what_the_sentences_say(
    family: Callable[[Random, int], Problem], read: Callable[[Problem], Fraction], level: int
) -> None:
    for seed in range(60):
        problem = family(Random(seed), level)
        assert read(problem) == int(problem.answer), problem


@pytest.mark.parametrize("family", [family for family, _ in READERS], ids=lambda f: f.__name__)
def test_numbers_stay_whole_and_small_enough_to_work_out(
    family: Callable[[Random, int], Problem],
) -> None:
    answers = [int(family(Random(seed), 8).answer) for seed in range(100)]
    assert all(0 < answer < 10**6 for answer in answers)
    assert len(set(answers)) > 40
