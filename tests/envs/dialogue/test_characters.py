"""Typographic characters become ASCII ones, and no text changes its length."""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.characters import DASHES, INVISIBLE, ascii_alike


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("as it is", "as it is"),
        ("\uff11\uff12\uff0c\uff08\uff09", "12,()"),
        (DASHES, "-" * len(DASHES)),
        ("".join(map(chr, range(0xFF01, 0xFF5F))), "".join(map(chr, range(0x21, 0x7F)))),
        ("".join(map(chr, range(0x2000, 0x200B))), " " * 11),
        ("\uff5f", "\uff5f"),
        (INVISIBLE, " " * len(INVISIBLE)),
        ("a\u00a0b\u3000c", "a b c"),
        ("42\u202f000", "42,000"),
        ("1'234'567", "1,234,567"),
        # Not in groups of three digits.
        ("42\u202f00 5'12 42\u20090000", "42 00 5'12 42 0000"),
        ("it's", "it's"),
        ("\u20ac5 \u00a35", "$5 $5"),
        # A dash between words is punctuation, and one before a number alone is a sign.
        ("so \u2013 5", "so , 5"),
        ("5 \u2013 5", "5 - 5"),
        ("\u0661", "\u0661"),
    ],
)
def test_typographic_characters_become_ascii_ones_and_no_text_changes_its_length(
    text: str, expected: str
) -> None:
    assert ascii_alike(text) == expected
    assert len(expected) == len(text)
