"""Parts of a model card; `test_share_card.py` has the card of a real run."""

from __future__ import annotations

import pytest

from laconic.experiments.command_line.cli import CONF
from laconic.experiments.reporting.card import _environment, _with_base, public, saved_places


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("env.source=/home/me/data/gsm8k", "env.source=<gsm8k>"),
        ("agent.model=~/models/a.b", "agent.model=<a.b>"),
        ("agent.model=../there", "agent.model=<there>"),
        ("agent.model=Qwen/Qwen3-0.6B", "agent.model=Qwen/Qwen3-0.6B"),
        ("base_url=http://localhost:8000/v1", "base_url=http://localhost:8000/v1"),
        ("learner/price=ramp 1/2", "learner/price=ramp 1/2"),
    ],
)
def test_paths_are_shown_by_their_last_part(text, expected):
    assert public(text) == expected


def test_who_speaks_with_which_folder(tmp_path):
    first, other, script = object(), object(), object()
    for agent in ("a_0", "b_0"):
        (tmp_path / agent).mkdir()
        (tmp_path / agent / "config.json").touch()
    team = {"a_0": first, "b_0": other, "b_1": other, "c_0": script}
    # The second policy lies under its first agent; the script lies nowhere.
    assert saved_places(team, tmp_path) == {"a_0": "a_0", "b_0": "b_0", "b_1": "b_0", "c_0": None}
    (tmp_path / "config.json").touch()
    assert saved_places(dict.fromkeys(("a_0", "b_0"), first), tmp_path) == {"a_0": ".", "b_0": "."}


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["agent=hf"], ["env=gsm8k"]),
        (["agent=hf", "env.budget.message=255"], ["env=gsm8k", "env.budget.message=255"]),
        (["+env.budget.message=255"], ["env=gsm8k", "env.budget.message=255"]),
    ],
)
def test_limits_that_followed_the_agent_are_not_set_and_those_that_were_set_are(typed, expected):
    env = _with_base(CONF / "env" / "gsm8k.yaml")
    # As the run resolved them: by agent=hf, or by the command.
    env["budget"] |= {"message": 255, "episode": 1020}
    env["instructions"] = "full"
    assert _environment(env, typed) == expected
