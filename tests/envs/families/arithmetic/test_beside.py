"""What stands beside a stated number: units and remarks stay, whatever changes the value does not.

Each text is an answer behind `####` and in a box.
"""

from __future__ import annotations

import pytest

from laconic.envs.families.arithmetic.beside import changed_before, changed_behind, multiplied
from laconic.envs.families.arithmetic.numbers import answer_in


def stated(text: str) -> set[str | None]:
    return {answer_in(f"#### {text}"), answer_in(rf"\boxed{{{text}}}")}


@pytest.mark.parametrize(
    "text",
    [
        # Multiples, also those that no list has, such as `brillion` and `mega-bucket`.
        *("7 million", "6k", "6K", "6 M", "7 dozen", "7 dozens of eggs", "7 hundred", "7 bn"),
        *("7 billion dollars", "7 lakh", "7 grand", "7 gross", "7 mio", "$6m", "7-fold", "7 kk"),
        *("7 brillion people", "7 zug", "7 (million)", "7 (in thousands)", "one hundred 12"),
        # Powers and shares.
        *("6 squared", "6 cubed", "6 factorial", "6 half", "6 and a half", "6 and three quarters"),
        *("7 tenths", "half of 12", "a third of 12", "twice 12", "double 12", "square root of 49"),
        *("50% of 12", "50 percent of 12", "\u221a49", "6 to the power of 2"),
        # Ranges and bounds.
        *(
            "12 to 14",
            "between 6 and 7",
            "6-7",
            "12 \u2013 14",
            "12 days to 14 days",
            "6 through 9",
        ),
        *("at least 7", "more than 7", "up to 7", "6 or seven", "six or 7", "12, thirteen"),
        # Operations, whatever sign they have.
        *("10 out of 12", "1 in 20", "6 by 7", "6 mod 4", "6 % 4 = 2", "12 / 4", "12 over 4"),
        *("6 \u2a2f 7 = 42", "6 \u2a09 7", "6 \u2297 7", "6 \u2573 7", "6 \u274c 7", "6 \u0445 7"),
        *(
            "6 @ 7",
            "6 y",
            "7 minus two",
            "6 times seven",
            "12 in x 14 in",
            "12 in by 14 in",
            "(6)(7)",
        ),
        # Times of day, and amounts of two parts.
        *("3:30", "3 : 30", "3 hours 30 minutes", "5 ft 6 in", "5 lb and 3 oz", "$12 and 50 cents"),
        *("12 dollars and 50 cents", "12 dollars, 50 cents", "12 dollars and fifty cents"),
        # Ordinals.
        *("12th", "1st"),
    ],
)
def test_a_number_with_something_beside_it_that_changes_its_value_is_no_answer(text):
    assert stated(text) == {None}


@pytest.mark.parametrize(
    "text",
    [
        *("+12", "+ 12", "+$12", "= +12", "The answer is +12", "12%", "12 percent", "12$", "12."),
        *("12 apples", "12 tennis balls", "12 chocolate chip cookies", "12 fish", "12 people"),
        *("12kg", "12 square feet", "12 cm\u00b2", "12 meters squared", "12-inch", "12 m", "12 pm"),
        *(
            "12 miles per hour",
            "$12 per day",
            "12 hours a day",
            "12 years old",
            "12 left",
            "12 each",
        ),
        *("12 more", "12 more apples than Bob", "12 in total", "12 times as many", "12 of them"),
        *(
            "12 because it is so",
            "12 is the answer",
            "12 apples!",
            "12 apples or so",
            "12 (apples)",
        ),
        *("She has 12 apples", "a total of 12 dollars", "adds up to 12", "the other half is 12"),
        *("$12 to start with", "$12 allowance", "12 minutes for each lap", "12 cr\u00eapes"),
    ],
)
def test_units_and_remarks_beside_a_number_do_not_matter(text):
    assert stated(text) == {"12"}


def test_one_thing_has_a_unit_in_the_singular():
    assert stated("1 apple") == stated("1 pallet of cups") == {"1"}
    assert stated("1 million") == stated("1 dozen eggs") == {None}
    # More than one have a plural: another word may be a multiplier.
    assert stated("12 apple") == {None}


def test_a_plus_sign_that_adds_is_none_of_the_number():
    for text in ("6 + 7", "6 +7", "j + 12", "+-12", "++12"):
        assert answer_in(f"#### {text}") is None, text


def test_without_a_mark_a_multiple_is_no_answer_either():
    for text in ("It is 7 million.", "They pay $6k", "He needs 6 and a half", "Half of 12"):
        assert answer_in(text) is None, text
    # A time of day is no number, and the one before it counts.
    assert answer_in("He has 7 pens at 6:07") == "7"
    assert answer_in("In 3 boxes are 12 pens, at least.") == "12"


def test_underscores_group_digits():
    assert answer_in("#### 42_000") == "42000" and answer_in("It is 1_042_000") == "1042000"
    assert answer_in("#### 42_00") is answer_in("#### 42_0000") is None


def test_the_clause_before_a_number_begins_behind_the_last_verb_sign_or_comma():
    assert changed_before("is half of ") and not changed_before("half of it is ")
    assert not changed_before("half = ") and not changed_before("of the other half, ")


def test_the_sign_of_a_currency_is_the_unit_of_a_number():
    assert not changed_behind(" allowance", "12", money=True)
    assert changed_behind(" allowance", "12", money=False)
    assert changed_behind(" k", "12", money=True) and changed_behind(" m", "12", money=True)


def test_a_word_multiplies_only_as_a_whole():
    assert multiplied(" million.") and multiplied("K") and not multiplied(" millionaires")
