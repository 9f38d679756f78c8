from __future__ import annotations

import time

import pytest

from laconic.envs.families.arithmetic.numbers import WINDOW, answer_in, commitment, plain


@pytest.mark.parametrize(
    "text", ["", " ", "####", "no digits", "NaN", "Infinity", "\\boxed{}", "-"]
)
def test_a_text_without_a_number_has_no_answer(text: str) -> None:
    assert answer_in(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("#### 1,234", "1234"),
        ("####12", "12"),
        ("#### **12**", "12"),
        ("#### -3", "-3"),
        ("#### $12.50", "12.5"),
        ("#### -$7", "-7"),
        ("#### $-7", "-7"),
        ("\\boxed{12}", "12"),
        ("\\boxed{\\$12.50}", "12.5"),
        ("\\boxed{12\\%}", "12"),
        ("\\boxed{\\text{\\textbf{12} dollars}}", "12"),
        ("\\boxed{1{,}234}", "1234"),
        ("\\boxed{1\\,234}", "1234"),
        ("\\boxed{x = 12}", "12"),
        ("it costs $12.50", "12.5"),
        ("\\$12", "12"),
        ("-3", "-3"),
        ("\u22123", "-3"),
        ("The answer is 12.", "12"),
        ("1,234.0", "1234"),
        ("1,234,567", "1234567"),
        ("5%", "5"),
        ("10-3", "3"),
        ("3 + 4 = 7 pens", "7"),
        ("(12)", "12"),
        (".5", "0.5"),
        ("wait...5", "5"),
        ("007", "7"),
        ("-0", "0"),
        ("12 litres of H2O", "12"),
        ("36/3 = 12", "12"),
        ("12, which is 1/2", "12"),
        ("答案是-12", "-12"),
    ],
)
def test_the_accepted_forms_are_read(text: str, number: str) -> None:
    assert answer_in(text) == number


def test_the_last_number_counts() -> None:
    assert answer_in("First 3, then 4.") == "4"


def test_a_marked_number_goes_before_later_unmarked_ones() -> None:
    assert answer_in("#### 12 and that took 3 steps") == "12"


def test_the_last_of_several_markers_counts() -> None:
    assert answer_in("#### 12 no, \\boxed{13}") == "13"
    assert answer_in("\\boxed{13} no, #### 12 no, #### 11") == "11"


def test_a_marker_without_a_number_does_not_count() -> None:
    assert answer_in("#### 12 #### ? \\boxed{x}") == "12"
    assert answer_in("It is 12 #### none") == "12"


@pytest.mark.parametrize("text", ["#### 1/2", "\\boxed{1/2}", "1/2", "#### 3.5/2"])
def test_fractions_are_no_numbers(text: str) -> None:
    assert answer_in(text) is None


def test_a_commitment_is_given_letter_for_letter() -> None:
    assert commitment("so #### 1,234.0 pens") == ("#### 1,234.0", "1234")
    assert commitment("so \\boxed{\\text{12 {or so}}} pens") == (
        "\\boxed{\\text{12 {or so}}}",
        "12",
    )
    assert commitment("so 12 pens") is None
    assert commitment("so \\boxed{\\frac{1}{2}} of them") is None


@pytest.mark.parametrize(
    ("number", "form"),
    [("12", "12"), ("12.00", "12"), ("$1,234.50", "1234.5"), ("-012", "-12"), ("5%", "5")],
)
def test_plain_form_drops_what_does_not_matter(number: str, form: str) -> None:
    assert plain(number) == form


@pytest.mark.parametrize("text", ["", "-", "twelve", "1 2", "1/2", "12 pens", "1e3", "nan"])
def test_plain_form_exists_for_one_number_only(text: str) -> None:
    assert plain(text) is None


def test_numbers_beyond_floating_point_stay_apart() -> None:
    # 2**53 and 2**53 + 1 are the same float.
    assert plain("9007199254740992") != plain("9007199254740993")


def test_unicode_digits_are_no_digits() -> None:
    assert answer_in("١٢") is None
    assert answer_in("１２") is None


def test_a_number_cut_by_the_window_is_not_read_in_part() -> None:
    # The window begins between the digits 1 and 2.
    assert answer_in("12" + "x" * (WINDOW - 1)) is None
    assert answer_in(" 12" + "x" * (WINDOW - 2)) == "12"


@pytest.mark.parametrize(
    "text",
    [
        "1" * 10**6,
        "#### " + "9" * 10**6,
        "x" * 10**6,
        "#" * 10**6,
        "#### " * 200_000,
        "####\t\t\t\t**$" * 100_000,
        "1,111" + ",111" * 250_000 + "1",
        "\\boxed{" * 150_000,
        "\\boxed{1" * 150_000,
        "{" * 10**6,
        "-" * 10**6,
        "$" * 10**6,
        "1/" * 500_000,
        ".1" * 500_000,
        "1 " * 500_000,
        "\x00" * 10**6,
        "\ud800" * 10**6,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_text_costs_little(text: str) -> None:
    started = time.perf_counter()
    answer_in(text)
    # It takes some milliseconds; the bound leaves room for a busy machine.
    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize(
    "wrong",
    [
        "#### 15e3",
        "#### 1e999999999",
        "#### 15abc1",
        "#### 15_2",
        "#### --3",
        r"\boxed{15e3}",
        "#### 5 76",
        "#### 13!",
        "#### 13^2",
        r"#### \sqrt{13}",
        r"\boxed{\frac{1}{13}}",
        "#### 13 * 2",
        "#### 13 = 14",
        r"\boxed{x = 14 = 13}",
        "#### 13 or 14",
        r"\boxed{14; 13}",
        "#### 13 no wait it is 14",
        r"\boxed{\text{not } 13}",
    ],
)
def test_what_only_begins_like_a_number_commits_to_none_and_is_no_answer(wrong):
    assert commitment(wrong) is None
    # The last number in it does not count either: it might be the right one of two.
    assert answer_in(wrong) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("#### 15/1", "15"),
        (r"\boxed{15/1}", "15"),
        ("#### 5 760", "5760"),
        (r"\boxed{5 760}", "5760"),
        ("#### 5 pens for 76 cents", "5"),
        ("#### 15 apples", "15"),
        ("#### 15kg", "15"),
        ("#### -3", "-3"),
    ],
)
def test_other_ways_of_writing_a_number_are_read(text, number):
    found = commitment(text)
    assert found is not None and found[1] == number


def test_a_number_over_one_and_a_spaced_one_are_plain_numbers():
    assert plain("15/1") == "15" and plain("5 760") == "5760"
    assert plain("15/10") is None and plain("--3") is None and plain("15e3") is None
