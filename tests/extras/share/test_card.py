"""Parts of a model card; `test_share_card.py` has the card of a real run."""

from __future__ import annotations

import pytest

from laconic.experiments.command_line.tree import CONF
from laconic.extras.share.card import _environment, _with_base, public, saved_places


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("env.source=/home/me/data/gsm8k", "env.source=<gsm8k>"),
        ("agent.model=~/models/a.b", "agent.model=<a.b>"),
        ("agent.model=../there", "agent.model=<there>"),
        ("agent.model=Qwen/Qwen3-0.6B", "agent.model=Qwen/Qwen3-0.6B"),
        ("base_url=http://localhost:8000/v1", "base_url=http://localhost:8000/v1"),
        ("learner/price=fixed 1/2", "learner/price=fixed 1/2"),
    ],
)
def test_paths_are_shown_by_their_last_part(text, expected):
    assert public(text) == expected


def test_each_agent_has_the_folder_of_its_policy(tmp_path):
    first, other, script = object(), object(), object()
    for agent in ("a_0", "b_0"):
        (tmp_path / agent).mkdir()
        (tmp_path / agent / "config.json").touch()
    team = {"a_0": first, "b_0": other, "b_1": other, "c_0": script}
    # The second policy lies under its first agent; the script lies nowhere.
    assert saved_places(team, tmp_path) == {"a_0": "a_0", "b_0": "b_0", "b_1": "b_0", "c_0": None}
    (tmp_path / "config.json").touch()
    assert saved_places(dict.fromkeys(("a_0", "b_0"), first), tmp_path) == {"a_0": ".", "b_0": "."}


def test_the_command_sets_the_keys_that_differ_from_the_named_environment():
    env = _with_base(CONF / "env" / "gsm8k.yaml")
    assert _environment(env, []) == ["env=gsm8k"]
    # Removed by the user, set by the team, and added by the user.
    del env["rounds"]
    env["budget"]["message"] = 255
    env["reader"] = {"answer": "a b"}
    assert _environment(env, []) == [
        "env=gsm8k",
        "~env.rounds",
        "env.budget.message=255",
        '+env.reader.answer="a b"',
    ]


def test_an_environment_without_a_config_is_given_by_the_typed_settings():
    typed = ["env=mine", "+env.size=3", "agent=tiny", "~env.team"]
    assert _environment({"name": "mine"}, typed) == ["env=mine", "+env.size=3", "~env.team"]
