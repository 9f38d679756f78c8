from __future__ import annotations

from random import Random

import pytest

from laconic.envs.library.strategyqa.knowledge import (
    FAMILIES,
    LANGUAGE,
    LIFETIME,
    PLACE,
    PRICE,
    Family,
)


@pytest.mark.parametrize(
    ("family", "holds"),
    [
        (PLACE, lambda person, thing: person == thing),
        (LANGUAGE, lambda person, thing: person == thing),
        (PRICE, lambda person, thing: int(person) >= int(thing)),
        (LIFETIME, lambda person, thing: int(person) > int(thing)),
    ],
)
@pytest.mark.parametrize("answer", [True, False])
def test_drawn_values_give_the_answer_that_was_asked_for(
    family: Family, holds: object, answer: bool
) -> None:
    for seed in range(300):
        values = family.draw(Random(seed), answer)
        assert holds(*values) == answer, values  # type: ignore[operator]


def test_one_value_alone_does_not_tell_the_answer() -> None:
    for family in FAMILIES:
        both = [
            {family.draw(Random(seed), answer)[side] for seed in range(2000)}
            for answer in (True, False)
            for side in (0, 1)
        ]
        for side in (0, 1):
            assert len(both[side] & both[2 + side]) > 5, family.question


def test_a_working_puts_both_values_beside_each_other() -> None:
    assert PLACE.working(("Oslo", "Rome"), False) == "Oslo, Rome: different."
    assert PRICE.working(("3", "3"), True) == "3, 3: enough."


def test_the_easy_families_are_two_and_have_gaps_for_whom_and_what() -> None:
    assert FAMILIES[:2] == (PLACE, PRICE)
    for family in FAMILIES:
        assert "{who}" in family.person_fact and "{thing}" in family.thing_fact
        assert "{who}" in family.question and "{thing}" in family.question
        assert len(family.things) > 10
