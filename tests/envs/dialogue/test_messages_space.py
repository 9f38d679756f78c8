"""The space of free text, and observations."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest

from laconic.envs.dialogue.budget import UNLIMITED
from laconic.envs.dialogue.messages import FreeText
from laconic.envs.dialogue.team import observation_space


@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud800", "e\u0301", "\u202ea", "x" * 100_000])
def test_every_string_is_free_text(text):
    assert text in FreeText()


@pytest.mark.parametrize("value", [None, 1, b"a", ["a"], np.array("a")])
def test_nothing_but_strings_is_free_text(value):
    assert value not in FreeText()


def test_samples_follow_the_seed_and_are_short():
    one, two = FreeText(seed=3), FreeText(seed=3)
    samples = [one.sample() for _ in range(20)]
    assert samples == [two.sample() for _ in range(20)]
    assert all(isinstance(text, str) and len(text) <= 64 for text in samples)
    assert len(set(samples)) > 10


def test_the_longest_length_is_told_as_it_is():
    # A client that cuts text to `max_length` cuts nothing.
    space = FreeText()
    assert (space.min_length, space.max_length) == (0, UNLIMITED)
    assert "x" * 65 in space and "x" * 65 == ("x" * 65)[: space.max_length]


def test_samples_stay_short_under_a_mask():
    space = FreeText(seed=0)
    only_a = np.array([character == "a" for character in space.character_list], np.int8)
    samples = [space.sample(mask=(None, only_a)) for _ in range(20)]
    assert all(set(text) <= {"a"} and len(text) <= 64 for text in samples)
    assert space.sample(mask=(3, only_a)) == "aaa"
    assert space.sample(probability=(2, only_a.astype(np.float64))) == "aa"
    assert len(space.sample(probability=(None, only_a.astype(np.float64)))) <= 64


@pytest.mark.parametrize(
    "lay_out",
    [
        gymnasium.spaces.utils.flatdim,
        gymnasium.spaces.utils.flatten_space,
        gymnasium.vector.utils.create_shared_memory,
    ],
)
def test_a_layout_of_fixed_size_is_refused_with_advice(lay_out):
    for space in (FreeText(), observation_space()):
        with pytest.raises(ValueError, match="expected a space of bounded size"):
            lay_out(space)


def test_free_text_is_a_gymnasium_text_space_small_to_pickle():
    space = FreeText()
    assert isinstance(space, gymnasium.spaces.Text)
    assert len(pickle.dumps(space)) < 10_000
    assert pickle.loads(pickle.dumps(space)) == copy.deepcopy(space) == space
    assert space != gymnasium.spaces.Text(5)


def test_an_observation_is_a_text_and_four_counts():
    space = observation_space()
    largest = np.full(4, UNLIMITED, dtype=np.int32)
    assert {"text": "hi", "tokens_left": largest} in space
    assert {"text": "", "tokens_left": np.zeros(4, dtype=np.int32)} in space
    assert {"text": "hi", "tokens_left": np.zeros(3, dtype=np.int32)} not in space
    assert {"text": "hi", "tokens_left": np.full(4, -1, dtype=np.int32)} not in space
