"""A mixture plays one of its environments in each episode and has the agents of all."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.wrappers.mixture import Mixture

ALONE = {"team": {"solver": 1}, "information": "full", "rounds": 1, "topology": "none"}
DEBATE = {
    "team": {"solver": 3},
    "information": "full",
    "topology": "complete",
    "answer": "majority",
}


def mixture() -> Mixture:
    """Return a team of two, one agent alone, and three that debate, on the same tasks."""
    team = {"team": {"solver": 1, "helper": 1}, "information": "split"}
    environments = {
        name: envs.make("gsm8k", free=True, tasks=4, **{"schedule": "all", **settings})
        for name, settings in (("team", team), ("alone", ALONE), ("debate", DEBATE))
    }
    return Mixture(environments, ["team", "team", "alone", "debate"])


@pytest.fixture
def env() -> Mixture:
    return mixture()


def parts(env, seeds):
    return [env.reset(seed=seed) and env.part for seed in seeds]


def test_it_keeps_the_contract():
    check_env(mixture)


def test_who_is_in_an_episode_is_who_plays_it(env):
    assert env.possible_agents == ["solver_0", "helper_0", "solver_1", "solver_2"]
    assert env.agents == []
    observations, _ = env.reset(seed=0, options={"part": "alone"})
    assert env.agents == [*observations] == ["solver_0"]
    env.reset(seed=0, options={"part": "debate"})
    assert env.agents == ["solver_0", "solver_1", "solver_2"]
    env.step(dict.fromkeys(env.agents, "#### 1"))
    env.step(dict.fromkeys(env.agents, "#### 1"))
    assert env.agents == []
    assert env.answering == {"solver_0", "solver_1", "solver_2"}


def test_an_episode_is_that_of_its_part(env):
    options = {"task": next(iter(env.tasks))}
    for name, part in env.parts.items():
        observations, _ = env.reset(seed=7, options={**options, "part": name})
        assert str(observations) == str(part.reset(seed=7, options=options)[0])


def test_the_seed_draws_the_part_and_repeated_names_more_often(env):
    names = parts(env, range(400))
    assert names == parts(env, range(400))
    # 400 draws at 1/2 and 1/4: four standard deviations are 40 and 35.
    assert abs(names.count("team") - 200) < 40
    assert abs(names.count("alone") - 100) < 35


def test_without_a_seed_its_own_generator_goes_on(env):
    env.reset(seed=3)
    first = parts(env, [None] * 20)
    env.reset(seed=3)
    assert first == parts(env, [None] * 20) and len(set(first)) == 3


def test_tasks_and_price_are_those_of_all(env):
    tasks = dict(list(env.tasks.items())[:1])
    env.tasks, env.reward = tasks, envs.Reward(price=2.0)
    assert all(part.tasks == tasks and part.reward.price == 2.0 for part in env.parts.values())
    assert env.tasks == tasks and env.reward.price == 2.0
    assert (env.metadata["reward"], env.metadata["when"]) == ("common", "always")
    env.reward = envs.Reward(when="solved", paid="round")
    # Two rounds of the first environment.
    assert (env.metadata["when"], env.metadata["max_reward"]) == ("solved", 2.0)


def test_wrong_parts_and_names_are_refused(env):
    with pytest.raises(SettingError, match="at least one environment"):
        Mixture({})
    with pytest.raises(UnknownNameError, match="alone"):
        Mixture(env.parts, ["alon"])
    with pytest.raises(UnknownNameError, match="debate"):
        env.reset(options={"part": "debat"})
