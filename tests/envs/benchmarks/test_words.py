from __future__ import annotations

import re
from random import Random

from laconic.envs.benchmarks.words import BOYS, GIRLS, ITEMS, PEOPLE, another, their


def test_words_are_regular() -> None:
    assert len(PEOPLE) >= 40 and len(set(PEOPLE)) == len(PEOPLE)
    assert len(ITEMS) >= 40 and len(set(ITEMS)) == len(ITEMS)
    assert all(re.fullmatch("[A-Z][a-z]+", name) for name in PEOPLE)
    assert all(re.fullmatch("[a-z]+s", item) for item in ITEMS)
    assert not {"boxes", "bags"} & set(ITEMS)
    assert not set(GIRLS) & set(BOYS)
    assert (their("Ann"), their("Ben")) == ("her", "his")


def test_another_word_is_none_of_those_used() -> None:
    words = ("pens", "cups", "hats")
    assert {another(Random(seed), words, "pens", "hats") for seed in range(20)} == {"cups"}
