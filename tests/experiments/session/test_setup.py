from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import pytest
import torch
from huggingface_hub.utils import are_progress_bars_disabled
from omegaconf import OmegaConf
from transformers.utils import logging as transformers_logging

from laconic import envs
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.reward import Reward
from laconic.envs.errors import SettingError, SourceError
from laconic.envs.task import Task
from laconic.experiments.session import setup
from laconic.experiments.session.setup import (
    _made,
    draw_starts,
    hidden_metrics,
    make_environments,
    make_evaluation,
    make_learner,
    price_of,
    print_conditions,
    refuse_scripts,
    report_if_slow,
    set_price,
    set_up_process,
    task_keys,
)
from laconic.experiments.session.splits import tasks_of
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.agents.tiny import TinyTeam

ENV = {"_target_": "laconic.envs.make", "name": "gsm8k", "tasks": 8, "information": "split"}


@pytest.fixture
def cfg():
    return OmegaConf.create({"env": ENV, "evaluation": {"tasks": 6, "batch": 4}})


@pytest.fixture
def team():
    return ScriptedTeam("silent")


def test_torch_gets_its_threads_and_the_bars_of_loading_are_off_but_not_those_of_downloads():
    before = torch.get_num_threads()
    transformers_logging.enable_progress_bar()
    downloads_are_hidden = are_progress_bars_disabled()
    try:
        set_up_process(1)
        assert torch.get_num_threads() == 1
        set_up_process(None)
        assert torch.get_num_threads() == 1
        assert not transformers_logging.is_progress_bar_enabled()
        assert are_progress_bars_disabled() is downloads_are_hidden
    finally:
        torch.set_num_threads(before)


def test_environments_are_equal_but_not_the_same(cfg, team):
    first, second = make_environments(cfg, 2, "train", team)
    assert first is not second
    assert first.tasks == second.tasks and len(first.tasks) == 8
    assert first.tokenize is team.tokenize


@pytest.mark.parametrize("stateful", [False, True])
def test_environments_share_no_part_that_can_change(stateful):
    part = "types.SimpleNamespace" if stateful else "laconic.envs.Reward"
    node = {"_target_": part} if stateful else {"_target_": part, "price": 0.5}
    cfg = OmegaConf.create(
        {"_target_": "types.SimpleNamespace", "part": node, "names": ["a"], "more": {"b": ["c"]}}
    )
    made = list(_made(cfg, {"tokenize": str.split}, 3))
    assert len({id(each) for each in made}) == 3 and made[0] == made[1] == made[2]
    for name in ("names", "more", *(["part"] if stateful else [])):
        assert len({id(getattr(each, name)) for each in made}) == 3, name
    assert all(each.tokenize is made[0].tokenize for each in made)
    assert list(_made(cfg, {}, 0)) == []


def test_settings_of_the_call_come_before_those_of_the_configuration(cfg, team):
    (environment,) = make_environments(cfg, 1, "train", team, tasks=3, information="full")
    assert len(environment.tasks) == 3 and environment.information == "full"


def test_an_evaluation_has_no_more_environments_than_a_batch_or_than_tasks(cfg, team):
    assert len(make_evaluation(cfg, "evaluation", team)) == 4
    cfg.evaluation.batch = 100
    environments = make_evaluation(cfg, "evaluation", team)
    assert len(environments) == 6 and len(environments[0].tasks) == 6
    cfg.evaluation.tasks = None
    assert len(make_evaluation(cfg, "evaluation", team)) == 8


def test_a_source_that_cannot_be_read_is_said_of_its_key(cfg, team):
    cfg.env.source = "/nowhere"
    with pytest.raises(SourceError, match=r"^env\.source: /nowhere: no such file"):
        make_environments(cfg, 1, "train", team)


def test_an_environment_gets_only_the_settings_that_it_has(outside, team):
    cfg = OmegaConf.create(
        {"env": {"_target_": "my_parts.Echo"}, "evaluation": {"tasks": 3, "batch": 9}}
    )
    (environment,) = make_environments(cfg, 1, "train", team, tasks=2)
    assert environment.word == "a"
    assert task_keys(environment) == () and tasks_of(environment) == {}
    assert len(make_evaluation(cfg, "evaluation", team)) == 3
    cfg.evaluation.tasks = None
    assert len(make_evaluation(cfg, "evaluation", team)) == 9


def make_of_mine(**settings):
    """Make an own game whose settings are in another signature."""
    return envs.make("gsm8k", **settings)


def test_settings_of_another_environment_are_told_to_who_takes_any(team):
    node = {"_target_": f"{__name__}.make_of_mine", "name": "gsm8k", "rounds": 2}
    words = r"^expected settings that .*make_of_mine can use; got env\.name, env\.rounds .*'~env' "
    with pytest.raises(SettingError, match=words):
        make_environments(OmegaConf.create({"env": node}), 1, "train", team)


def test_tasks_of_another_kind_are_drawn_but_never_shown():
    class Odd:
        tasks = {"one": "what?", "two": Task("two", "?", (), "2")}

    assert task_keys(Odd()) == ("one", "two")
    assert list(tasks_of(Odd())) == ["two"]
    Odd.tasks = 5
    assert task_keys(Odd()) == () and tasks_of(Odd()) == {}


def test_only_the_price_of_a_reward_is_set_if_it_has_one():
    @dataclass
    class Own:
        price: float = 0.25
        other: str = "kept"

    class Odd:
        reward = Own()

    class Unpriced:
        reward = 1.0

    environment = envs.make("gsm8k", free=True, tasks=2, reward=Reward(price=0.5, normalizer=10))
    assert price_of(environment) == 0.5
    assert price_of(Odd()) == 0.25
    assert price_of(Unpriced()) is None and price_of(object()) is None
    odd, unpriced = Odd(), Unpriced()
    set_price([environment, odd, unpriced], 0.125)
    assert environment.reward == Reward(price=0.125, normalizer=10)
    assert odd.reward == Own(0.125, "kept")
    assert unpriced.reward == 1.0


def test_equal_rewards_are_replaced_once_and_a_price_that_stays_replaces_none():
    first, second, other = (
        envs.make("gsm8k", free=True, tasks=2, reward=Reward(price=0.5, normalizer=normalizer))
        for normalizer in (10, 10, 20)
    )
    set_price([first, second, other], 0.25)
    assert first.reward is second.reward
    assert (first.reward, other.reward) == (Reward(0.25, 10), Reward(0.25, 20))
    before = first.reward
    set_price([first], 0.25)
    assert first.reward is before


def test_a_script_is_refused_and_a_model_is_not(team):
    with pytest.raises(SettingError, match="agent=scripted follows a script"):
        refuse_scripts(team)
    refuse_scripts(object())


def test_more_starts_than_tasks_are_refused():
    with pytest.raises(SettingError, match=r"train\.tasks_per_step=3 is more than the 2 tasks"):
        draw_starts(("a", "b"), 3, seed=0, step=1)


class Recorder:
    def __init__(self, policies, optimizer, scale=1.0):
        self.policies, self.optimizer, self.scale = policies, optimizer, scale

    def update(self, groups):
        return {}


@pytest.mark.parametrize("partial", [{}, {"_partial_": True}])
def test_a_learner_is_called_with_policies_and_optimizer_with_or_without_partial(
    partial,
):
    cfg = OmegaConf.create(
        {
            "learner": {"_target_": f"{__name__}.Recorder", "scale": 2.0, **partial},
            "optimizer": {"_target_": "torch.optim.SGD", "lr": 0.5, **partial},
        }
    )
    policies = {"solver_0": object()}
    learner = make_learner(cfg, policies)
    assert learner.learner.policies == policies and learner.learner.scale == 2.0
    weights = [torch.zeros(2, requires_grad=True)]
    assert learner.learner.optimizer(weights).param_groups[0]["lr"] == 0.5


def test_budgets_and_rewards_reach_the_environment_as_records(cfg, team):
    cfg.env.budget = {"_target_": "laconic.envs.Budget", "message": 7}
    cfg.env.reward = {"_target_": "laconic.envs.Reward", "price": 0.5}
    (environment,) = make_environments(cfg, 1, "train", team)
    assert environment.budget == Budget(message=7) and environment.reward.price == 0.5


def test_thoughts_are_hidden_where_no_model_thinks_and_no_cap_is_set(cfg, team):
    (plain,) = make_environments(cfg, 1, "evaluation", team)
    (capped,) = make_environments(cfg, 1, "evaluation", team, budget={"thought": 8})
    tiny = TinyTeam().policies(plain)
    assert hidden_metrics(plain, tiny) == ("tokens_spent",)
    assert hidden_metrics(capped, tiny) == ()
    # A script may think; only an HFPolicy says that it does not.
    assert hidden_metrics(plain, team.policies(plain)) == ()


def test_conditions_of_grading_are_printed_once_if_there_are_any(cfg, team, capsys):
    (environment,) = make_environments(cfg, 1, "train", team)
    print_conditions(environment)
    print_conditions(object())
    assert capsys.readouterr().out == ""

    class Confined(type(environment.benchmark)):
        def conditions(self):
            return {"sandbox": "process, no network", "clock": "ten seconds"}

    environment.benchmark = Confined()
    print_conditions(environment)
    line = "conditions: sandbox=process, no network, clock=ten seconds\n"
    assert capsys.readouterr().out == line


@pytest.mark.parametrize("program", ["train", "evaluate"])
def test_programs_print_the_conditions_at_start(run, small, tmp_path, monkeypatch, program):
    monkeypatch.setattr(
        type(envs.benchmark("gsm8k")), "conditions", lambda self: {"sandbox": "none"}
    )
    settings = small if program == "train" else [*small[:2], "evaluation.tasks=2", "threads=1"]
    outcome = run(program, *settings, f"hydra.run.dir={tmp_path}")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("conditions: sandbox=none\n") == 1


def test_a_slow_part_is_named_again_and_again(capsys, monkeypatch):
    monkeypatch.setattr(setup, "AGAIN_SECONDS", 0.05)
    with report_if_slow("making tasks", first=0.05):
        time.sleep(0.5)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2 and all(line.startswith("making tasks: ") for line in lines)


def test_a_fast_part_is_not_named(capsys):
    with pytest.raises(ValueError), report_if_slow("making tasks", first=0.2):
        raise ValueError
    time.sleep(0.4)
    assert capsys.readouterr().out == ""
    assert threading.active_count() < 20
