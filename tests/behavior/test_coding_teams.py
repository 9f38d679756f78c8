"""Teams on generated functions: they solve a task only if relevant steps are passed on."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.task import Score
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.rollout.play import Start, play


@pytest.fixture(params=["humaneval", "mbpp"])
def env(request):
    """Return a coder and testers that hold the steps, and others, of functions of all levels."""
    return envs.make(
        request.param,
        tasks=12,
        team={"coder": 1, "tester": 3},
        answer="coder",
        information="split",
        topology="star",
        schedule=["tester", "coder"],
    )


def episodes(env, script: str):
    policies = ScriptedTeam(script).policies(env)
    return play([env], policies, [Start(n, key) for n, key in enumerate(env.tasks)], seed=0)


@pytest.mark.parametrize("script", ["oracle", pytest.param("verbose", marks=pytest.mark.slow)])
def test_a_team_that_passes_on_what_matters_solves_every_task(env, script):
    assert all(episode.solved for episode in episodes(env, script))


def test_a_silent_team_solves_nothing(env):
    assert not any(episode.solved for episode in episodes(env, "silent"))


def test_a_program_is_free_of_charge_and_ends_the_episode(env, monkeypatch):
    monkeypatch.setattr(env.benchmark, "score", lambda task, answers: Score(1.0, True, "f"))
    env.reset(seed=0)
    env.step({})
    program = "```python\ndef bab(number: int) -> int:\n    return number + 1\n```"
    _, rewards, terminations, _, infos = env.step({"coder_0": program})
    assert set(rewards.values()) == {1.0} and all(terminations.values())
    assert infos["coder_0"]["tokens_said"] > 0
