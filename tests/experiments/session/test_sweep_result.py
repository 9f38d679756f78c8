from __future__ import annotations

import math

import pytest
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.experiments.session.sweep_result import check, names_of, select

ROWS = [
    {"step": 0, "eval/reward": 0.1, "eval/tokens_said": 40.0},
    {"step": 1, "train/reward": 0.3},
    {"step": 2, "eval/reward": 0.2, "eval/tokens_said": 30.0, "eval/score": None},
    {"step": 3, "train/reward": 0.4},
]


def test_the_result_is_of_the_last_evaluation():
    assert select("eval/reward", ROWS) == 0.2
    several = OmegaConf.create(["eval/tokens_said", "eval/reward"])
    assert select(several, ROWS) == [30.0, 0.2]
    assert select(["eval/reward"], ROWS) == [0.2]


def test_missing_and_infinite_figures_are_nan():
    assert math.isnan(select("eval/score", ROWS))
    # A share that no turn of the last evaluation had a part in.
    assert math.isnan(select("eval/spoke_if_informed", ROWS))


@pytest.mark.parametrize("setting", [None, 3, [], [3], ""])
def test_an_unknown_metric_is_refused(setting):
    with pytest.raises((SettingError, UnknownNameError), match="sweep_metric"):
        check(setting, ROWS[0])
    if setting != "":
        with pytest.raises(SettingError, match="sweep_metric must be a metric"):
            names_of(setting)


def test_a_misspelt_metric_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'eval/reward'"):
        check("eval/rewards", ROWS[0])
    with pytest.raises(UnknownNameError, match="train/reward"):
        select("train/reward", ROWS)
