"""The words of a commons."""

from __future__ import annotations

import pytest

from laconic.envs.library.commons.rules import Commons
from laconic.envs.library.commons.wordings import TALK, WORDINGS, WordedCommons


@pytest.mark.parametrize("wording", WORDINGS)
def test_every_style_says_how_to_act_or_nothing(wording):
    world = Commons(wording=wording, months=7)
    assert isinstance(world, WordedCommons)
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
    assert world.talk_mode == way and TALK[way] in world.goal
    assert [mode for mode, words in TALK.items() if world.goal.endswith(words)] == [way]


def test_wordings_have_names_of_their_own_and_say_the_numbers():
    for field in ("role", "verb", "unit", "story"):
        assert len({getattr(wording, field) for wording in WORDINGS.values()}) == len(WORDINGS)
    for wording in WORDINGS.values():
        assert wording.role.isidentifier() and wording.verb.isalpha()
        assert "100" in wording.story and wording.unit in f"{wording.story} pallets"
    assert [name for name, wording in WORDINGS.items() if wording.inverse] == ["trash"]
