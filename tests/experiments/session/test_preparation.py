"""Settings that a training refuses early, and price schedules without a price."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hydra import compose, initialize_config_module

from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.session.checks import check_train as check
from laconic.experiments.session.preparation import build, check_price, common_folder
from laconic.experiments.session.setup import make_team
from laconic.learners.algorithms.base import as_learner
from laconic.learners.distributed.processes import SINGLE_PROCESS
from laconic.learners.prices.schedule import Fixed, PassRate
from laconic.learners.prices.steering import TargetTokens
from laconic.learners.rollout.play import Start


def composed(*overrides):
    with initialize_config_module("laconic.conf", version_base="1.3"):
        return compose("train", overrides=list(overrides))


def test_each_process_needs_a_group_to_play():
    cfg = composed("train.tasks_per_step=2")
    check(cfg, processes=2)
    with pytest.raises(SettingError, match="at least the 3 processes"):
        check(cfg, processes=3)


def test_one_process_keeps_its_folder(tmp_path):
    assert common_folder(str(tmp_path), SINGLE_PROCESS) == str(tmp_path)


@pytest.mark.parametrize(("learner", "episodes"), [("grpo", 8), ("mc_grpo", 10)])
def test_a_step_is_played_in_one_pass(learner, episodes, policy_folder, tmp_path, monkeypatch):
    """Two groups of four episodes, and one more in each where the learner asks for it."""
    cfg = composed(
        f"learner={learner}", f"agent.model={policy_folder}", "train.tasks_per_step=2",
        "train.group_size=4", "evaluation.tasks=2", "env.tasks=20",
    )  # fmt: skip
    run = build(cfg, RunFolder(tmp_path), make_team(cfg))
    assert len(run.environments) == episodes == len({id(env) for env in run.environments})
    calls, policy = [], run.policies["solver_0"]
    plain = policy.reply
    policy.reply = lambda requests, **how: calls.append(len(requests)) or plain(requests, **how)
    run.learner.collector(run.environments, run.policies, [Start(0), Start(1)], 4, seed=0)
    # One call for all episodes in each of two rounds.
    assert len(calls) == 2


def test_a_price_that_aims_at_something_needs_one_to_move():
    def run(schedule, price):
        learner = as_learner(SimpleNamespace(update=lambda groups: {}, price=schedule))
        return SimpleNamespace(learner=learner, price=price, environments=[object()])

    check_price(run(Fixed(), None))
    check_price(run(PassRate(), None))
    check_price(run(TargetTokens(), 0.5))
    with pytest.raises(SettingError, match=r"learner\.price \(TargetTokens\)"):
        check_price(run(TargetTokens(), None))
    with pytest.raises(SettingError, match="env.reward.price must be above 0; got 0"):
        check_price(run(TargetTokens(), 0.0))
