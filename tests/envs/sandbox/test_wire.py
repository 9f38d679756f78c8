"""Values come back as they went, and nothing but plain values ever comes."""

from __future__ import annotations

import json

import pytest

from laconic.envs.sandbox.wire import DEEPEST, LONGEST, UnfitError, pack, unpack


def test_packed_values_are_json_when_quotes_are_swapped():
    value = {"it's": ['"quoted"', "back\\slash", "é", 1.5, None, True, b"x", (1, {2})]}
    packed = pack(value)
    assert json.loads(repr(packed).replace("'", '"')) == packed
    assert unpack(packed) == value


def test_the_deepest_value_crosses_and_one_deeper_does_not():
    value: list = []
    for _ in range(DEEPEST):
        value = [value]
    assert unpack(pack(value)) == value
    with pytest.raises(UnfitError, match="deeper than 100"):
        pack([value])


def test_endless_iterators_are_cut_off():
    with pytest.raises(UnfitError, match=f"more than {LONGEST} items"):
        pack(iter(int, 1))


def test_what_is_not_plain_is_refused_by_name():
    with pytest.raises(UnfitError, match="type 'object' is not a plain value"):
        pack(object())


@pytest.mark.parametrize(
    "packed",
    [
        None, 1, 1.5, True, {}, [], "", "x", "izz", "fxx", "ufff", "b0", ["l", 1], ["?", "n"],
        ["d", "n"], ["d", ["l"], "n"], ["s", ["l"]], ["r", "ax"], ["r", "i1", "i1", "i0"],
        ["c", "n"], [["l"]], ["o", "i1", "ax"], ["m", "n"], "i" + "9" * 5 + ".",
    ],
)  # fmt: skip
def test_malformed_values_are_refused(packed):
    with pytest.raises(UnfitError):
        unpack(packed)
