from __future__ import annotations

import pytest

from laconic.envs.families.writing.measures import (
    CONNECTIVES,
    STOP_WORDS,
    connectives,
    overlap,
    ratio,
    spaced_words,
    transition,
    vocabulary,
    words,
)


def test_length_is_counted_in_pieces_between_white_space() -> None:
    # A dash of its own is a piece; a line break parts pieces like a space.
    assert spaced_words(" one,two - three\n\nfour\u3000five ") == 5
    assert spaced_words("") == spaced_words(" \n\t ") == 0


def test_words_are_lower_case_without_punctuation_but_with_their_apostrophes() -> None:
    assert words("Don’t PANIC: it's half-way, 'so' — e.g. 3.5!") == [
        *("don't", "panic", "it's", "half", "way", "so", "e", "g", "3", "5")
    ]
    assert words("Это тест") == ["это", "тест"]
    assert words("?! -- ...") == []


def test_a_vocabulary_has_every_word_once_and_no_stop_word() -> None:
    assert vocabulary("The dog and the DOG saw a cat, and it was not theirs") == {
        *("dog", "saw", "cat")
    }
    assert vocabulary("because of what they would have been, it's so") == frozenset()


def test_a_ratio_to_nothing_is_none() -> None:
    assert ratio(4, 6) == 1.5
    assert ratio(4, 0) == 0.0
    assert ratio(0, 6) is ratio(0, 0) is None


def test_overlap_is_the_common_share_of_all_words() -> None:
    # 2 of 5 different words stand in both.
    assert overlap(frozenset("abc"), frozenset("bcde")) == 0.4
    assert overlap(frozenset("ab"), frozenset("ab")) == 1.0
    assert overlap(frozenset("ab"), frozenset("c")) == overlap(frozenset(), frozenset()) == 0.0


@pytest.mark.parametrize("category", CONNECTIVES)
def test_every_connective_counts_for_its_category_and_for_no_other(category: str) -> None:
    for text in CONNECTIVES[category]:
        assert connectives(f"Dogs bark, {text.upper()}: cats purr.") == (category,), text
        glued = text.replace(" ", "x") + "x"
        assert connectives(f"Dogs {glued} bark.") == (), glued


def test_categories_are_counted_once_in_one_text_or_several() -> None:
    text = "First he slept. First, however, he ate; but then he ran because of a dog."
    assert connectives(text) == ("contrast", "cause", "order", "time")
    assert connectives("However, he ate.", "First he slept.") == ("contrast", "order")
    assert connectives() == connectives("", "He ate.") == ()


def test_the_longer_of_two_connectives_counts() -> None:
    assert connectives("He ran so that they lost him.") == ("purpose",)
    assert connectives("He ran, so they lost him.") == ("result",)
    assert connectives("Even if it rains.") == ("condition",)
    assert connectives("He ran in order.") == ()


def test_a_connective_does_not_go_over_the_end_of_a_text() -> None:
    assert connectives("He said in", "order to win") == ()


@pytest.mark.parametrize(
    ("categories", "score"),
    [(0, 0.0), (1, 0.4), (2, 0.45), (5, 0.6), (12, 0.95), (13, 1.0), (14, 1.0), (99, 1.0)],
)
def test_a_transition_score_begins_at_two_fifths_and_ends_at_one(
    categories: int, score: float
) -> None:
    assert transition(categories) == pytest.approx(score, rel=1e-12)


def test_the_lists_are_clean() -> None:
    assert len(CONNECTIVES) == 12
    every = [text for texts in CONNECTIVES.values() for text in texts]
    assert len(set(every)) == len(every)
    for text in (*every, *STOP_WORDS):
        assert " ".join(words(text)) == text
    assert 200 < len(STOP_WORDS) < 300
