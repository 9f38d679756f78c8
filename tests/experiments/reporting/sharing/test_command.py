"""The command on a model card sets what was set, and leaves what follows the agent to the agent."""

from __future__ import annotations

import pytest

from laconic.experiments.command_line.cli import CONF
from laconic.experiments.reporting.sharing.command import _environment, _with_base


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["agent=hf"], ["env=gsm8k"]),
        (["agent=hf", "env.budget.message=255"], ["env=gsm8k", "env.budget.message=255"]),
        (["+env.budget.message=255"], ["env=gsm8k", "env.budget.message=255"]),
    ],
)
def test_limits_that_followed_the_agent_are_not_set_and_those_that_were_set_are(given, expected):
    env = _with_base(CONF / "env" / "gsm8k.yaml")
    # As the run resolved them: by agent=hf, or by the command.
    env["budget"] |= {"message": 255, "episode": 1020}
    env["instructions"] = "full"
    assert _environment(env, given) == expected
