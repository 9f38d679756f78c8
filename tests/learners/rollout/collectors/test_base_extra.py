from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.rollout.collectors.base import Extra
from laconic.learners.rollout.play import Start, collect


def test_every_group_has_so_many_episodes_more(make_env) -> None:
    environments = [make_env() for _ in range(4)]
    policies = ScriptedTeam("oracle").policies(environments[0])
    starts = [Start(1, "fruit"), Start(2, "birds")]
    groups = Extra(2)(environments, policies, starts, 3, seed=5)
    assert [(group.task, len(group.episodes)) for group in groups] == [("fruit", 5), ("birds", 5)]
    assert groups == collect(environments, policies, starts, 5, seed=5)
    assert Extra(2).members(3) == 5


@pytest.mark.parametrize("episodes", [0, -1, 1.0, True, None])
def test_a_number_out_of_range_is_refused(episodes: object) -> None:
    with pytest.raises(SettingError, match="collect.episodes must be a whole number of at least 1"):
        Extra(episodes)  # type: ignore[arg-type]
