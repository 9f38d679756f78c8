"""Free text, and what an agent observes."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest

from laconic.envs.dialogue.budget import UNLIMITED
from laconic.envs.dialogue.team import FreeText, observation_space


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
