"""Texts at the start of a program: the run, limits that differ, and weights that fit."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from door_game import door
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from places import CONF

from laconic import envs
from laconic.experiments.session.header import (
    conflicting_limits,
    header,
    print_start,
    unaffordable,
    untrained_warning,
)
from laconic.learners.agents.recipes import SHIPPED, shipped


def cfg_of(*overrides):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", overrides=list(overrides))


def test_the_header_names_agent_environment_learner_and_folder():
    cfg = cfg_of("env=math", "learner=rloo", "seed=3", "train.steps=7")
    choices = {"env": "math", "agent": "tiny", "learner": "rloo"}
    assert header(cfg, choices, Path("/runs/one")) == [
        "trains tiny on math by rloo, seed 3: 7 steps of 16 tasks x 8 episodes",
        "written to /runs/one",
        f"weights shipped for math: {shipped('math')}",
    ]
    choices = {"env": "gsm8k", "agent": "tiny", "learner": "gspo"}
    assert header(cfg_of(), choices, Path("x"))[-1] == f"weights shipped for gsm8k: {SHIPPED}"
    cfg.env._target_, cfg.agent.model = "my_package.World", "some/model"
    choices = {"env": "math", "agent": "tiny", "learner": "rloo"}
    assert header(cfg, choices, Path("x"))[0].startswith(
        "trains tiny (some/model) on my_package.World by rloo"
    )


def test_the_shipped_weights_know_one_world_and_for_others_a_command_makes_some():
    assert untrained_warning(cfg_of()) == ""
    assert untrained_warning(cfg_of("env=math")) == ""
    note = untrained_warning(cfg_of("env=matrix"))
    assert "never saw matrix (they were trained on gsm8k)" in note
    assert (
        "laconic warm-start env=matrix threads=1 hydra.run.dir=warm/matrix, then laconic train"
        " env=matrix agent.model=warm/matrix"
    ) in note
    note = untrained_warning(cfg_of("env=math", "env.generator.level=3"))
    assert "the weights shipped for math never saw env.generator.level as it is here" in note
    assert "hydra.run.dir=warm/math (about 20 minutes on one core), then" in note


@pytest.mark.parametrize(
    ("overrides", "typed"),
    [
        (["env.generator.level=2"], "env.generator.level=2"),
        (["env.information=full"], "env.information=full"),
        (["env.generator.level=[1,3]", "env.team.helper=2"],
         "'env.generator.level=[1,3]' env.team.helper=2"),
    ],
)  # fmt: skip
def test_a_setting_that_shipped_weights_never_saw_is_named_with_a_command(overrides, typed):
    note = untrained_warning(cfg_of(*overrides))
    assert note.startswith(f"the weights shipped for gsm8k never saw {overrides[0].split('=')[0]}")
    assert (
        f"laconic warm-start env=gsm8k {typed} threads=1 hydra.run.dir=warm/gsm8k (about 11 minutes"
        f" on one core), then laconic train env=gsm8k {typed} agent.model=warm/gsm8k"
    ) in note


def test_settings_that_no_agent_reads_are_not_named():
    changed = ["env.reward.price=1", "env.tasks=50", "env.generator.seed=3", "env.budget.round=90"]
    assert untrained_warning(cfg_of(*changed)) == ""


def test_of_large_models_and_worlds_of_others_nothing_is_said():
    assert untrained_warning(cfg_of("env=math", "agent=hf", "agent.model=x")) == ""
    cfg = cfg_of("env=math")
    del cfg.env.name
    assert untrained_warning(cfg) == ""


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("name", ["gsm8k", "math"])
def test_shipped_weights_never_saw_a_class_of_a_user(name, removed, tmp_path):
    cfg = cfg_of(f"env={name}")
    cfg.env._target_ = "my_package.Password"
    if removed:
        del cfg.env.name
    note = untrained_warning(cfg)
    # Without a name the team takes the weights of gsm8k.
    known = "gsm8k" if removed else name
    assert f"never saw my_package.Password (they were trained on {known})" in note
    assert "agent=smollm2" in note and "warm-start" not in note
    assert (
        untrained_warning(cfg_of(f"env={name}", "agent=smollm2", "env._target_=my_package.P")) == ""
    )
    # A run of that class has seen it.
    OmegaConf.save(
        OmegaConf.create({"env": {"_target_": "my_package.Password"}}), tmp_path / "config.yaml"
    )
    cfg.agent.model = str(tmp_path)
    assert untrained_warning(cfg) == ""


@pytest.mark.parametrize("inside", ["", "policy"])
def test_a_trained_run_knows_its_world_and_that_of_the_weights_it_began_with(tmp_path, inside):
    warm, run = tmp_path / "warm", tmp_path / "run"
    for path, config in (
        (warm / "recipe.yaml", {"env": {"name": "math"}}),
        (run / "config.yaml", {"env": {"name": "sports"}, "agent": {"model": str(warm)}}),
    ):
        path.parent.mkdir()
        OmegaConf.save(OmegaConf.create(config), path)
    notes = {
        world: untrained_warning(cfg_of(f"env={world}", f"agent.model={run / inside}"))
        for world in ("math", "sports", "tldr")
    }
    assert notes["math"] == notes["sports"] == "" and "trained on math and sports" in notes["tldr"]
    (run / "config.yaml").write_text("- no mapping")
    assert untrained_warning(cfg_of("env=tldr", f"agent.model={run}")) == ""


def test_fresh_weights_that_learn_from_reward_alone_get_a_warning():
    note = untrained_warning(cfg_of("experiment=warm_start", "learner=gspo", "env=math"))
    assert "fresh weights" in note and "laconic warm-start env=math" in note
    assert untrained_warning(cfg_of("experiment=warm_start", "env=math")) == ""
    taught = cfg_of("experiment=warm_start", "learner=gspo", "agent.model=warm/math")
    assert untrained_warning(taught) == ""


def conflicts_of(most, message, episode=None, **members):
    sampling = SimpleNamespace(max_reply_tokens=most)
    budget = SimpleNamespace(message=message, episode=episode)
    team = SimpleNamespace(sampling=sampling, members=members)
    return conflicting_limits(team, SimpleNamespace(budget=budget))


def test_equal_limits_are_no_conflict():
    # 48 tokens of a message, and one that ends the reply.
    assert conflicts_of(49, 48, 192) == [] and conflicts_of(49, None) == []
    assert conflicting_limits(object(), object()) == []


def test_limits_that_differ_are_named_with_both_keys():
    for most, message, least in ((256, 48, 49), (49, 255, 49)):
        [line] = conflicts_of(most, message)
        assert f"end after {least} tokens" in line
        assert f"agent.sampling.max_reply_tokens={most}" in line
        assert f"env.budget.message={message}" in line
    [line] = conflicts_of(49, 48, 40)
    assert "env.budget.episode=40" in line


def test_members_of_a_mixed_team_are_named_by_their_own_keys():
    helper = SimpleNamespace(sampling=SimpleNamespace(max_reply_tokens=256))
    [line] = conflicts_of(49, 48, helper=helper)
    assert "agent.members.helper.sampling.max_reply_tokens=256" in line


def test_only_conflicts_are_printed(capsys):
    team = SimpleNamespace(sampling=SimpleNamespace(max_reply_tokens=20))
    print_start(team, SimpleNamespace(budget=SimpleNamespace(message=48, episode=None)))
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("limits: replies end after 20 tokens")
    print_start(team, SimpleNamespace(budget=SimpleNamespace(message=19, episode=None)))
    assert capsys.readouterr().out == ""


def test_limits_on_thoughts_that_differ_are_named():
    def conflicts(most, cap):
        sampling = SimpleNamespace(max_reply_tokens=49, thinking_tokens=most)
        budget = SimpleNamespace(message=48, episode=None, thought=cap)
        team = SimpleNamespace(sampling=sampling)
        return conflicting_limits(team, SimpleNamespace(budget=budget))

    assert conflicts(64, 64) == conflicts(64, None) == conflicts(None, 64) == []
    [line] = conflicts(1024, 64)
    assert "thoughts end after 64 tokens" in line
    assert "agent.sampling.thinking_tokens=1024" in line and "env.budget.thought=64" in line


@pytest.mark.parametrize(
    ("name", "reward", "words"),
    [
        ("gsm8k", {}, ""),
        ("gsm8k", {"price": 1}, ""),
        # The price of a former configuration: 3 for the 12 tokens of a brief team.
        ("gsm8k", {"price": 3}, "more than it earns: 3 for 12 tokens, of 1; set .* at most 1\\."),
        # The former unit beside it: 12 tokens cost 0.72.
        ("gsm8k", {"price": 3, "normalizer": 50}, ""),
        ("signal", {"price": 11, "normalizer": 50}, "1.1 for 5 tokens, of 1; set .* at most 10\\."),
        # A program of a pair earns 4.
        ("coop_mbpp", {"price": 3}, ""),
        ("coop_mbpp", {"price": 5}, "5 for 49 tokens, of 4"),
        # Two rounds: 1 - 2 x 0.44 - 0.12 is 0, and 1 - 2 x 0.5 - 0.12 is less.
        ("gsm8k", {"round_price": 0.44}, ""),
        (
            "gsm8k",
            {"round_price": 0.5},
            "last of 2 rounds .*: 1, less 2 x 0.5 for time and 0.12 for .* to at most 0.44$",
        ),
        # The words alone cost too much already.
        ("gsm8k", {"price": 3, "round_price": 0.5}, "more than it earns: 3 for 12 tokens"),
    ],
)
def test_a_price_that_a_brief_team_cannot_pay_is_named(name, reward, words, capsys):
    env = envs.make(name, tasks=2, reward=reward)
    found = unaffordable(env)
    assert re.search(words, found) if words else not found
    print_start(None, env)
    assert ("price: a " in capsys.readouterr().out) == bool(words)


def test_time_that_no_solved_task_can_pay_is_named_where_the_unit_of_words_is_unknown():
    # Four rounds of 0.3, of a game that earns 1.
    assert not unaffordable(door(round_price=0.25))
    assert unaffordable(door(round_price=0.3)).endswith("env.reward.round_price to at most 0.25")
