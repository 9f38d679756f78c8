"""Environments of the user as options of the config group `env`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hydra.core.config_store import ConfigStore

from laconic import compose, envs
from laconic.envs import registry
from laconic.envs.errors import SettingError
from laconic.envs.library.commons import Commons
from laconic.envs.library.signal.benchmark import BENCHMARK
from laconic.experiments.command_line.own_environments import offer_environments
from laconic.experiments.command_line.tree import CONF


@pytest.fixture(autouse=True)
def empty(monkeypatch):
    """Register no environment, and remove those of a test when it ends."""
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(registry, "entry_points", lambda group: [])
    repo = {**ConfigStore.instance().repo, "env": {}}
    monkeypatch.setattr(ConfigStore.instance(), "repo", repo)


def make(size=2, name="x", parts=(), *, split, tasks=None, tokenize=None):
    """Make nothing."""


def test_a_function_has_its_plain_defaults():
    envs.register("toy", make)
    assert compose("env.size=3", env="toy").env == {
        "_target_": "laconic.envs.make",
        "name": "toy",
        "size": 3,
    }


def test_a_world_has_the_settings_of_worlds_and_its_fields():
    envs.register("lake", Commons)
    node = compose("env.months=3", "env.reward.price=0.5", env="lake").env
    assert (node.name, node.months, node.wording) == ("lake", 3, "fishery")
    assert node.reward.price == 0.5 and node.budget.agent is None
    with pytest.raises(SettingError, match=r"env\.month"):
        compose("env.month=3", env="lake")


def test_a_benchmark_has_the_settings_of_dialogues_and_those_it_declares():
    envs.register("colors", BENCHMARK)
    node = compose("env.information=split", env="colors").env
    assert (node.name, node.team, node.answer) == ("colors", {"solver": 1, "helper": 3}, "solver")


@pytest.mark.parametrize("override", ["env=one,two", "+env=one", "env=two", "override /env=one"])
def test_only_chosen_names_are_offered(override):
    for name in ("one", "two", "three"):
        envs.register(name, make)
    offer_environments(["seed=1", override], CONF)
    offered = {name.removesuffix(".yaml") for name in ConfigStore.instance().repo.get("env", ())}
    assert offered == {name for name in ("one", "two", "three") if name in override}


def test_a_name_that_is_not_known_is_answered_by_hydra():
    with pytest.raises(SettingError, match="gsm8"):
        compose(env="gsm8")


def test_packages_are_not_read_for_an_environment_of_our_own(monkeypatch):
    monkeypatch.setattr(registry, "entry_points", lambda group: pytest.fail("read"))
    offer_environments(["env=gsm8k", "env.rounds=3", "agent=tiny"], CONF)


@dataclass(frozen=True)
class _Needy(Commons):
    """A world that a registered name stands for."""

    depth: int = 7


def test_fields_of_a_subclass_are_settings_too():
    envs.register("needy", _Needy)
    assert compose(env="needy").env.depth == 7
