from __future__ import annotations

import shlex

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from laconic.learners.commands import command, quoted


def test_a_command_is_what_is_typed():
    assert command("train") == "laconic train"
    assert command("warm-start", env="math", threads=1, **{"hydra.run.dir": "warm/math"}) == (
        "laconic warm-start env=math threads=1 hydra.run.dir=warm/math"
    )
    assert command("evaluate", "-m", resume=True, run=None) == (
        "laconic evaluate -m resume=true run=null"
    )


@pytest.mark.parametrize(
    "text",
    [
        "outputs/a",
        "my runs/a",
        "it's",
        "~/runs",
        "runs/lr=1e-4",
        "runs/Müller",
        "a#b",
        "[x]",
        "a,b",
    ],
)
def test_the_shell_and_the_parser_give_back_every_folder(text):
    words = shlex.split(command("train", **{"hydra.run.dir": text}))
    override = OverridesParser.create().parse_override(words[2])
    assert (override.key_or_group, override.value()) == ("hydra.run.dir", text)


def test_a_placeholder_stays_as_it_is():
    assert quoted("<a folder>") == "<a folder>"
