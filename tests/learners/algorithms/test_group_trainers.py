"""Who of a team has a trainer."""

from __future__ import annotations

import pytest
from updates import SGD

from laconic.envs.errors import SettingError
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.algorithms.group import trainers_of


@pytest.fixture
def team(make_policy, make_env):
    """Return a solver and a helper with their own weights, and a helper that follows a script."""
    script = ScriptedPolicy(lambda task, request, generator: "There are 3", make_env().tasks)
    return {"solver_0": make_policy(), "helper_0": make_policy(), "helper_1": script}


def test_agents_that_share_weights_share_a_trainer(team):
    shared = {**team, "helper_0": team["solver_0"]}
    assert [trainer.agents for trainer in trainers_of(shared, SGD)] == [("solver_0", "helper_0")]


def test_only_those_who_can_learn_have_a_trainer(team):
    assert [policy.agents for policy in trainers_of(team, SGD)] == [("solver_0",), ("helper_0",)]
    assert trainers_of({}, SGD) == []
    for policy in list(team.values())[:2]:
        policy.model.requires_grad_(False)
    with pytest.raises(
        SettingError, match="solver_0: frozen.*helper_1: ScriptedPolicy.*agent.frozen=false"
    ):
        trainers_of(team, SGD)
