"""Records of programs declare every key of their yaml that no class takes."""

from __future__ import annotations

import pytest
from places import CONF

from laconic.experiments.command_line.targets import dotted
from laconic.experiments.command_line.tree import compose, plain, record_of, setting_at
from laconic.experiments.session.settings import TrainProgram


@pytest.mark.parametrize("program", ["train", "evaluate", "compare", "demand", "measure_speed"])
def test_each_key_of_a_program_is_declared(program):
    cfg = plain(compose(program, str(CONF), []))
    keys = [key for key in dotted(cfg) if "._" not in key and not key.startswith("logger")]
    assert len(keys) > 30
    assert [key for key in keys if setting_at(cfg, key, record_of(program)) is None] == []


def test_a_setting_that_no_yaml_shows_has_its_default_at_the_field():
    assert TrainProgram.report is True
