"""Settings that are gone come with advice that can be typed, and names with the present ones."""

from __future__ import annotations

import re
from pkgutil import resolve_name

import pytest
from omegaconf import OmegaConf

from laconic.experiments.command_line.gone import _MOVED, GONE, present_class, present_name
from laconic.experiments.command_line.mistakes import unknown_key
from laconic.experiments.run_folder.folder import RunFolder
from laconic.learners.agents.tiny import TinyTeam
from laconic.learners.prices.schedule import PassRate


def test_what_is_advised_exists():
    assert list(GONE) == ["learner.charge_power", "learner/price/ramp"]
    for advice in GONE.values():
        assert "an older run goes on as a new one, agent.model=<its folder>" in advice
    (name,) = re.findall(r"learner\.price\.(\w+)", GONE["learner.charge_power"])
    assert getattr(PassRate(), name) == 2.0


def test_a_name_that_moved_exists_where_it_is_now():
    assert all(resolve_name(new) for new in _MOVED.values())
    assert present_name("laconic.learners.agents.api.ApiTeam") == "laconic.extras.api.ApiTeam"
    assert present_name("laconic.learners.agents.apis.Mine") == "laconic.learners.agents.apis.Mine"
    with pytest.raises(ImportError, match="laconic.extras.compare.columns.PlayedEntry now"):
        resolve_name("laconic.experiments:PlayedEntry")


def test_a_class_is_refused_with_its_present_name_but_read_from_a_former_folder(run, tmp_path):
    former = {"agent": {"_target_": "laconic.learners.agents.api.ApiTeam", "model": "m"}}
    folder = RunFolder(tmp_path / "run")
    folder.start(OmegaConf.create(former), resume=False)
    present = {"agent": {**former["agent"], "_target_": "laconic.extras.api.ApiTeam"}}
    folder.start(OmegaConf.create(present), resume=True)
    typed = ["agent._target_=laconic.learners.agents.api.ApiTeam", "+agent.model=m"]
    outcome = run("evaluate", *typed, f"hydra.run.dir={tmp_path}/other")
    assert outcome.code == 1 and "It is 'laconic.extras.api.ApiTeam' now." in outcome.err


def test_a_team_of_before_with_a_gate_or_a_speaker_is_read_as_one_that_takes_them():
    former = {"_target_": "laconic.learners.agents.tiny.TinyTeam", "frozen": True}
    assert present_class(former) == present_class({**former, "gate": None}) == former["_target_"]
    for name in ("gate", "speaker"):
        team = resolve_name(present_class({**former, name: {"policy": "informed"}}))
        assert issubclass(team, TinyTeam) and name in team.__dataclass_fields__


def test_a_key_that_other_options_take_is_refused_with_them():
    assert "agent=gated" in unknown_key("agent.gate.policy", ["agent", "agent.model"])
    keys = ["agent.gate", "agent.gate.policy"]
    assert "'agent.gate.policy'?" in unknown_key("agent.gate.police", keys)
