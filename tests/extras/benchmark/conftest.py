"""Results of two methods, two seeds and two environments, one of which is exact."""

from __future__ import annotations

import pytest

from laconic.extras.benchmark.results import Played, Results
from laconic.extras.benchmark.score import Scale
from laconic.extras.benchmark.sets import Part, Set


def _steps(*rewards):
    return [
        {"reward": list(each), "accuracy": [1.0] * len(each), "tokens_spent": [5.0] * len(each)}
        for each in rewards
    ]


@pytest.fixture
def results():
    settings = {"train.steps": 4, "env.reward.price": 0.12}
    parts = {name: Part("00", settings, 1.0) for name in ("signal", "jury")}
    figures = {"reward": 0.0, "accuracy": 0.0, "tokens_spent": 0.0}
    baselines = {"silent": figures, "oracle": {**figures, "reward": 0.8, "accuracy": 1.0}}
    played = {
        name: Played("ab", "cd", Scale(0.0, 0.8, "oracle"), count, baselines)
        for name, count in (("signal", 2), ("jury", 1))
    }
    runs = {
        "gspo": {
            "signal": {0: _steps([0, 0], [0.4, 0.8]), 1: _steps([0, 0], [0.8, 0.8])},
            "jury": {0: _steps([0.4], [0.4]), 1: _steps([0.4], [0.6])},
        },
        "grpo": {
            "signal": {0: _steps([0, 0], [-4.0, -4]), 1: _steps([0, 0], [0.4, 0.4])},
            "jury": {0: _steps([0.4], [0.2]), 1: _steps([0.4], [0.2])},
        },
    }
    found = Set("small", 1, (0, 1), 1, parts)
    return Results(found, played, runs, (), {"gspo": 60.0, "grpo": 70.0})
