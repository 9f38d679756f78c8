"""An override that Hydra's grammar does not take is answered with how to type it."""

from __future__ import annotations

import shlex

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from laconic.experiments.command_line.mistakes import describe, quoting

VALUES = ["~/runs", "runs/Müller", "runs/a#b", "runs/lr=1e-4", 'say "no"', "a;b", "50%", "x(y)"]


@pytest.mark.parametrize("value", VALUES)
def test_what_is_advised_gives_the_value(value):
    advice = quoting(f"hydra.run.dir={value}")
    (typed,) = shlex.split(advice.removeprefix("quote it: "))
    assert OverridesParser.create().parse_override(typed).value() == value


@pytest.mark.parametrize("override", ["hydra.run.dir=~/runs", "hydra.run.dir=runs/Müller"])
def test_the_message_is_one_line_with_the_advice(override):
    with pytest.raises(HydraException) as caught:
        OverridesParser.create().parse_overrides([override])
    key, _, value = override.partition("=")
    assert describe(caught.value) == (
        f"cannot read the override {override!r}: quote it: '{key}=\"{value}\"'"
    )


@pytest.mark.parametrize("override", ["a", "a=[1,", 'a="b', "a={b: 1"])
def test_where_quotes_would_not_help_there_is_no_advice(override):
    assert quoting(override) == ""


def test_several_values_without_a_sweep_are_told_in_one_line(run, tmp_path):
    outcome = run("train", "agent.model=a,b", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 2 and outcome.message == (
        "error: 'agent.model=a,b' has several values; a list is written [a,b], -m sweeps over"
        " them, and for one text quote it: 'agent.model=\"a,b\"'\n"
    )
