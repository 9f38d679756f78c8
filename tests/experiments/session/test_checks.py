"""Settings that contradict each other are refused by name before anything is built."""

from __future__ import annotations

import pytest
from hydra import compose, initialize_config_dir

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.tree import CONF
from laconic.experiments.session.checks import check_discounts, check_evaluate


def composed(*overrides, program="evaluate"):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(program, overrides=list(overrides))


@pytest.mark.parametrize(
    "wrong", [["evaluation.greedy=true"], ["evaluation.pass_at=[3]"], ["evaluation.pass_at=1"]]
)
def test_samples_that_are_all_the_same_or_too_few_are_refused(wrong):
    right = ["evaluation.samples=2", "evaluation.pass_at=[1,2]", "evaluation.greedy=false"]
    check_evaluate(composed(*right))
    with pytest.raises(SettingError, match=r"evaluation\."):
        check_evaluate(composed(*right, *wrong))


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
