"""Settings that are gone come with advice that can be typed."""

from __future__ import annotations

import re

from laconic.experiments.command_line.gone import GONE
from laconic.learners.prices.schedule import PassRate


def test_what_is_advised_exists():
    assert list(GONE) == ["learner.charge_power", "learner/price/ramp"]
    for advice in GONE.values():
        assert "an older run goes on as a new one, agent.model=<its folder>" in advice
    (name,) = re.findall(r"learner\.price\.(\w+)", GONE["learner.charge_power"])
    assert getattr(PassRate(), name) == 2.0
