"""A team takes the weights that were shipped for its environment."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from laconic import envs
from laconic.learners.agents import recipes, tiny
from laconic.learners.agents.mixed import MixedTeam
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.agents.tiny import TinyTeam


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Ship the weights that stand in for others with checkmate too, in a folder of its own."""
    folder = tmp_path / "policy"
    shutil.copytree(recipes.SHIPPED, folder)
    owner = type(envs.benchmark("checkmate"))
    monkeypatch.setattr(owner, "recipe", replace(owner.recipe, folder=folder))
    return folder


def test_the_team_takes_the_weights_of_its_environment(home):
    team = TinyTeam().for_environment("checkmate")
    assert team.model == str(home)
    # A reply has room for 64 tokens and its end.
    assert team.defaults()["agent.sampling.max_reply_tokens"] == 65
    assert team.defaults()["learner.objective.normalizer"] == 65.0


def test_without_shipped_weights_others_stand_in():
    for name in ("gsm8k", "my_world", ""):
        team = TinyTeam().for_environment(name)
        assert team.model == str(recipes.SHIPPED)
        assert "agent.sampling.max_reply_tokens" not in team.defaults()


def test_a_training_takes_the_settings_that_suit_its_environment():
    # Episodes of the commons are long, whoever plays them.
    assert TinyTeam().for_environment("commons").defaults()["train.tasks_per_step"] == 1
    assert "train.tasks_per_step" not in TinyTeam().for_environment("gsm8k").defaults()


def test_weights_of_the_user_stay(home):
    mine = TinyTeam(str(tiny.SHIPPED))
    assert mine.for_environment("checkmate") is mine


def test_the_members_of_a_mixed_team_choose_too(home):
    script = ScriptedTeam()
    team = MixedTeam({"solver": TinyTeam(), "attack": script}).for_environment("checkmate")
    assert team.members["solver"].model == str(home)
    assert team.members["attack"] is script


def test_a_folder_without_weights_is_no_policy(home):
    assert recipes.shipped("checkmate") == home
    (home / "config.json").unlink()
    assert recipes.shipped("checkmate") is None and recipes.shipped("nowhere") is None
