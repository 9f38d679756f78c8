"""`laconic.envs.make`, `envs.names` and `envs.benchmark`."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.errors import SettingError, UnknownNameError


@pytest.fixture(params=envs.names())
def name(request):
    """Every environment there is."""
    return request.param


def test_names_are_sorted_and_each_is_a_benchmark_or_a_world():
    assert list(envs.names()) == sorted(envs.names())
    assert {*envs.names("benchmarks")}.isdisjoint(envs.names("worlds"))
    assert {*envs.names()} == {*envs.names("benchmarks"), *envs.names("worlds")}
    for name in envs.names("benchmarks"):
        assert envs.benchmark(name).name == name
        assert isinstance(envs.benchmark(name), envs.Benchmark)
        assert isinstance(envs.make(name, tasks=1), envs.DialogueEnv)
    for name in envs.names("worlds"):
        assert isinstance(envs.make(name, tasks=1), envs.WorldEnv)
    with pytest.raises(UnknownNameError, match="kind of environment 'world'"):
        envs.names("world")


def test_an_environment_is_made_by_its_name_alone(name):
    env = envs.make(name, tasks=5)
    observations, infos = env.reset(seed=0)
    assert set(observations) == set(infos) == set(env.possible_agents)
    assert len(env.tasks) == 5


def test_equal_settings_give_equal_tasks_and_parts_share_none(name):
    train = envs.make(name, tasks=50, generator={"seed": 1}).tasks
    assert train == envs.make(name, tasks=50, generator={"seed": 1}).tasks
    evaluation = envs.make(name, tasks=50, split="evaluation", generator={"seed": 1}).tasks
    texts = [{task.text for task in tasks.values()} for tasks in (train, evaluation)]
    assert not texts[0] & texts[1]


def test_an_unknown_environment_names_the_nearest():
    for ask in (envs.make, envs.benchmark):
        with pytest.raises(UnknownNameError, match="environment 'gsm8'. Did you mean 'gsm8k'"):
            ask("gsm8")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"topologi": 3}, "setting of an environment 'topologi'. Did you mean 'topology'"),
        ({"sorce": "x"}, "setting of an environment 'sorce'. Did you mean 'source'"),
        ({"split": "eval"}, "split 'eval'. Did you mean 'evaluation'"),
        ({"budget": {"mesage": 3}}, r"env\.budget 'mesage'. Did you mean 'message'"),
        ({"reward": {"prize": 3}}, r"env\.reward 'prize'. Did you mean 'price'"),
        ({"topology": "rings"}, "topology 'rings'. Did you mean 'ring'"),
    ],
)
def test_an_unknown_setting_names_the_nearest(name, settings, words):
    with pytest.raises(UnknownNameError, match=words):
        envs.make(name, **{"tasks": 2, **settings})


def test_a_setting_of_another_kind_of_environment_is_unknown():
    with pytest.raises(UnknownNameError, match="setting of an environment 'rouds'. .*'rounds'"):
        envs.make("gsm8k", tasks=2, rouds=3)
    with pytest.raises(UnknownNameError, match="'splt'. Did you mean 'split'"):
        envs.make("gsm8k", tasks=2, information="splt")
    with pytest.raises(UnknownNameError, match="setting of an environment 'information'"):
        envs.make("commons", tasks=2, information="split")
    with pytest.raises(UnknownNameError, match="setting of an environment 'wording'"):
        envs.make("gsm8k", tasks=2, wording="pasture")


@pytest.mark.parametrize("tasks", [0, -1, True, 2.0, "5"])
def test_the_number_of_tasks_must_be_a_whole_number_of_at_least_one(name, tasks):
    with pytest.raises(SettingError, match=r"env\.tasks must be null or a whole number"):
        envs.make(name, tasks=tasks)


def test_a_cap_or_price_out_of_range_names_its_key(name):
    with pytest.raises(SettingError, match=r"budget\.round must be .* got 0"):
        envs.make(name, tasks=2, budget={"round": 0})
    with pytest.raises(SettingError, match=r"reward\.price must be .* got -1"):
        envs.make(name, tasks=2, reward={"price": -1})


def test_budget_and_reward_may_be_mappings_or_records(name):
    for budget, reward in (
        ({"message": 3}, {"price": 0.5}),
        (envs.Budget(message=3), envs.Reward(price=0.5)),
    ):
        env = envs.make(name, tasks=2, budget=budget, reward=reward)
        assert (env.budget, env.reward) == (envs.Budget(message=3), envs.Reward(price=0.5))
