"""Scripted teams on the yes/no benchmarks: an agent that reads the relevant facts is right."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.rollout.play import Start, play

TEAMS = {"strategyqa": "helper", "sports": "scout"}
TASKS = 24


@pytest.fixture(params=TEAMS)
def name(request: pytest.FixtureRequest) -> str:
    family: str = request.param
    return family


def make(name: str, level: object, information: str = "split", **settings: object):
    helper = TEAMS[name]
    return envs.make(
        name,
        free=True,
        tasks=TASKS,
        generator={"level": level, "distractors": (0, 3)},
        team={"solver": 1, helper: 3},
        information=information,
        topology="star",
        schedule=[helper, "solver"],
        **settings,
    )


def scores(environment, script: str) -> list[float]:
    policies = ScriptedTeam(script).policies(environment)
    starts = [Start(seed, key) for seed, key in enumerate(environment.tasks)]
    return [episode.score for episode in play([environment], policies, starts, seed=0)]


@pytest.mark.parametrize(
    ("script", "information", "level"),
    [
        # Each pair of the three settings; the other half of the product is slow.
        pytest.param(script, information, level, marks=() if fits else pytest.mark.slow)
        for script, a in (("oracle", 0), ("verbose", 1))
        for information, b in (("split", 0), ("full", 1))
        for level in (1, 2, 3)
        for fits in [(a + b + level) % 2 == 1]
    ],
)
def test_a_team_that_says_what_matters_is_always_right(name, script, information, level) -> None:
    assert scores(make(name, level, information), script) == [1.0] * TASKS


def test_a_silent_team_solves_nothing(name) -> None:
    assert scores(make(name, 1), "silent") == [0.0] * TASKS


def test_a_team_without_its_helpers_words_solves_nothing(name) -> None:
    environment = make(name, 1)
    policies = ScriptedTeam("oracle").policies(environment)
    silent = ScriptedTeam("silent").policies(environment)
    team = {agent: policies[agent] if agent == "solver_0" else silent[agent] for agent in policies}
    starts = [Start(seed, key) for seed, key in enumerate(environment.tasks)]
    played = play([environment], team, starts, seed=0)
    assert [episode.score for episode in played] == [0.0] * TASKS


@pytest.mark.parametrize("information", ["split", "full"])
def test_the_contract_holds_for_its_own_roles(name, information) -> None:
    check_env(lambda: make(name, 1, information))


def test_a_critic_joins_under_full_information(name) -> None:
    check_env(
        lambda: envs.make(
            name,
            free=True,
            tasks=10,
            team={"solver": 1, "critic": 1},
            rounds=3,
            schedule=["solver", "critic", "solver"],
        )
    )
