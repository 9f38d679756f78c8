"""Names of environments: registered ones, and those of installed packages."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from pettingzoo import ParallelEnv

from laconic import envs
from laconic.envs import registry
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.commons import Commons
from laconic.envs.library.signal.benchmark import BENCHMARK


class Lonely(ParallelEnv):
    """An environment that takes no setting but its own."""

    metadata = {"name": "lonely_v3"}
    possible_agents = ["a_0"]

    def __init__(self, size=2):
        self.size = size


def make_lonely(size=2, **settings):
    env = Lonely(size)
    env.settings = settings
    return env


@pytest.fixture(autouse=True)
def empty(monkeypatch):
    """Register no environment, and let no package offer one."""
    monkeypatch.setattr(registry, "_registered", {})
    offer(monkeypatch)


def offer(monkeypatch, **values):
    """Let installed packages offer environments; a list of values offers a name several times."""
    points = [
        EntryPoint(name, value, registry.GROUP)
        for name, listed in values.items()
        for value in ([listed] if isinstance(listed, str) else listed)
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)


def test_a_registered_world_has_the_settings_of_worlds_and_its_own():
    envs.register("lake", Commons)
    assert envs.names("own") == ("lake",) and "lake" in envs.names()
    env = envs.make("lake", months=3, tasks=2, budget={"message": 4})
    assert (env.world.months, env.budget.message, len(env.tasks)) == (3, 4, 2)
    with pytest.raises(UnknownNameError, match="setting of an environment 'monts'"):
        envs.make("lake", monts=3)


def test_a_registered_benchmark_is_made_and_returned_by_name():
    envs.register("colors", BENCHMARK)
    assert isinstance(envs.make("colors", tasks=2, information="split"), envs.DialogueEnv)
    assert envs.benchmark("colors") is BENCHMARK


def test_a_function_gets_its_settings_and_of_the_programs_only_those_it_names():
    envs.register("lonely", Lonely)
    env = envs.make("lonely", split="evaluation", tasks=3, tokenize=str.split, size=5, max_rounds=7)
    assert env.size == 5 and env.metadata == {"name": "lonely_v3", "max_rounds": 7}
    assert Lonely.metadata == {"name": "lonely_v3"}
    with pytest.raises(UnknownNameError, match="setting of environment lonely 'sise'"):
        envs.make("lonely", sise=5)
    with pytest.raises(UnknownNameError, match="setting of environment lonely 'holdout'"):
        envs.make("lonely", holdout=0.5)
    with pytest.raises(UnknownNameError, match="benchmark 'lonely'"):
        envs.benchmark("lonely")


def test_a_function_of_any_settings_gets_all():
    envs.register("lonely", make_lonely)
    env = envs.make("lonely", size=1, tasks=3, tokenize=str.split, generator={"seed": 4})
    assert env.settings == {
        "split": "train",
        "tasks": 3,
        "tokenize": str.split,
        "generator": {"seed": 4},
    }


def test_a_world_class_is_made_without_a_name():
    assert envs.make(Commons, tasks=1, months=2).world == Commons(months=2)


@pytest.mark.parametrize("name", ["", "a b", "1st", "a.b", "\u00e9", None])
def test_a_name_must_be_an_identifier(name):
    with pytest.raises(SettingError, match="expected letters, digits and underscores"):
        envs.register(name, Lonely)


@pytest.mark.parametrize("factory", [None, 3, "my_games:Dilemma"])
def test_what_makes_no_environment_is_refused(factory):
    with pytest.raises(SettingError, match="expected a Benchmark, .* for the environment 'game'"):
        envs.register("game", factory)


def test_a_name_in_use_is_refused_and_a_newer_definition_is_not(monkeypatch):
    offer(monkeypatch, offered="json:loads")
    envs.register("lake", Commons)
    for name in ("gsm8k", "commons", "offered", "lake"):
        with pytest.raises(SettingError, match=f"the name '{name}' belongs to another environment"):
            envs.register(name, Lonely)
    again = type("Commons", (Commons,), {"__module__": Commons.__module__})
    envs.register("lake", again)
    assert type(envs.make("lake", tasks=1).world) is again


def test_an_environment_of_an_installed_package_is_imported_when_it_is_made(monkeypatch):
    offer(monkeypatch, lake="laconic.envs.library.commons:Commons", missing="no_such_module:Game")
    assert envs.names("own") == ("lake", "missing")
    assert envs.make("lake", tasks=1).metadata["name"] == "commons_v0"
    with pytest.raises(SettingError, match="'missing' of no_such_module:Game cannot be imported"):
        envs.make("missing")
    offer(monkeypatch, seven="laconic.envs.contract.episodes:MAX_STEPS")
    with pytest.raises(SettingError, match="entry point 'seven' .* must name a Benchmark"):
        envs.make("seven")


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ({"gsm8k": "my:Game"}, "my:Game and Laconic itself both offer .* named 'gsm8k'"),
        ({"game": ["my:Game", "your:Game"]}, "your:Game and my:Game both offer .* 'game'"),
    ],
)
def test_a_clash_of_packages_is_an_error_that_names_them(monkeypatch, points, words):
    offer(monkeypatch, **points)
    with pytest.raises(SettingError, match=words):
        envs.names()
    with pytest.raises(SettingError, match=words):
        envs.make("game")
    # Environments of this package are found without looking at others.
    assert envs.make("gsm8k", free=True, tasks=1).metadata["name"] == "gsm8k_v0"


def test_one_package_that_is_found_twice_is_no_clash(monkeypatch):
    offer(monkeypatch, lake=["laconic.envs.library.commons:Commons"] * 2)
    assert envs.names("own") == ("lake",)


@pytest.mark.parametrize("name", (*envs.names("benchmarks"), *envs.names("worlds")))
def test_metadata_names_the_environment_and_its_version(name):
    env = envs.make(name, free=True, tasks=1)
    explained = getattr(env, "benchmark", None) or env.world
    assert env.metadata["name"] == f"{name}_v{explained.version}"


def test_a_newer_version_is_named():
    newer = type("Newer", (type(BENCHMARK),), {"version": 2})()
    assert envs.make(newer, tasks=1).metadata["name"] == "signal_v2"
