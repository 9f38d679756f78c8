"""What ships is what the project promises: tiny policies, and what their cards say of them."""

from __future__ import annotations

import json

import pytest
from hydra import compose, initialize_config_dir
from safetensors import safe_open

from laconic import envs
from laconic.envs.registry import recipes
from laconic.experiments.command_line.targets import finalize_config
from laconic.experiments.command_line.tree import CONF
from laconic.experiments.session.evaluation import evaluation_starts
from laconic.experiments.session.header import header, untrained_warning
from laconic.experiments.session.setup import make_environments, make_team
from laconic.learners.agents.recipes import CARD, SHIPPED, shipped
from laconic.learners.agents.scripted import SCRIPTS, ScriptedPolicy
from laconic.learners.metrics import summarize
from laconic.learners.rollout.play import play

RECIPES = recipes()
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
    with safe_open(SHIPPED / "model.safetensors", "pt") as weights:
        sizes = [weights.get_tensor(name).numel() for name in weights.keys()]  # noqa: SIM118
    assert sum(sizes) <= 1_000_000
    assert sum(sizes) == json.loads((SHIPPED / "figures.json").read_text())["parameters"]
    assert (SHIPPED / "model.safetensors").stat().st_size <= 4 * 2**20


MOST_TASKS = 400
HIGHEST = {"tldr": 2.98, "arxiv": 2.98, "coop_humaneval": 4.0, "coop_mbpp": 4.0}
"""Environment -> highest figure, where that is not 1."""


def composed(name):
    """Compose a training with the shipped policy of an environment, or with what stands in."""
    overrides = [f"env={name}", "threads=1"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", overrides=overrides)
        finalize_config(cfg, overrides)
    return cfg


@pytest.mark.parametrize("name", envs.names())
def test_a_run_names_its_shipped_weights_or_says_how_to_make_some(name, tmp_path):
    cfg = composed(name)
    if folder := shipped(name):
        assert untrained_warning(cfg) == ""
        assert header(cfg, {"env": name}, tmp_path)[-1] == f"weights shipped for {name}: {folder}"
        return
    said = untrained_warning(cfg)
    assert f"these weights never saw {name} (they were trained on gsm8k)" in said
    time = f" (about {RECIPES[name].minutes} minutes on one core)" if name in RECIPES else ""
    assert f"warm-start env={name} threads=1 hydra.run.dir=warm/{name}{time}, then" in said
    assert f"then laconic train env={name} agent.model=warm/{name}" in said


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RECIPES if shipped(name)])
def test_the_first_evaluation_of_a_shipped_policy_is_that_of_its_card(name):
    cfg, recipe = composed(name), RECIPES[name]
    card = json.loads((shipped(name) / CARD).read_text())
    team, tasks = make_team(cfg), min(MOST_TASKS, recipe.final_tasks)
    environments = make_environments(cfg, min(tasks, 100), "evaluation", team, tasks=tasks)
    policies = team.policies(environments[0])
    episodes = play(environments, policies, evaluation_starts(environments), seed=0, greedy=True)
    assert len(episodes) == tasks
    figure = summarize(episodes)[recipe.metric] / HIGHEST.get(name, 1.0)
    documented = card["figures"][recipe.metric] / HIGHEST.get(name, 1.0)
    assert figure == pytest.approx(documented, abs=0.05)


def test_the_policies_are_small_together():
    folders = [folder for name in RECIPES if (folder := shipped(name))]
    files = [path for folder in folders for path in folder.iterdir() if path.is_file()]
    assert SHIPPED in folders
    assert sum(path.stat().st_size for path in files) <= 16 * 2**20


def test_the_start_of_jury_says_all_it_sees_and_both_roles_read_their_eyes():
    team = make_team(composed("jury"))
    environments = make_environments(composed("jury"), 200, "evaluation", team, tasks=None)
    policies, starts = team.policies(environments[0]), evaluation_starts(environments)
    figures = summarize(play(environments, policies, starts, seed=0, greedy=True))
    assert figures["tokens_said"] == pytest.approx(3.0)
    # By the best listener to helpers that all speak; a vote with its own sight reaches 0.8047.
    assert figures["accuracy"] == pytest.approx(0.8419, abs=0.005)
    sampled = summarize(play(environments, policies, starts, seed=0, greedy=False))
    speech = [sampled[f"spoke_{eyes}"] for eyes in ("dim", "fair", "sharp")]
    assert speech == pytest.approx([0.56, 0.78, 0.956], abs=0.06)
