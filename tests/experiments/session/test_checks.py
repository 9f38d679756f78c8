"""Settings of a play that are out of range are refused by name before anything is built."""

from __future__ import annotations

import pytest
from hydra import compose, initialize_config_dir

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.experiments.command_line.cli import CONF
from laconic.experiments.session.checks import check_discounts, check_play, check_samples


def composed(*overrides, program="evaluate"):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(program, overrides=list(overrides))


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


SOLVED = "env.reward.when=solved"
FIXED = "learner/price=fixed"


@pytest.mark.parametrize("overrides", [[], [SOLVED, FIXED], ["learner/price=target_tokens"]])
@pytest.mark.parametrize("learner", ["gspo", "c3", "ippo", "mappo", "rlccf"])
def test_a_team_that_fails_is_charged_less_in_one_way(overrides, learner):
    check_discounts(composed(f"learner={learner}", *overrides, program="train"))


@pytest.mark.parametrize("learner", ["gspo", "mappo"])
def test_two_discounts_at_once_are_refused(learner):
    with pytest.raises(SettingError) as refusal:
        check_discounts(composed(SOLVED, f"learner={learner}", program="train"))
    assert "set learner/price=fixed or env.reward.when=always" in str(refusal.value)
