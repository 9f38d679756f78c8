"""Settings of a play that are out of range are refused by name before anything is built."""

from __future__ import annotations

import pytest
from hydra import compose, initialize_config_dir

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.experiments.command_line.cli import CONF
from laconic.experiments.session.checks import check_play, check_samples


def composed(*overrides):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("evaluate", overrides=list(overrides))


def test_counts_flags_and_splits_are_checked():
    check_play(composed(), {}, ())
    with pytest.raises(SettingError, match=r"evaluation\.batch"):
        check_play(composed("evaluation.batch=0"), {}, ())
    with pytest.raises(SettingError, match=r"evaluation\.greedy"):
        check_play(composed("evaluation.greedy=maybe"), {}, ())
    with pytest.raises(UnknownNameError, match=r"evaluation\.split"):
        check_play(composed("evaluation.split=all"), {}, ())


@pytest.mark.parametrize(("samples", "chosen", "greedy"), [(2, [1], True), (2, [3], False)])
def test_samples_that_are_all_the_same_or_too_few_are_refused(samples, chosen, greedy):
    check_samples(2, [1, 2], False)
    with pytest.raises(SettingError, match=r"evaluation\."):
        check_samples(samples, chosen, greedy)
