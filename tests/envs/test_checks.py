"""Checks of settings: every message has the expected and the received value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

import numpy as np
import pytest

from laconic.envs.checks import (
    TRUSTED,
    TYPED,
    Bound,
    Count,
    Model,
    Trust,
    Word,
    by_key,
    check_agents,
    check_fields,
    check_names,
    checked,
    choice,
    flag,
    number,
    whole,
)
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task


@pytest.mark.parametrize("value", [True, 1.0, "2", None, 0, 4, math.nan])
def test_a_whole_number_is_within_its_bounds_and_neither_true_nor_text(value):
    with pytest.raises(SettingError, match=r"env\.x must be a whole number from 1 to 3; got "):
        whole("env.x", value, 1, 3)
    assert [whole("env.x", good, 1, 3) for good in (1, 3, np.int64(2))] == [1, 3, 2]


def test_the_bounds_of_a_whole_number_are_said_as_far_as_there_are_any():
    with pytest.raises(SettingError, match=r"^x must be a whole number; got 1\.5$"):
        whole("x", 1.5)
    with pytest.raises(
        SettingError, match=r"^x must be null or a whole number of at least 1; got 0$"
    ):
        whole("x", 0, 1, optional=True)
    assert whole("x", -7) == -7 and whole("x", None, 1, optional=True) is None


@pytest.mark.parametrize("value", [True, "1", None, math.inf, -math.inf, math.nan, -0.5, 0])
def test_a_number_is_finite_and_within_its_bounds(value):
    with pytest.raises(SettingError, match=r"x must be a finite number above 0 and below 2; got "):
        number("x", value, above=0, below=2)
    with pytest.raises(SettingError, match="below 2; got 2"):
        number("x", 2, above=0, below=2)
    assert number("x", 1, above=0, below=2) == 1.0


def test_a_least_number_is_allowed_itself_and_null_only_where_it_may_be():
    assert number("x", 0, lowest=0) == 0.0 and number("x", None, optional=True) is None
    with pytest.raises(SettingError, match=r"null or a finite number of at least 0; got -1"):
        number("x", -1, lowest=0, optional=True)


def test_a_flag_is_true_or_false_and_no_number():
    assert flag("x", True) is True and flag("x", False) is False
    with pytest.raises(SettingError, match="x must be true or false; got 1"):
        flag("x", 1)


def test_a_choice_is_a_known_word_and_another_one_names_the_nearest():
    assert choice("env.x", None, (None, "ansi")) is None
    with pytest.raises(UnknownNameError, match=r"unknown env\.x 'anzi'. Did you mean 'ansi'"):
        choice("env.x", "anzi", (None, "ansi"))
    check_names("setting", [], ())
    with pytest.raises(UnknownNameError, match="unknown setting 'c'"):
        check_names("setting", ["a", "c"], ("a", "b"))


@pytest.mark.parametrize(
    "agents",
    [
        [],
        "abc",
        None,
        [0, 1],
        ["a", None],
        [b"a"],
        [("a", 0)],
        ["a", ""],
        ["a", "a"],
        ["a\nb"],
        ["\ud83d"],
        ["x" * 81],
        # Two bytes each.
        ["ü" * 41],
    ],
)
def test_agents_without_names_of_their_own_are_refused(agents):
    with pytest.raises(SettingError, match="by distinct, printable strings of 1 to 80 bytes"):
        check_agents(agents)


def test_agents_may_have_any_printable_names():
    check_agents(["solver_0", "alice", "team/a", "..", "x" * 80, "ü" * 40, "Zoë Blå"])
    check_agents(("a",))
    check_agents({"a": 1}.keys())


def test_tasks_are_there_and_have_keys_of_their_own():
    first, second = (Task(key, "?", (), "1") for key in "ab")
    assert list(by_key([second, first])) == ["b", "a"]
    with pytest.raises(SettingError, match="at least one task"):
        by_key([])
    with pytest.raises(SettingError, match="2 tasks have the key 'a'"):
        by_key([first, second, first])


def test_a_number_without_bounds_has_none():
    bound = Bound()
    assert (bound.ge, bound.gt, bound.le, bound.lt) == (-math.inf, -math.inf, math.inf, math.inf)
    assert bound.finite


def test_trust_is_all_values_some_or_none():
    assert TRUSTED == Trust(None) and TYPED == Trust(()) and Trust(("a",)).values == ("a",)
    assert get_args(Word) == get_args(Model) == (str, TRUSTED)


@dataclass
class Part:
    size: Count = 1
    rate: Annotated[float, Bound(gt=0, lt=1)] | None = None
    kind: Literal["round", "flat"] | None = "round"
    loud: bool = False
    title: str = ""
    owner: Missing = None  # noqa: F821  # as one that only type checkers import
    made: int = field(default=0, init=False)

    def __post_init__(self):
        self.made = "later"
        check_fields(self, "mine")


@dataclass
class Larger(Part):
    size: Annotated[int, Bound(ge=2)] = 2


@pytest.mark.parametrize("part", [Part, Larger])
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("size", value) for value in (0, True, 1.0, "1", None, [1])),
        *(("rate", value) for value in (0, 1, "x", math.nan, True)),
        *(("kind", value) for value in ("square", 1, ["round"])),
        *(("loud", value) for value in (1, None, "yes")),
    ],
)
def test_fields_are_checked_by_their_annotations(part, name, wrong):
    assert part(rate=0.5, kind=None, loud=True, owner=3).rate == 0.5
    with pytest.raises((SettingError, UnknownNameError), match=rf"mine\.{name}\b"):
        part(**{name: wrong})


def test_a_subclass_may_have_other_bounds():
    with pytest.raises(SettingError, match=r"mine\.size must be .* of at least 2; got 1"):
        Larger(1)


@checked("mine")
def build(part, size: Count = 1, *, loud: bool = False):
    """Build it."""
    return part, size, loud


def test_arguments_are_checked_by_their_annotations_wherever_they_stand():
    assert build("x", 2, loud=True) == ("x", 2, True) and build.__doc__ == "Build it."
    for wrong in (lambda: build("x", 0), lambda: build("x", size=0)):
        with pytest.raises(SettingError, match=r"mine\.size must be"):
            wrong()
    with pytest.raises(SettingError, match=r"mine\.loud must be true or false; got 1"):
        build("x", loud=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        build("x", other=1)
