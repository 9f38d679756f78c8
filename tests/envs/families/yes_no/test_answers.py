from __future__ import annotations

import time

import pytest

from laconic.envs.families.yes_no.answers import WINDOW, answer_in, commitment


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "####",
            "#### ?",
            "\\boxed{}",
            "the answer is",
            "I know nothing",
            "nope",
            "yesterday",
        ),
        *("no one knows", "no-one can", "there is no evidence", "say no more"),
        *(
            "yes or no",
            "Yes/No",
            "no and yes",
            "neither yes nor no",
            "#### yes or no",
            "yes or not",
        ),
        *("The answer is yes or no", "**yes** or **no**", "It could be yes or could be no."),
        *(
            "Answer: yes & no",
            "Answer: yes, no",
            "#### true, false",
            "#### no; yes.",
            "**Yes**, no",
        ),
        *("yes?", "Is the answer no?"),
        *("The answer is no longer clear", "#### no evidence", "\\boxed{yes or no}", "yes-men"),
        *("yeſ", "nо", "да", "はい", "не"),
    ],
)
def test_a_text_that_commits_to_neither_has_no_answer(text: str) -> None:
    assert answer_in(text) is None
    assert commitment(text) is None


@pytest.mark.parametrize(
    "form",
    [
        *("{}", "{}.", "{}!", "{}, because it is.", "\n{}\n", "So it is {}", "Is it so? {}."),
        *("#### {}", "####{}", "#### **{}**", '#### "{}"', "####\n{}", "#### {}."),
        *("\\boxed{{{}}}", "\\boxed{{\\text{{{}}}}}", "$\\boxed{{\\textbf{{ {}. }}}}$"),
        *("So the answer is {}.", "Answer: {}", "**Answer:** {}", "Answer:\n\n{}", "answer = {}"),
        *("The answer is **{}**.", 'The answer is "{}".', "Final answer (yes or no): {}"),
        *("The answer is therefore most likely {}", "The answer to this question is {}, I think"),
        *(
            "\\boxed{{The answer is {}}}",
            "My verdict: {}",
            "**{}**",
            "**{}.** That is all.",
            "({})",
        ),
    ],
)
def test_the_accepted_forms_are_read(form: str) -> None:
    for word in ("yes", "Yes", "YES", "no", "No", "NO"):
        assert answer_in(form.format(word)) == word.lower(), word


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("First yes, then no.", "no"),
        ("No. Well, yes.", "yes"),
        ("#### yes and later no", "yes"),
        ("#### yes, wait: #### no", "no"),
        ("\\boxed{no} wait, the answer is yes", "yes"),
        ("**No**, even though some say yes", "no"),
        ("the answer is yes #### maybe", "yes"),
        ("Is it yes or no? No.", "no"),
        ("Yes? No!", "no"),
        ("There is no doubt: yes", "yes"),
        ("Yes, there is no doubt", "yes"),
        ("No, no one can", "no"),
        ("#### yes, no doubt", "yes"),
        ("Answer: no, no", "no"),
        ("No. 5 is less than 7", "no"),
        ("The answer is no. 3 is less than 5", "no"),
    ],
)
def test_the_last_commitment_counts(text: str, answer: str) -> None:
    assert answer_in(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The answer is not yes.", "no"),
        ("The answer isn't yes", "no"),
        ("the answer is not no", "yes"),
        ("#### not yes", "no"),
        ("\\boxed{not yes}", "no"),
        ("It is not a yes", "no"),
        ("Not only that: yes", "yes"),
    ],
)
def test_a_negated_word_turns_around(text: str, answer: str) -> None:
    assert answer_in(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("If the answer is yes, we win.", "yes"),
        ("whether the answer is no", "no"),
        ("the answer cannot be no", "no"),
        ("I don't think the answer is yes", "yes"),
        ("The wrong answer is yes", "yes"),
        ("Yes is not the answer.", "yes"),
        ("never yes", "yes"),
        ("Chanel No. 5", "no"),
    ],
)
def test_no_other_english_is_understood(text: str, answer: str) -> None:
    assert answer_in(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("no because stones sink", "no"),
        ("#### no since stones sink", "no"),
        ("#### no stone swims", None),
        ("The answer must be no", "no"),
        ("not a yes", "no"),
        ("not really no", "yes"),
    ],
)
def test_no_before_another_word_is_no_answer_but_before_a_reason(
    text: str, answer: str | None
) -> None:
    assert answer_in(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("whether it is plausible", "yes"),
        ("Is it plausible that he did", "yes"),
        ("not very plausible", "no"),
        ("It is plausible.", "yes"),
        ("It is not plausible", "no"),
        ("not at all plausible", "no"),
        ("implausible", "no"),
        ("not implausible", "yes"),
        ("#### plausible", "yes"),
        ("The answer is implausible.", "no"),
        ("\\boxed{\\text{implausible}}", "no"),
        ("It looks implausible, but yes", "yes"),
        ('Is the following sentence plausible? "A."', None),
        ("plausible or implausible", None),
        ("plausible or not", None),
    ],
)
def test_plausible_is_understood_where_it_is_asked_for(text: str, answer: str | None) -> None:
    assert answer_in(text, plausible=True) == answer
    if "yes" not in text:
        assert answer_in(text) is None


@pytest.mark.parametrize(
    "form",
    [
        *("#### {}", "#### {}.", "#### **{}**", "#### {}\nSo it is.", "####{}, because it is."),
        *(
            "\\boxed{{{}}}",
            "\\boxed{{\\text{{{}}}}}",
            "Answer: {}",
            "**Answer:** {}",
            "answer = {}",
        ),
        *("#### \\({}\\)", "#### \\text{{{}}}", "#### <b>{}</b>", "<b>#### {}</b>", '#### "{}"'),
    ],
)
def test_truth_and_letters_are_read_in_marks(form: str) -> None:
    answers = {"true": "yes", "False": "no", "Y": "yes", "n": "no", "yes": "yes", "NO": "no"}
    for word, answer in answers.items():
        assert answer_in(form.format(word)) == answer, word
        assert (commitment(form.format(word)) or ("", ""))[1] == answer, word


@pytest.mark.parametrize(
    "text",
    [
        *("It is true.", "true", "y", "N", "**n**", "The answer is true.", "x or y"),
        *(
            "It is **true** that stones sink",
            "**true** friends",
            "**true",
            "**true?**",
            "is_true_",
            "__true_north__",
            "**untrue**",
        ),
        *("#### y = 3", "#### n of them", "#### n/a", "Answer: N/A", "#### yn", "#### n-th"),
        *("#### true or false", "#### True/False", "#### y/n", "#### Y or N", "#### true?"),
        *("#### true north", "answer: false friends", "#### untrue", "#### y'all", "\\boxed{y=2}"),
        *("#### 1", "#### t", "#### correct"),
    ],
)
def test_truth_and_letters_are_no_answers_elsewhere(text: str) -> None:
    assert answer_in(text) is None
    assert commitment(text) is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        # What is said of another answer takes nothing back.
        ("#### yes\nThe critic's answer is false.", "yes"),
        ("The answer is yes. #### false", "no"),
        ("#### true, no: #### no", "no"),
        ("#### not true", "no"),
        ("#### not false", "yes"),
    ],
)
def test_the_last_mark_counts_whatever_words_it_uses(text: str, answer: str) -> None:
    assert answer_in(text) == answer


@pytest.mark.parametrize(
    "form",
    [
        *("**{}**", "*{}*", "`{}`", "<b>{}</b>", "So:\n**{}.**", "**{}**, so it is.", "__{}__"),
        *("- **{}**", "* _{}_", "**{}:** stones sink", "<answer>{}</answer>", "#### __{}__"),
    ],
)
def test_an_emphasized_truth_that_stands_alone_is_an_answer(form: str) -> None:
    assert answer_in(form.format("True")) == "yes"
    assert (commitment(form.format("false")) or ("", ""))[1] == "no"


def test_full_width_letters_count_and_characters_that_print_nothing_do_not() -> None:
    for text in (
        "ｙｅｓ",
        "＃＃＃＃ ＹＥＳ",
        "**ｙｅｓ**",
        "The answer is ｙｅｓ。",
        "**Ｔｒｕｅ**",
    ):
        assert answer_in(text) == "yes", text
    for unseen in "\u200b\u200c\u2060\ufeff\u00ad":
        for text in ("{}no{}", "n{}o", "#### n{}o", "**{}no**", "the answer{} is{} no"):
            assert answer_in(text.replace("{}", unseen)) == "no", text
    assert commitment("so #\u200b### n\u200bo\u200b!") == ("#\u200b### n\u200bo", "no")
    assert answer_in("yes \u200b or \u200b no") is answer_in("ｋｎｏｗ") is None


def test_a_commitment_is_given_letter_for_letter_with_its_answer() -> None:
    assert commitment("so #### yes, it is") == ("#### yes", "yes")
    assert commitment("thus The answer is: No.") == ("answer is: No", "no")
    assert commitment("so \\boxed{\\text{No}} it is") == ("\\boxed{\\text{No}}", "no")
    assert commitment("#### plausible") is None
    assert commitment("#### plausible", plausible=True) == ("#### plausible", "yes")
    assert commitment("So **Yes.** That is all.") == ("**Yes.**", "yes")
    assert commitment("yes") is None
    assert commitment("It is plausible", plausible=True) is None


def test_the_last_20_000_characters_are_read() -> None:
    assert answer_in("#### no" + "." * 19_998) == "no"
    assert answer_in("#### no" + "." * 19_999) is None
    assert commitment("#### no" + "." * 19_993) == ("#### no", "no")
    assert commitment("#### no" + "." * 19_994) is None


def test_a_word_cut_by_the_window_is_not_read_in_part() -> None:
    # The window begins between the letters k and n of `know`, then before a whole `no`.
    assert answer_in("kno" + "." * (WINDOW - 2)) is None
    assert answer_in(" no" + "." * (WINDOW - 2)) == "no"
    assert answer_in("#### no" + "." * WINDOW) is None
    assert commitment("#### no" + "." * (WINDOW - 7)) == ("#### no", "no")
    assert commitment("#### no" + "." * (WINDOW - 6)) is None


@pytest.mark.parametrize(
    "text",
    [
        *("yes or no " * 10**5, "#### " * 200_000, "answer is " * 10**5, "\\boxed{" * 150_000),
        *("answer " + "is " * 400_000, "no " * 400_000, "**" * 500_000, "yes" * 400_000),
        *(" " * 10**6, "#### yes or no " * 70_000, "if the answer is yes " * 50_000),
        *("not " * 250_000, "\ud800\x00" * 10**5, "answer:" + " " * 10**6, "**no one**" * 100_000),
    ],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_text_costs_little(text: str) -> None:
    started = time.process_time()
    answer_in(text, plausible=True)
    # It takes some ten milliseconds; the bound leaves room for a slow machine.
    assert time.process_time() - started < 0.5
