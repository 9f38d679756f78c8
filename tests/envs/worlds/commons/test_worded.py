"""What agents are told of a commons."""

from __future__ import annotations

import pytest

from laconic.envs.worlds.commons.rules import Commons
from laconic.envs.worlds.commons.worded import Worded
from laconic.envs.worlds.commons.wordings import TALK, WORDINGS


@pytest.mark.parametrize("wording", WORDINGS)
def test_every_style_says_how_to_act_or_nothing(wording):
    world = Commons(wording=wording, months=7)
    assert isinstance(world, Worded)
    (role,) = world.roles
    act = f"`> {WORDINGS[wording].verb} 7`"
    assert act in world.instructions(role) and act in world.instructions(role, "short")
    assert "There are 7 months." in world.instructions(role)
    assert len(world.instructions(role, "short")) < 150
    assert world.instructions(role, "brief") == ""


@pytest.mark.parametrize(
    ("settings", "way"),
    [({}, "rounds"), ({"talk": "published"}, "published"), ({"language": "none"}, "none")],
)
def test_the_way_to_talk_is_told(settings, way):
    world = Commons(**settings)
    assert world.way == way and TALK[way] in world.goal
    assert [one for one, words in TALK.items() if world.goal.endswith(words)] == [way]
