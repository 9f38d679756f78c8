"""How an update is cut into steps; what a step does is in the tests of the learners."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.training.sequences import TokenSequence
from laconic.learners.training.steps import Steps


def sequences(count: int) -> list[TokenSequence]:
    return [
        TokenSequence("t", "a", n, None, (1, 2), (False, True), (0.0, -1.0), 0.0)
        for n in range(count)
    ]


def test_nothing_is_split_into_nothing():
    assert Steps().split([], 0) == []


@pytest.mark.parametrize(("count", "sizes"), [(3, [1, 1, 1]), (4, [1] * 4), (10, [3, 3, 2, 2])])
def test_minibatches_are_of_about_one_size_and_hold_everything_once(count, sizes):
    made = sequences(count)
    parts = Steps(minibatches=4).split(made, 0)
    assert [len(part) for part in parts] == sizes
    assert sorted(one.episode for part in parts for one in part) == list(range(count))


def test_the_order_is_a_function_of_the_seed_and_the_update():
    made = sequences(20)
    drawn = [Steps(seed=seed).split(made, updates) for seed, updates in ((0, 0), (0, 1), (1, 0))]
    assert Steps(seed=0).split(made, 0) == drawn[0]
    assert drawn[0] != drawn[1] != drawn[2] != drawn[0]


@pytest.mark.parametrize(
    "settings",
    [
        {"minibatches": 0},
        {"minibatches": True},
        {"microbatch_tokens": 1.5},
        {"decay_updates": -1},
        {"max_grad_norm": float("nan")},
    ],
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(SettingError, match=f"learner.{next(iter(settings))}"):
        Steps(**settings)
