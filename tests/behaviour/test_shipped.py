"""What ships is what the project promises: the tiny policy on the quickstart's game."""

from __future__ import annotations

import json

import pytest
from hydra import compose, initialize_config_dir
from safetensors import safe_open

from laconic.experiments.command_line.cli import CONF
from laconic.experiments.session.evaluation import evaluation_starts
from laconic.experiments.session.setup import make_environments, make_team
from laconic.learners.agents.scripted import SCRIPTS, ScriptedPolicy
from laconic.learners.agents.tiny import PATH
from laconic.learners.metrics import summarize
from laconic.learners.rollout.play import play

TASKS = 200


@pytest.fixture(scope="module")
def game():
    """Return the shipped team and 200 evaluation tasks of the easiest level."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train")
    team = make_team(cfg)
    return team, make_environments(cfg, TASKS, "evaluation", team, tasks=TASKS)


@pytest.mark.slow
def test_the_solver_is_right_when_every_helper_says_all_it_knows(game):
    team, environments = game
    first = environments[0]
    verbose = ScriptedPolicy(SCRIPTS["verbose"], first.tasks)
    policies = {
        agent: policy if agent in first.answering else verbose
        for agent, policy in team.policies(first).items()
    }
    episodes = play(environments, policies, evaluation_starts(environments), seed=0, greedy=True)
    assert summarize(episodes)["accuracy"] >= 0.9


@pytest.mark.slow
def test_the_team_is_wordy_and_right_before_training(game):
    team, environments = game
    policies = team.policies(environments[0])
    episodes = play(environments, policies, evaluation_starts(environments), seed=0, greedy=True)
    metrics = summarize(episodes)
    assert metrics["accuracy"] >= 0.9
    # Twice what the terse form of the same facts and working takes, about 33 tokens.
    assert metrics["tokens_said"] >= 66


def test_the_weights_are_small():
    with safe_open(PATH / "model.safetensors", "pt") as weights:
        sizes = [weights.get_tensor(name).numel() for name in weights.keys()]  # noqa: SIM118
    assert sum(sizes) <= 1_000_000
    assert sum(sizes) == json.loads((PATH / "figures.json").read_text())["parameters"]
    assert (PATH / "model.safetensors").stat().st_size <= 4 * 2**20
