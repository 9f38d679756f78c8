"""A training plays the layouts of `train.layouts`, with a teacher in each of them."""

from __future__ import annotations

from collections import Counter

import pytest
from hydra import compose, initialize_config_module

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.wrappers.mixture import Mixture
from laconic.experiments.command_line.tree import allow_unlisted
from laconic.experiments.session.setup import draw_starts, task_keys
from laconic.experiments.session.training_layouts import in_layout, make_training
from laconic.learners.agents.scripted import ScriptedTeam, Teacher, teacher_policy
from laconic.learners.rollout.play import collect


@pytest.fixture
def make_all():
    def make(*overrides, count=2):
        with initialize_config_module("laconic.conf", version_base="1.3"):
            cfg = compose("train", overrides=["env.tasks=20", *allow_unlisted(overrides)])
        return make_training(cfg, count, ScriptedTeam("oracle"))

    return make


def test_by_default_environments_are_as_configured(make_all):
    environments = make_all()
    assert len(environments) == 2 and all(isinstance(env, DialogueEnv) for env in environments)


def test_layouts_that_make_no_sense_are_left_out(make_all):
    (mixture,) = make_all("train.layouts=[team,concatenation,alone]", count=1)
    assert isinstance(mixture, Mixture) and [*mixture.parts] == ["team", "alone"]
    with pytest.raises(UnknownNameError, match="debate"):
        make_all("train.layouts=[debat]")


@pytest.mark.parametrize("layouts", ["concatenation", "alone,debate"])
def test_the_team_that_is_evaluated_has_to_be_among_them(make_all, layouts):
    with pytest.raises(SettingError, match="must contain team"):
        make_all(f"train.layouts=[{layouts}]")


def test_worlds_have_one_layout(make_all):
    (world,) = make_all("env=commons", "train.layouts=[team,team,discussion]", count=1)
    assert not isinstance(world, Mixture) and "commons" in type(world.world).__module__
    with pytest.raises(SettingError, match="must contain team"):
        make_all("env=commons", "train.layouts=[discussion]")


def test_all_may_say_as_much_together_in_any_layout(make_all):
    (mixture,) = make_all("train.layouts=[team,alone,debate]", "env.budget.episode=192", count=1)
    caps = {name: (env.budget.message, env.budget.episode) for name, env in mixture.parts.items()}
    assert caps == {"team": (48, 192), "alone": (192, 192), "debate": (32, 192)}
    thinking = {"budget": {"message": 10, "thought": 6}, "team": {"solver": 1, "helper": 1}}
    assert (
        in_layout({**thinking, "answer": "solver", "rounds": 1}, "alone")["budget"]["thought"] == 12
    )


@pytest.mark.parametrize("env", ["gsm8k", "coop_humaneval"])
def test_a_teacher_is_right_in_every_layout(make_all, env):
    layouts = "train.layouts=[team,alone,debate]"
    budgets = ("env.budget.message=null", "env.budget.episode=null")
    environments = make_all(f"env={env}", layouts, *budgets)
    mixture = environments[0]
    teacher = Teacher(terse=1.0, silent_informed=0.0, silent_uninformed=1.0, best=1.0)
    policies = dict.fromkeys(mixture.possible_agents, teacher_policy(teacher, mixture))
    starts = draw_starts(task_keys(mixture), 12, 0, 1)
    groups = collect(environments, policies, starts, 2, seed=0)
    teams = Counter(frozenset(group.episodes[0].rewards) for group in groups)
    assert len(teams) == len(mixture.parts)
    assert all(episode.solved for group in groups for episode in group.episodes)
    # The members of a group are of one layout.
    assert all(len({frozenset(e.rewards) for e in group.episodes}) == 1 for group in groups)
