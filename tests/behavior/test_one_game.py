"""One name is one game: `envs.make(name)` and `env=name` make the same environment."""

from __future__ import annotations

from typing import Any

import pytest
from hydra.core.config_store import ConfigStore
from hydra.utils import instantiate
from pettingzoo import ParallelEnv

from laconic import compose, envs
from laconic.envs import registry
from laconic.envs.errors import SettingError
from laconic.envs.library.commons import Commons
from laconic.envs.library.signal.benchmark import Signal
from laconic.experiments.command_line.targets import finalize_config

RULES = (
    *("reward", "budget", "possible_agents", "rounds", "answering", "instructions"),
    *("hearing", "metadata", "tasks"),
    # Of dialogues, and of worlds.
    *("information", "holders", "joint", "stop_at", "agree_at", "world"),
)


class Hues(Signal):
    """A benchmark of a user, which declares nothing."""

    name = "hues"
    roles = ("guesser", "knower")
    defaults = {}


class Dear(Signal):
    """A benchmark of a user, which declares a price."""

    name = "dear"
    defaults = {"reward": {"price": 2}, "rounds": 3}


class Pond(Commons):
    """A world of a user, which declares nothing."""

    name = "pond"
    defaults = envs.World.defaults


OWN: dict[str, Any] = {"hues": Hues(), "dear": Dear(), "pond": Pond}


def rules(env: ParallelEnv[str, Any, str]) -> dict[str, Any]:
    """Return all that decides about a game."""
    found = {key: getattr(env, key) for key in RULES if hasattr(env, key)}
    schedule, options = env._roster.cycle, [option.settings for option in env.options]
    first = env.reset(seed=5)
    return {
        **found,
        "schedule": schedule,
        "options": options,
        "first": [str(part) for part in first],
    }


@pytest.fixture
def own(monkeypatch):
    """Register the environments of a user."""
    monkeypatch.setattr(registry, "_registered", dict(OWN))
    repo = {**ConfigStore.instance().repo, "env": {}}
    monkeypatch.setattr(ConfigStore.instance(), "repo", repo)


@pytest.mark.parametrize("name", [*envs.names(), *OWN])
def test_python_and_the_command_line_make_the_same_game(own, name):
    configured = instantiate(compose(env=name).env, tasks=3, _convert_="all")
    assert rules(envs.make(name, tasks=3)) == rules(configured)


def test_a_mapping_replaces_keys_and_a_record_the_whole():
    assert envs.make("gsm8k", tasks=2).budget == envs.Budget(message=48, episode=192)
    env = envs.make("gsm8k", tasks=2, reward={"price": 0}, budget={"message": 7})
    assert (env.reward.price, env.reward.normalizer) == (0, compose().env.reward.normalizer)
    assert env.budget == envs.Budget(message=7, episode=192)
    env = envs.make("gsm8k", tasks=2, reward=envs.Reward(price=1), budget=None)
    assert (env.reward, env.budget) == (envs.Reward(price=1), envs.Budget())
    # The team is one setting: its roles are replaced together.
    env = envs.make("gsm8k", tasks=2, team={"solver": 2}, schedule="all")
    assert env.possible_agents == ["solver_0", "solver_1"]
    # Level 1 stays where another key of the generator is named.
    env = envs.make("gsm8k", tasks=20, generator={"distractors": 2})
    assert [*env.tasks.values()] == [
        *envs.benchmark("gsm8k").generate(0, 20, level=1, distractors=2)
    ]


@pytest.mark.parametrize("name", envs.names())
def test_a_free_game_has_no_price_and_no_caps_and_everyone_hears_all(name):
    usual, free = envs.make(name, tasks=2), envs.make(name, tasks=2, free=True)
    assert (free.reward.price, free.budget) == (0, envs.Budget())
    assert free.reward.normalizer == usual.reward.normalizer
    assert (free.possible_agents, free.tasks) == (usual.possible_agents, usual.tasks)
    assert getattr(free, "information", "full") == free.instructions == "full"
    everyone = {*free.possible_agents}
    assert all({*heard, agent} == everyone for agent, heard in free.hearing[0].items())
    # What is named beside it counts.
    assert envs.make(name, tasks=2, free=True, budget={"message": 5}).budget.message == 5


def test_a_configuration_has_no_free_game():
    override = "+env.free=true"
    with pytest.raises(SettingError, match=r"env\.reward\.price=0"):
        finalize_config(compose(override), [override])
