"""Values come back as they went, and nothing but plain values ever comes."""

from __future__ import annotations

import json
from collections import ChainMap, UserDict, UserList, UserString
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import pytest

from laconic.envs.sandbox.wire import DEEPEST, LONGEST, UnfitError, pack, unpack


class Inventory(UserDict):
    """A class of a program."""


def test_packed_values_are_json_when_quotes_are_swapped():
    value = {"it's": ['"quoted"', "back\\slash", "é", 1.5, None, True, b"x", (1, {2})]}
    packed = pack(value)
    assert json.loads(repr(packed).replace("'", '"')) == packed
    assert unpack(packed) == value


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Fraction(-1, 3), Fraction(-1, 3)),
        (Decimal("0.10"), Decimal("0.10")),
        (Decimal("-Infinity"), Decimal("-Infinity")),
        (datetime(2024, 2, 29, 13, 5, 7, 250), datetime(2024, 2, 29, 13, 5, 7, 250)),
        (date(1, 1, 1), date(1, 1, 1)),
        (time(23, 59, 59, 999_999), time(23, 59, 59, 999_999)),
        (timedelta(-1, 5, 9), timedelta(-1, 5, 9)),
        ([{Fraction(1, 2): Decimal(3)}], [{Fraction(1, 2): Decimal(3)}]),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (UserDict({"a": [1]}), {"a": [1]}),
        (ChainMap({"a": 1}, {"a": 2, "b": 3}), {"a": 1, "b": 3}),
        (UserList([1, 2]), [1, 2]),
        (UserString("ab"), "ab"),
        (ChainMap({"a": UserDict({1: 2})}), {"a": {1: 2}}),
        (Inventory({"a": 1}), {"a": 1}),
    ],
)
def test_values_of_the_standard_library_cross_as_what_they_are_or_hold(value, plain):
    crossed = unpack(pack(value))
    assert crossed == plain and type(crossed) is type(plain) and repr(crossed) == repr(plain)


def test_times_with_a_zone_are_refused():
    with pytest.raises(UnfitError, match="'timezone' is not a plain value"):
        pack(datetime(2024, 1, 1, tzinfo=UTC))


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
        ["R", "i1", "i0"], ["D", "anonsense"], ["E", "i1", "id", "i1"], ["W", ["l"]],
        ["L", ["o", "i1", "ax"]], ["C", "i63"],
    ],
)  # fmt: skip
def test_malformed_values_are_refused(packed):
    with pytest.raises(UnfitError):
        unpack(packed)
