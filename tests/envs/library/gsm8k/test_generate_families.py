from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from laconic.envs.benchmarks.generation import Problem
from laconic.envs.benchmarks.words import ITEMS, PEOPLE
from laconic.envs.library.gsm8k.generate import FAMILIES, one_step
from laconic.envs.library.gsm8k.tale import Tale, portions, singular

Family = Callable[[Random, int], Problem]
Stories = list[tuple[int, int, Problem]]
OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
WORDS = {"half": 2, "twice": 2, "doubles": 2, "three": 3, "third": 3, "four": 4, "quarter": 4}
WORDS |= {"as many": 2}
LEVELS = range(2, 9)
DRAWS = 150
NAMED = re.compile(rf"\b({'|'.join(PEOPLE)})\b")


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda family: family.__name__)
def family(request: pytest.FixtureRequest) -> Family:
    family: Family = request.param
    return family


def solved(problem: Problem) -> list[tuple[int, int, int]]:
    """Return the steps of a solution as (first, second, result), each checked."""
    results = []
    for step in problem.working.split(", "):
        first, sign, second, result = re.fullmatch(r"(\d+) ([-+*/]) (\d+) = (\d+)", step).groups()  # type: ignore[union-attr]
        assert OPERATIONS[sign](int(first), int(second)) == int(result), step
        results.append((int(first), int(second), int(result)))
    return results


@pytest.fixture(scope="module")
def stories(family: Family) -> Stories:
    """Return stories of every level with level and seed."""
    return [(level, n, family(Random(n), level)) for level in LEVELS for n in range(DRAWS)]


def test_a_story_has_as_many_right_steps_as_its_level(stories: Stories) -> None:
    for level, _, problem in stories:
        steps = solved(problem)
        assert len(steps) == level
        assert all(result > 0 for *_, result in steps)


def test_every_fact_is_used_and_no_number_is_made_up(stories: Stories) -> None:
    for *_, problem in stories:
        steps = solved(problem)
        operands = {number for first, second, _ in steps for number in (first, second)}
        names: set[int] = set()
        for fact in problem.facts:
            numbers = {int(number) for number in re.findall(r"\d+", fact)}
            assert numbers <= operands, (fact, problem.working)
            words = {value for word, value in WORDS.items() if word in fact}
            assert numbers or words & operands, (fact, problem.working)
            names |= numbers | words
        results = {result for *_, result in steps}
        assert operands <= names | results, problem


def test_every_result_is_needed_for_the_answer(stories: Stories) -> None:
    for *_, problem in stories:
        steps = solved(problem)
        for index, (*_, result) in enumerate(steps[:-1]):
            later = {
                number for first, second, _ in steps[index + 1 :] for number in (first, second)
            }
            assert result in later


def test_every_sentence_stands_alone(stories: Stories) -> None:
    for _, seed, problem in stories:
        _, decoy = problem.decoy(Random(seed))
        for sentence in (*problem.facts, problem.question, decoy):
            assert NAMED.search(sentence), sentence
            assert sentence[0].isupper() or sentence[0].isdigit()
            assert sentence[-1] in ".?"
            assert not re.search(r"\b(she|he|then)\b", sentence, re.IGNORECASE)
        assert len(set(problem.facts)) == len(problem.facts)
        assert decoy not in problem.facts


def test_a_family_tells_its_story_in_many_ways(family: Family) -> None:
    def shape(problem: Problem) -> str:
        names = rf"\b({'|'.join((*PEOPLE, *ITEMS, *(item[:-1] for item in ITEMS)))})\b"
        return re.sub(r"\d+", "0", re.sub(names, "_", problem.content))

    shapes = {shape(family(Random(seed), 8)) for seed in range(DRAWS)}
    # The least varied family tells level 8 in tens of ways apart from names, things and numbers.
    assert len(shapes) > DRAWS / 10


def test_content_is_the_same_in_any_order() -> None:
    problem = one_step(Random(0))
    turned = replace(problem, facts=problem.facts[::-1])
    assert turned.content == problem.content


def test_a_tale_keeps_the_quantity_it_has_reached() -> None:
    tale = Tale(Random(0))
    tale.start(4, "Ann has 4 pens.")
    assert tale.step("*", 3) == 12
    assert tale.step("-", 2) == 10
    assert tale.step("/", 5, 20) == 4
    problem = tale.ask("How many?", lambda random: ("", ""))
    assert problem.answer == "4"
    assert problem.working == "4 * 3 = 12, 12 - 2 = 10, 20 / 5 = 4"
    assert problem.facts == ("Ann has 4 pens.",)


def test_a_divisor_divides_or_is_none() -> None:
    tale = Tale(Random(0))
    tale.start(35)
    assert tale.divisor((2, 3, 4, 5)) == 5
    assert tale.divisor((2, 3, 4)) is None


@pytest.mark.parametrize("total", range(9))
def test_portions_add_up_and_keep_to_the_most(total: int) -> None:
    for seed in range(20):
        cut = portions(Random(seed), total, 5)
        assert sum(cut) == total
        assert len(cut) <= 5
        assert set(cut) <= {1, 2}


def test_a_singular_has_its_article() -> None:
    assert (singular("pens"), singular("apples")) == ("a pen", "an apple")
