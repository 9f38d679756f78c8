from __future__ import annotations

import pytest

from laconic.envs.benchmarks.number_words import spelled


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("twelve", 12),
        ("a dozen", 12),
        ("Twenty-one", 21),
        ("one hundred and five", 105),
        ("two thousand three hundred", 2300),
        ("three hundred thousand", 300_000),
        ("zero", 0),
        ("a", None),
        ("half", None),
        ("twelve pens", None),
        ("", None),
    ],
)
def test_words_spell_a_whole_number_or_none(words: str, number: int | None) -> None:
    assert spelled(words) == number
