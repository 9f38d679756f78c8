"""Texts made to stand just below, at and just above every threshold.

A made text is a row of `a0 a1 ...`, each as often as it takes, with a last word that is drawn out
until the text has its length. So its words, its characters and its vocabulary are set one by one.
"""

from __future__ import annotations

import pytest

from laconic.envs.families.writing.levels import (
    MAX_REWARD,
    SOLVED,
    WORTH,
    Levels,
    LevelScores,
    grade,
)
from laconic.envs.families.writing.measures import CONNECTIVES
from laconic.envs.library.arxiv import benchmark as arxiv
from laconic.envs.library.tldr import benchmark as tldr

TLDR, ARXIV = tldr.LEVELS, arxiv.LEVELS
ALL_KINDS = " ".join(texts[0] for texts in CONNECTIVES.values())
"""A connective of each category."""


def made(words: int, different: int, characters: int = 0, own: str = "", common: int = 0) -> str:
    """Make a text of some words, `different` of them different, `common` of those shared."""
    names = [f"{'' if i < common else own}a{i}" for i in range(different)]
    # The last word stands only at the end, so that drawing it out makes no further one.
    row = [names[i % (different - 1)] for i in range(words - 1)] + names[-1:]
    text = " ".join(row)
    assert len(set(row)) == different, "too few words for so many different ones"
    assert not characters or len(text) <= characters, "too few characters for so many words"
    return text + "z" * (characters - len(text))


def points(levels: Levels, first: str, second: str) -> tuple[dict[str, float], str]:
    result = grade(levels, first, second)
    return dict(result.points), result.stopped


@pytest.mark.parametrize(
    ("levels", "count", "fits"),
    [
        *((TLDR, 7, False), (TLDR, 8, True), (TLDR, 9, True)),
        *((TLDR, 255, True), (TLDR, 256, True), (TLDR, 257, False)),
        *((ARXIV, 127, False), (ARXIV, 128, True), (ARXIV, 129, True)),
        *((ARXIV, 255, True), (ARXIV, 256, True), (ARXIV, 257, False)),
    ],
)
def test_each_text_has_to_have_so_many_words(levels: Levels, count: int, fits: bool) -> None:
    tried, other = made(count, 5), made(levels.words[0], 5)
    for pair in ((tried, other), (other, tried)):
        result = grade(levels, *pair)
        assert result.points["length"] == (0.5 if fits else 0.0)
        assert (result.stopped == "length") is not fits
        if not fits:
            assert (result.value, list(result.points)) == (0.0, ["length"])


@pytest.mark.parametrize(
    ("levels", "characters", "earned"),
    [
        # The first text has 1,000 characters; None: the level fails.
        *((TLDR, 1099, None), (TLDR, 1100, 0.0), (TLDR, 1101, 0.002), (TLDR, 1350, 0.5)),
        *((TLDR, 1599, 0.998), (TLDR, 1600, 1.0), (TLDR, 1601, 1.0), (TLDR, 3199, 1.0)),
        *((TLDR, 3200, 1.0), (TLDR, 3218, 0.99), (TLDR, 4100, 0.5), (TLDR, 4982, 0.01)),
        *((TLDR, 5000, 0.0), (TLDR, 5001, None)),
        *((ARXIV, 799, None), (ARXIV, 800, 0.0), (ARXIV, 801, 0.002), (ARXIV, 1050, 0.5)),
        *((ARXIV, 1299, 0.998), (ARXIV, 1300, 1.0), (ARXIV, 1301, 1.0), (ARXIV, 1599, 1.0)),
        *((ARXIV, 1600, 1.0), (ARXIV, 1604, 0.99), (ARXIV, 1800, 0.5), (ARXIV, 1996, 0.01)),
        *((ARXIV, 2000, 0.0), (ARXIV, 2001, None)),
    ],
)
def test_the_ratio_of_lengths_is_one_of_characters(
    levels: Levels, characters: int, earned: float | None
) -> None:
    first, second = made(128, 20, 1000), made(128, 20, characters)
    result, stopped = points(levels, first, second)
    assert result["length"] == 0.5
    assert result["length_ratio"] == pytest.approx(earned or 0.0, abs=1e-12)
    # A ramp's end earns nothing, and the next level is looked at all the same.
    assert (stopped == "length_ratio") is (earned is None) is ("word_ratio" not in result)


@pytest.mark.parametrize(
    ("levels", "different", "earned"),
    [
        # The first text has 20 different words; None: the level fails.
        *((TLDR, 25, None), (TLDR, 26, 0.0), (TLDR, 27, 0.05 / 0.7), (TLDR, 33, 0.35 / 0.7)),
        *((TLDR, 39, 0.65 / 0.7), (TLDR, 40, 1.0), (TLDR, 41, 1.0), (TLDR, 127, 1.0)),
        *((ARXIV, 9, None), (ARXIV, 10, 0.0), (ARXIV, 11, 0.25), (ARXIV, 12, 0.5)),
        *((ARXIV, 13, 0.75), (ARXIV, 14, 1.0), (ARXIV, 15, 1.0), (ARXIV, 25, 1.0)),
        *((ARXIV, 26, 1.0), (ARXIV, 27, 0.875), (ARXIV, 30, 0.5), (ARXIV, 33, 0.125)),
        *((ARXIV, 34, 0.0), (ARXIV, 35, None)),
    ],
)
def test_the_ratio_of_vocabularies_is_one_of_different_words(
    levels: Levels, different: int, earned: float | None
) -> None:
    # 1.6 times the characters is within both plateaus. Stop-words do not count.
    first = f"{made(128, 20, 989)} the was it"
    second = f"{made(128, different, 1591)} or an of"
    result, stopped = points(levels, first, second)
    assert result["length_ratio"] == 1.0
    assert result["word_ratio"] == pytest.approx(0.5 * (earned or 0.0), abs=1e-12)
    assert (stopped == "word_ratio") is (earned is None) is ("style" not in result)


@pytest.mark.parametrize(
    ("levels", "first_words", "second_words", "common", "earned"),
    [
        # Of 100 different words so many are common.
        *((TLDR, 30, 70, 0, 0.0), (TLDR, 30, 71, 1, 0.2), (TLDR, 30, 72, 2, 0.4)),
        *((TLDR, 30, 73, 3, 0.6), (TLDR, 30, 74, 4, 0.6), (TLDR, 30, 99, 29, 0.6)),
        *((ARXIV, 50, 50, 0, 0.0), (ARXIV, 60, 62, 22, 0.6 * 22 / 23)),
        *((ARXIV, 60, 63, 23, 0.6), (ARXIV, 60, 64, 24, 0.6), (ARXIV, 99, 99, 98, 0.6)),
    ],
)
def test_common_words_earn_up_to_six_tenths(
    levels: Levels, first_words: int, second_words: int, common: int, earned: float
) -> None:
    first = made(128, first_words, 1000, "p", common)
    second = made(128, second_words, 1600, "q", common)
    result, stopped = points(levels, first, second)
    assert result["style"] == pytest.approx(earned, rel=1e-12)
    assert stopped == ""


@pytest.mark.parametrize(
    ("kinds", "earned"), [(0, 0.0), (1, 0.16), (2, 0.18), (3, 0.2), (11, 0.36), (12, 0.38)]
)
@pytest.mark.parametrize("levels", [TLDR, ARXIV], ids=["tldr", "arxiv"])
def test_connectives_earn_by_their_kinds(levels: Levels, kinds: int, earned: float) -> None:
    text = " ".join(texts[0] for texts in list(CONNECTIVES.values())[:kinds])
    same = 40 if levels is ARXIV else 20
    first, second = made(128, same, 1000, "p"), made(128, 40, 1450, "q")
    result, _ = points(levels, first, f"{second} {text} {'x' * (1598 - 1450 - len(text))}")
    assert result["length_ratio"] == 1.0
    assert result["style"] == pytest.approx(earned, rel=1e-12)


def test_connectives_count_in_the_second_text_or_in_both() -> None:
    first, second = made(128, 30, 990, "p"), made(128, 62, 1580, "q")
    assert points(TLDR, f"{first} however", second)[0]["style"] == 0.0
    first, second = made(128, 40, 990, "p"), made(128, 40, 1580, "q")
    assert points(ARXIV, f"{first} however", second)[0]["style"] == pytest.approx(0.16)
    assert points(ARXIV, f"{first} however", f"{second} first")[0]["style"] == pytest.approx(0.18)


def test_no_words_but_stop_words_give_no_ratio() -> None:
    empty, full = "the of and " * 50, made(128, 20, 880)
    assert points(TLDR, empty, full) == (
        {"length": 0.5, "length_ratio": 1.0, "word_ratio": 0.0},
        "word_ratio",
    )
    assert points(ARXIV, empty, f"{empty}{'the of and ' * 20}")[1] == "word_ratio"


@pytest.mark.parametrize("levels", [TLDR, ARXIV], ids=["tldr", "arxiv"])
def test_the_most_that_can_be_reached_is_298(levels: Levels) -> None:
    different = 40 if levels is ARXIV else 10
    first = made(130, different, 1000)
    second = f"{ALL_KINDS} {made(130, 40, 1599 - len(ALL_KINDS))}"
    best = grade(levels, first, second)
    assert best.value == pytest.approx(MAX_REWARD, abs=1e-12)
    # Twelve kinds of connectives reach 0.4 + 11 * 0.05 of the 0.4 points that they are worth.
    assert MAX_REWARD == 2.98 == 0.5 + 1.0 + 0.5 + round(0.4 * 0.95 + 0.6, 12)
    assert best.points == {**WORTH, "style": pytest.approx(0.98)}
    assert sum(WORTH.values()) == 3.0


def test_full_structure_alone_does_not_solve() -> None:
    assert (
        LevelScores({"length": 0.5, "length_ratio": 1.0, "word_ratio": 0.5}, "").value
        < SOLVED
        < 2.98
    )
