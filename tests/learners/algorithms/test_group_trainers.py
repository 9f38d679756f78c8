"""Which agents of a team have a trainer, and what an update says of its comparison."""

from __future__ import annotations

import pytest
from updates import SGD

from laconic.envs.errors import SettingError
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.algorithms.group import comparison_metrics, trainers_of
from laconic.learners.training.sequences import Breakdown, TokenSequence


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


def compared(advantage: float, breakdown: Breakdown | None = None) -> TokenSequence:
    """Return a sequence with an advantage and its parts."""
    return TokenSequence(
        "t",
        "a",
        0,
        None,
        (1, 2),
        (False, True),
        (0.0, 0.0),
        0.0,
        advantage=advantage,
        breakdown=breakdown,
    )


def test_the_parts_of_an_advantage_are_measured_apart():
    # The task contributes 3, -3 and 0, the price -1, 1 and 2.
    paid = [
        compared(2.0, Breakdown(1.0, 0.4, task_advantage=3.0)),
        compared(-2.0, Breakdown(0.0, 0.4, task_advantage=-3.0)),
    ]
    priced = [compared(2.0, Breakdown(1.0, 0.4, task_advantage=0.0)), compared(0.0)]
    even = [compared(0.0), compared(0.0)]
    assert comparison_metrics([[paid, []], [priced, even]]) == pytest.approx(
        {
            "groups_without_contrast": 1 / 3,
            "task_advantage": ((9 + 9 + 0) / 3) ** 0.5,
            "price_advantage": ((1 + 1 + 4) / 3) ** 0.5,
        },
        rel=1e-12,
    )
    assert comparison_metrics([[even]]) == {"groups_without_contrast": 1.0}
    assert comparison_metrics([[], [[]]]) == {}
