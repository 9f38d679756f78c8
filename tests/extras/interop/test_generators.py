"""Draws of another library that leave process-wide generators untouched."""

from __future__ import annotations

import random

import numpy as np
import pytest

from laconic.extras.interop.generators import OwnGenerators


def drawn(generators):
    with generators():
        return random.random(), np.random.random()


def test_equal_seeds_give_equal_draws_that_continue():
    first_env, second_env = OwnGenerators(), OwnGenerators()
    second_env.seed(1)
    first, second = drawn(first_env), drawn(first_env)
    assert first != second and drawn(second_env) != first
    second_env.seed(0)
    assert (drawn(second_env), drawn(second_env)) == (first, second)


def test_the_process_draws_as_if_nothing_had_been_drawn_also_after_an_error():
    random.seed(3), np.random.seed(3)
    expected = random.random(), np.random.random()
    random.seed(3), np.random.seed(3)
    with pytest.raises(RuntimeError), OwnGenerators()():
        random.random()
        raise RuntimeError
    assert (random.random(), np.random.random()) == expected
