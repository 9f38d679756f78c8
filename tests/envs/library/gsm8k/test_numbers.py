from __future__ import annotations

import time

import pytest

from laconic.envs.library.gsm8k.numbers import WINDOW, answer_in, commitment, plain


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


def test_digits_of_other_scripts_are_no_digits() -> None:
    assert answer_in("١٢") is None
    assert answer_in("१२") is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (r"#### \(42\)", "42"),
        (r"#### \[42\]", "42"),
        (r"#### \\(42\\)", "42"),
        ("#### $$42$$", "42"),
        ("<b>#### 42</b>", "42"),
        ("#### <b>42</b>", "42"),
        ("<answer>#### 42</answer>", "42"),
        ("#### 42<|im_end|>", "42"),
        ("#### *42*", "42"),
        ("#### __42__", "42"),
        (r"#### \mathit{42}", "42"),
    ],
)
def test_dress_around_a_marked_number_does_not_matter(text: str, number: str) -> None:
    assert answer_in(text) == number


@pytest.mark.parametrize("minus", "-\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d")
def test_every_minus_sign_is_read(minus: str) -> None:
    for text in (
        "#### {}5",
        "#### {} 5",
        "#### {}$5",
        "#### {}\u20ac5",
        r"\boxed{{{}5}}",
        "It is {}5.",
    ):
        assert answer_in(text.format(minus)) == "-5", text
    # Between numbers it subtracts, or joins them to a range.
    assert answer_in(f"#### 12 {minus} 5") is None
    assert answer_in(f"from 2{minus}5 days") == "5"


def test_a_minus_in_words_is_a_sign_and_a_dash_after_a_word_is_none() -> None:
    assert answer_in("#### minus 5") == answer_in("#### Negative $5") == "-5"
    assert answer_in("#### Total \u2013 5") == answer_in("#### Total \u2014 5") == "5"
    assert answer_in("#### 42 \u2013 that is all") == "42"
    # A minus that is not glued to the number is no number.
    assert answer_in("#### -(5)") is answer_in("#### -USD 5") is answer_in("#### -|5|") is None


@pytest.mark.parametrize("space", "\u00a0\u2007\u2008\u2009\u200a\u202f'\u2019")
def test_thin_spaces_and_apostrophes_group_digits(space: str) -> None:
    for text in ("#### {}", r"\boxed{{{}}}", "The answer is {}."):
        assert answer_in(text.format(f"42{space}000")) == "42000"
    assert answer_in(f"#### 1{space}234{space}567") == plain(f"1{space}234{space}567") == "1234567"
    # Groups of another length are two numbers.
    assert answer_in(f"#### 42{space}00") is None


def test_full_width_and_invisible_characters_are_read() -> None:
    assert answer_in("#### ４２，０００") == answer_in("＃＃＃＃ 42,000") == "42000"
    assert answer_in("#### \u200b42\ufeff") == answer_in("#### ４２％") == "42"
    assert commitment("so #### \u22125 ４２") is None
    assert commitment("so #### ４２ pens") == ("#### ４２", "42")


def test_spaces_group_digits_without_a_mark_too() -> None:
    assert answer_in("The answer is 42 000.") == "42000"
    # Groups of two digits are two numbers, of which the last counts.
    assert answer_in("He has 42 50") == "50"


@pytest.mark.parametrize(
    "times", ["x", "X", "\u00d7", "\u00b7", "\u22c5", "\u2217", "\u2022", "*", "times", r"\times"]
)
def test_a_product_is_no_number(times: str) -> None:
    for text in ("6 {} 7 = 42", "6 {} 7", "6 pens {} 7", "6 {} $7", "6 {} (7)"):
        assert answer_in("#### " + text.format(times)) is None
        assert answer_in(rf"\boxed{{{text.format(times)}}}") is None
    # Without a mark the last number counts.
    assert answer_in(f"6 {times} 7 = 42") == "42"
    # A remark may say how the number came about.
    for remark in (
        "pens (6 {} 7)",
        "because 6 {} 7 = 42",
        "pens, for 6 {} 7 is 42",
        ". 6 {} 7 = 42",
    ):
        assert answer_in("#### 42 " + remark.format(times)) == "42", remark


@pytest.mark.parametrize(
    "text",
    [
        "#### 6 \u00f7 2",
        "#### 6 divided by 2",
        "#### 6 plus 7",
        "#### 6 pens + 7 pens = 13",
        "#### 6(7)",
        "#### 6 (7)",
        "#### 42 \u00b1 1",
        "#### 42 \u2192 43",
        "#### 5\u00bd",
        "#### 5\u00b2",
        "#### 5\u20442",
        "The answer is 5\u00bd",
    ],
)
def test_what_is_worked_out_or_raised_is_no_number(text: str) -> None:
    assert answer_in(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "#### $18/day",
        r"#### \$18/day",
        "#### $18 / hour",
        "#### 18/lb",
        "#### 18 eggs/day",
        "#### $18 per day",
        r"\boxed{\$18/\text{day}}",
        r"\boxed{18\text{ dollars}/\text{hour}}",
    ],
)
def test_an_amount_per_unit_is_its_number(text: str) -> None:
    assert answer_in(text) == "18"


@pytest.mark.parametrize("below", ["2", "x", "n", "two", "2 days", "(2)"])
def test_an_amount_over_a_number_is_none(below: str) -> None:
    assert answer_in(f"#### $18/{below}") is None
    assert answer_in(rf"\boxed{{18/{below}}}") is None


@pytest.mark.parametrize(
    "text",
    [
        "#### 42 (x = 6)",
        "#### 42 (for 6 x 7)",
        "#### 42 m^2",
        r"\boxed{42\ \text{m}^2}",
        r"\boxed{42\text{ cm}^{3}}",
        "#### 42 \u21d2 done",
        "#### 42 times as many",
    ],
)
def test_remarks_and_powers_of_units_do_not_matter(text: str) -> None:
    assert answer_in(text) == "42"


@pytest.mark.parametrize("text", [r"\boxed{42x^2}", r"\boxed{42^2}", "#### 42^2", "#### 42 (7)"])
def test_powers_of_numbers_and_variables_are_no_units(text: str) -> None:
    assert answer_in(text) is None


def test_a_number_has_forty_digits_at_most() -> None:
    assert answer_in("#### " + "1" * 40) == "1" * 40
    assert answer_in("#### " + "1" * 41) is None


def test_an_open_last_box_is_no_mark() -> None:
    assert answer_in(r"First \boxed{7}. No: \boxed{8") == "7"
    assert answer_in(r"First \boxed{7}. No: \boxed{}") == "7"
    assert answer_in(r"It is \boxed{8") == "8"


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
    result = commitment(text)
    assert result is not None and result[1] == number


def test_a_number_over_one_and_a_spaced_one_are_plain_numbers():
    assert plain("15/1") == "15" and plain("5 760") == "5760"
    assert plain("15/10") is None and plain("--3") is None and plain("15e3") is None
