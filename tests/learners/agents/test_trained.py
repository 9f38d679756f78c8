"""A run folder is a model: the weights of its last checkpoint, or of that of a step."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml
from updates import equal, weights

from laconic.envs.errors import SettingError
from laconic.learners import checkpoint
from laconic.learners.agents import folders, recipes
from laconic.learners.agents.hf import HFTeam
from laconic.learners.agents.trained import policy_source, run_folder
from laconic.learners.algorithms.group import GroupLearner

STEPS = (2, 5)


def changed(policies, by: float) -> None:
    """Move all weights, as training would."""
    with torch.no_grad():
        for policy in policies.values():
            for parameter in policy.model.parameters():
                if parameter.requires_grad:
                    parameter.add_(by)


def a_run(folder: Path, policies, model: str, leave: bool = True) -> dict[int, dict]:
    """Write a run folder with two checkpoints; return the weights of each agent at both."""
    folder.mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump({"agent": {"model": model}}))
    learner = GroupLearner(policies, torch.optim.SGD)
    at = {}
    for step in STEPS:
        changed(policies, 0.01 * step)
        checkpoint.save(folder / "checkpoints", step, {"learner": learner.state_dict()})
        at[step] = {agent: weights(policy) for agent, policy in policies.items()}
    if leave:
        several = len(set(map(id, policies.values()))) > 1
        for agent, policy in policies.items():
            policy.save(folder / "policy" / agent if several else folder / "policy")
    return at


@pytest.fixture
def run(saved, make_env, tmp_path):
    """Makes a run of a team of two that began with the saved model."""

    def make(leave: bool = True, **settings):
        env = make_env(team={"solver": 1, "helper": 1})
        policies = HFTeam(str(saved), device="cpu", **settings).policies(env)
        at = a_run(tmp_path / "run", policies, str(saved), leave)
        return tmp_path / "run", at, env

    return make


@pytest.mark.parametrize("leave", [True, False], ids=["ended", "killed"])
@pytest.mark.parametrize("sharing", ["shared", "separate", "lora"])
def test_the_weights_are_those_of_the_last_checkpoint_or_of_the_step(run, sharing, leave):
    folder, at, env = run(leave, sharing=sharing)
    for step, expected in ((None, at[5]), (5, at[5]), (2, at[2])):
        team = HFTeam(str(folder), sharing=sharing, step=step, device="cpu")
        for agent, policy in team.policies(env).items():
            assert equal(weights(policy), expected[agent]), (agent, step)


def test_frozen_policies_of_two_steps_have_nothing_in_common(run):
    folder, at, env = run()
    teams = [HFTeam(str(folder), step=step, frozen=True, device="cpu") for step in STEPS]
    policies = [team.policies(env)["solver_0"] for team in teams]
    for policy, step in zip(policies, STEPS, strict=True):
        assert policy.frozen and equal(weights(policy), at[step]["solver_0"])


def test_frozen_policies_of_a_killed_run_have_weights_of_their_own(run):
    folder, at, env = run(leave=False, sharing="separate")
    # Alike so far; one of them is moved, and saved anew.
    last = checkpoint.load(folder / "checkpoints" / "step_00000005")
    for trainer in last["learner"]["trainers"][1]["model"].values():
        trainer.add_(1.0)
    checkpoint.save(folder / "checkpoints", 6, last)
    team = HFTeam(str(folder), sharing="separate", frozen=True, device="cpu").policies(env)
    first, second = (weights(team[agent]) for agent in ("solver_0", "helper_0"))
    assert equal(first, at[5]["solver_0"]) and not equal(first, second)


def test_a_run_without_checkpoints_is_what_it_left(run):
    folder, at, env = run()
    for path in (folder / "checkpoints").iterdir():
        path.rename(folder / path.name)
    policy = HFTeam(str(folder), device="cpu").policies(env)["solver_0"]
    assert equal(weights(policy), at[5]["solver_0"])


@pytest.mark.parametrize("leave", [True, False], ids=["ended", "killed"])
@pytest.mark.parametrize("step", [None, 2])
def test_a_run_may_have_begun_with_a_run(run, tmp_path, leave, step):
    first, at, env = run(leave)
    second = tmp_path / "second"
    (second / "checkpoints").mkdir(parents=True)
    agent = {"model": str(first), "step": step}
    (second / "config.yaml").write_text(yaml.safe_dump({"agent": agent}))
    # Killed before its first checkpoint, it stands where it began.
    policy = HFTeam(str(second), device="cpu").policies(env)["solver_0"]
    assert equal(weights(policy), at[step or 5]["solver_0"])
    state = checkpoint.load(first / "checkpoints" / "step_00000002")
    checkpoint.save(second / "checkpoints", 1, state)
    policy = HFTeam(str(second), device="cpu").policies(env)["solver_0"]
    assert equal(weights(policy), at[2]["solver_0"])


def test_a_step_that_is_not_there_is_refused_with_those_that_are(run, saved):
    folder, _, env = run()
    with pytest.raises(SettingError, match=r"agent\.step=3.*steps 2, 5; name one"):
        HFTeam(str(folder), step=3, device="cpu").policies(env)
    with pytest.raises(SettingError, match=r"agent\.step=3 needs agent\.model to be a run folder"):
        HFTeam(str(saved), step=3)


def test_a_team_of_other_policies_is_refused(run):
    folder, _, env = run(leave=False)
    with pytest.raises(SettingError, match="has 1 policies, but this team has 2"):
        HFTeam(str(folder), sharing="separate", device="cpu").policies(env)


def test_what_is_no_run_folder_is_none(saved, tmp_path):
    assert run_folder(str(saved)) is None and run_folder("Qwen/Qwen3-0.6B") is None
    (tmp_path / "config.yaml").write_text("")
    assert run_folder(str(tmp_path)) is None
    (tmp_path / "checkpoints").mkdir()
    assert run_folder(str(tmp_path)) == tmp_path


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        (
            {"_target_": "laconic.learners.agents.tiny.TinyTeam", "model": None},
            str(recipes.SHIPPED),
        ),
        ({"_target_": "laconic.learners.agents.smollm2.SmolLM2Team"}, folders.find_smollm2()),
        ({"_target_": "mine.Team", "model": "a/b"}, "a/b"),
    ],
)
def test_a_run_that_was_killed_has_the_form_of_what_it_began_with(tmp_path, agent, expected):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"agent": agent}))
    assert policy_source(tmp_path) == expected


@pytest.mark.parametrize("target", ["mine.Team", "laconic.learners.agents.tiny.new.NewTeam"])
def test_a_killed_run_that_names_no_model_says_what_to_do(tmp_path, target):
    (tmp_path / "config.yaml").write_text(f"agent: {{_target_: {target}}}")
    with pytest.raises(SettingError, match="resume=true"):
        policy_source(tmp_path)
