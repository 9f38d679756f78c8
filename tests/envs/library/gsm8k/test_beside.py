"""What stands beside a stated number: units and remarks stay, whatever changes the value does not.

Each text is an answer behind `####` and in a box.
"""

from __future__ import annotations

import pytest

from laconic.envs.library.gsm8k.beside import changed_before, changed_behind, multiplied
from laconic.envs.library.gsm8k.numbers import answer_in


def stated(text: str) -> set[str | None]:
    return {answer_in(f"#### {text}"), answer_in(rf"\boxed{{{text}}}")}


@pytest.mark.parametrize(
    "text",
    [
        # Multiples, also made-up ones such as `brillion`.
        *("7 million", "6k", "6K", "6 M", "7 dozen", "7 dozens of eggs", "7 hundred", "7 bn"),
        *("7 billion dollars", "7 lakh", "7 grand", "7 gross", "7 mio", "$6m", "7-fold", "7 kk"),
        *("7 brillion people", "7 (million)", "7 (in thousands)", "one hundred 12"),
        # Powers and shares.
        *("6 squared", "6 cubed", "6 factorial", "6 half", "6 and a half", "6 and three quarters"),
        *("7 tenths", "half of 12", "a third of 12", "twice 12", "double 12", "square root of 49"),
        *("50% of 12", "50 percent of 12", "\u221a49", "6 to the power of 2"),
        # Ranges and bounds.
        *("12 to 14", "between 6 and 7", "6-7", "12 \u2013 14", "12 days to 14 days"),
        "6 through 9",
        *("at least 7", "more than 7", "up to 7", "6 or seven", "six or 7", "12, thirteen"),
        # Operations, whatever sign they have.
        *("10 out of 12", "1 in 20", "6 by 7", "6 mod 4", "6 % 4 = 2", "12 / 4", "12 over 4"),
        *("6 \u2a2f 7 = 42", "6 \u2a09 7", "6 \u2297 7", "6 \u2573 7", "6 \u274c 7", "6 \u0445 7"),
        *("6 @ 7", "6 y", "7 minus two", "6 times seven", "12 in x 14 in", "12 in by 14 in"),
        "(6)(7)",
        # Times of day, and amounts of two parts.
        *("3:30", "3 : 30", "3 hours 30 minutes", "5 ft 6 in", "5 lb and 3 oz", "$12 and 50 cents"),
        *("12 dollars and 50 cents", "12 dollars, 50 cents", "12 dollars and fifty cents"),
        *("5 hrs. 30 min.", "5 min. 30 s", "5 ft. 6 in.", "5 lbs. 3 oz", "5 hours (30 minutes)"),
        *("5 long hours and 30 minutes", "5 hours then 30 minutes", "5 hours, half", "12,34"),
        *("12 dollars with 50 cents", "5 dollars and change", "12..14", "5 pens and 6 pencils"),
        # Bounds behind a number.
        *("5 or more", "5 or fewer pens", "5 pens or more", "5 at most", "5 at least"),
        "5, at most",
        # Operations in words, also open ones, and in brackets or behind a comma.
        *("5 plus", "12 plus tax", "12 dollars plus tax", "5-", "5 to", "3 (times 2)", "3 (*2)"),
        *("3 (x 10^6)", "3, doubled", "3 then doubled", "3 apples doubled", "12 in base 3"),
        *("12 (base 3)", "12 times more than 3", "12 degrees below zero", "6 per cent of 50"),
        *("half past 12", "fifty percent of 12", "isn't 12", "max(12)", "f(12)", "abs(-12)"),
        "floor(12.5)",
        # Multiples behind other words.
        *("3 extra million", "3 total dozen", "7 pairs", "7 baker's dozen", "12 [thousands]"),
        *("12 (thirteen)", "1 half hour", "7 tenths of a mile", "7 half-million", "7 kk"),
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
        *("12 miles per hour", "$12 per day", "12 hours a day", "12 years old", "12 left"),
        "12 each",
        *("12 more", "12 more apples than Bob", "12 in total", "12 times as many", "12 of them"),
        *("12 because it is so", "12 is the answer", "12 apples!", "12 apples or so"),
        "12 (apples)",
        *("She has 12 apples", "a total of 12 dollars", "adds up to 12", "the other half is 12"),
        # A word that nobody knows names what is counted.
        *("12 zug", "12 apple", "12 allowance", "12 noon", "12 yr old", "12 wk", "12 mo", "12 ppl"),
        *("12 tbsp", "12 ea", "12 pc", "12c", "12 Hz", "12 V", "12 W", "12 N", "12 \u00ba"),
        "12 p.m.",
        *("12 % discount", "12 % increase", "12 o'clock", "$12 per dozen", "$12 a dozen"),
        # Words of number that do so.
        *("12 third graders", "12 ten-dollar bills", "12 hundred-dollar bills", "12 half dollars"),
        *("12 half-dollars", "12 half hours", "12 quarter coins", "12 quarters"),
        "12 pairs of shoes",
        # The number once more, how it came about, and marks that change nothing.
        *("12 (twelve)", "12 (a dozen)"),
        *("12 - done", "12 \u2014done", "\u224812", "12<|eot_id|>Hello"),
        *("$12 to start with", "$12 allowance", "12 minutes for each lap", "12 cr\u00eapes"),
    ],
)
def test_units_and_remarks_beside_a_number_do_not_matter(text):
    assert stated(text) == {"12"}


@pytest.mark.parametrize(
    "text",
    [
        *("12, half of 24", "12 pens (3 x 4)", "12 minutes (1 hour)"),
        *("12 students scored over 80%", "12. 6 x 2 = 12", "12 more pens than 3 boys have"),
        *("12 years old, 3 years younger than Bob", "12 pens left, 3 of them red"),
    ],
)
def test_a_remark_may_name_other_numbers_outside_of_a_box(text):
    assert answer_in(f"#### {text}") == "12"


def test_a_share_of_one_thing_is_no_name_of_it():
    assert stated("1 apple") == stated("1 pallet of cups") == {"1"}
    assert stated("1 million") == stated("1 dozen eggs") == stated("1 half hour") == {None}


def test_letters_glued_to_a_number_are_variables_where_they_name_no_unit():
    assert stated("12ab") == stated("12a") == stated("12 y") == {None}
    assert stated("12 ab") == stated("12kg") == stated("12Hz") == {"12"}


def test_a_plus_sign_that_adds_is_none_of_the_number():
    for text in ("6 + 7", "6 +7", "j + 12", "+-12", "++12"):
        assert answer_in(f"#### {text}") is None, text


def test_without_a_mark_a_multiple_is_no_answer_either():
    for text in ("It is 7 million.", "They pay $6k", "He needs 6 and a half", "Half of 12"):
        assert answer_in(text) is None, text
    # A time of day is no number, and the one before it counts.
    assert answer_in("He has 7 pens at 6:07") == "7"
    assert answer_in("In 3 boxes are 12 pens, at least.") == "12"


@pytest.mark.parametrize(
    "text",
    ["so 12 dollars and 50 cents", "It is $12 and 50 cents.", "5 ft 6 in", "He has 12 to 14 pens."],
)
def test_without_a_mark_the_second_part_of_an_amount_is_no_answer(text):
    assert answer_in(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("He has 7 pens and 12 pencils", "12"),
        ("It rises from 9 to 12", "12"),
        ("He gives 7 pens to 12 boys", "12"),
        ("It takes 90 minutes or 2 hours", "2"),
    ],
)
def test_without_a_mark_the_last_number_of_a_list_counts(text, number):
    assert answer_in(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("1,234", "1234"), ("12,34,567", "1234567"), ("1,2", None), ("0,123", None), ("1,2345", None)],
)
def test_commas_group_thousands(text, number):
    assert answer_in(f"#### {text}") == number


def test_a_nearly_equal_sign_is_no_bound():
    assert answer_in("#### ~12") == "12"
    assert answer_in("#### 12~14") is answer_in("#### >12") is None


def test_underscores_group_digits():
    assert answer_in("#### 42_000") == "42000" and answer_in("It is 1_042_000") == "1042000"
    assert answer_in("#### 42_00") is answer_in("#### 42_0000") is None


def test_the_clause_before_a_number_begins_behind_the_last_verb_sign_or_comma():
    assert changed_before("is half of ") and not changed_before("half of it is ")
    assert not changed_before("half = ") and not changed_before("of the other half, ")


def test_letters_behind_an_amount_of_money_multiply_it():
    assert changed_behind(" MM", "12", money=True) and not changed_behind(" mm", "12", money=False)
    assert changed_behind(" k", "12", money=True) and changed_behind(" m", "12", money=True)


def test_a_word_multiplies_only_as_a_whole():
    assert multiplied(" million.") and multiplied("K") and not multiplied(" millionaires")
