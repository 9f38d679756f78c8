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


POWER = "learner.charge_power=2"
FOLLOWS = "learner/price=pass_rate"
SOLVED = "env.reward.when=solved"


@pytest.mark.parametrize(
    "overrides", [[], [FOLLOWS, "learner.charge_power=0"], [SOLVED, "learner.charge_power=0"]]
)
@pytest.mark.parametrize("learner", ["gspo", "c3", "ippo", "mappo"])
def test_a_team_that_fails_is_charged_less_in_one_way(overrides, learner):
    if learner in ("ippo", "mappo"):
        overrides = [text for text in overrides if text not in (POWER, "learner.charge_power=0")]
        overrides += ["learner/price=fixed"] if SOLVED in overrides else []
    check_discounts(composed(f"learner={learner}", *overrides, program="train"))


@pytest.mark.parametrize(
    ("overrides", "remedies"),
    [
        ([FOLLOWS], ["learner.charge_power=0", "learner/price=fixed"]),
        ([SOLVED], ["learner.charge_power=0", "env.reward.when=always"]),
        ([SOLVED, FOLLOWS, "learner.charge_power=0"], ["learner/price=fixed", "when=always"]),
        ([SOLVED, "learner=mappo"], ["learner/price=fixed", "when=always"]),
        ([SOLVED, FOLLOWS, "learner=grpo"], ["charge_power=0", "price=fixed", "when=always"]),
    ],
)
def test_two_discounts_at_once_are_refused(overrides, remedies):
    with pytest.raises(SettingError) as refusal:
        check_discounts(composed(*overrides, program="train"))
    assert all(remedy in str(refusal.value) for remedy in remedies)
