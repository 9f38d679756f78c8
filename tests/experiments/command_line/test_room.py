"""The room that an agent, or the neediest member of a mixed team, brings to `env.budget`."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from laconic.experiments.command_line import room


@pytest.mark.parametrize(
    ("agent", "cap"),
    [
        (None, 48),
        ({}, 48),
        ({"budget": {"message": 255}}, 255),
        ({"budget": {"message": 9}}, 9),
        ({"budget": {"episode": 255}}, 48),
        ({"budget": {"message": None}}, None),
        ({"members": {"solver": {}, "helper": {"budget": {"message": 96}}}}, 96),
        # A member that says nothing is content with the default.
        ({"members": {"solver": {}, "helper": {"budget": {"message": 9}}}}, 48),
        ({"members": {"a": {"budget": {"message": 255}}, "b": {"budget": {"message": 96}}}}, 255),
        ({"members": {"solver": {"budget": {"message": None}}, "helper": {}}}, None),
    ],
)
def test_the_cap_is_what_the_neediest_needs(agent, cap):
    assert OmegaConf.has_resolver(room.room.__name__)
    found = OmegaConf.create({"env": {"budget": {"message": "${room:message,48}"}}})
    if agent is not None:
        found.agent = agent
    assert found.env.budget.message == cap
