"""A user's algorithm, outside the package, in the training program as a user would run it.

It is that of docs/own_algorithm.md.
"""

from __future__ import annotations

from functools import partial

import pytest
import torch
from omegaconf import OmegaConf
from safetensors.torch import load_file

from laconic import envs
from laconic.experiments.run_folder.runs import read_run
from laconic.learners.agents.hf import HFTeam

CHOICE = ["~learner", "+learner._target_=my_package.BestOfGroup"]


@pytest.fixture
def own(small):
    """Return the overrides of a small run with the user's algorithm."""
    return [*CHOICE, *(override for override in small if not override.startswith("learner"))]


def test_it_is_chosen_by_its_target_and_trains_with_metrics_checkpoints_and_evaluation(
    run, own, my_package, tmp_path, rows
):
    folder = tmp_path / "run"
    outcome = run("train", *own, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    metrics = rows(folder / "metrics.jsonl")
    assert [row["step"] for row in metrics] == [0, 1, 2, 3, 4]
    assert all(row["learner/imitated"] >= 0.0 for row in metrics[1:])
    assert any(row.get("learner/loss") for row in metrics[1:])
    assert "eval/accuracy" in metrics[-1] and (folder / "checkpoints").exists()
    # Everything calls it by its own name, and not by that of the default learner.
    name = "my_package.BestOfGroup"
    assert f"by {name}, seed 0" in outcome.out and f" · {name} · seed 0: finished" in outcome.out
    assert OmegaConf.load(folder / "config.yaml").names.learner == name
    assert read_run(folder).name("learner") == name
    card = (folder / "policy" / "README.md").read_text()
    assert f"- {name}\n" in card and "gspo" not in card


def test_it_has_settings_of_its_own(run, own, my_package, tmp_path, rows):
    folder = tmp_path / "run"
    # No episode beats its group by so much.
    overrides = [*own, "+learner.margin=100", "train.steps=1"]
    outcome = run("train", *overrides, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    assert rows(folder / "metrics.jsonl")[-1]["learner/imitated"] == 0.0


@pytest.mark.slow
def test_its_run_is_resumed_as_if_it_had_never_stopped(run, own, my_package, tmp_path, timeless):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run("train", *own, f"hydra.run.dir={whole}").code == 0
    assert run("train", *own, "train.steps=2", f"hydra.run.dir={parts}").code == 0
    again = run("train", *own, "resume=true", f"hydra.run.dir={parts}")
    assert again.code == 0, again.err
    assert timeless(parts / "metrics.jsonl") == timeless(whole / "metrics.jsonl")


def weights_of(folder):
    """Return the weights of a saved policy by name."""
    return load_file(folder / "model.safetensors")


def test_it_trains_the_policy_of_every_agent(run, own, my_package, policy_folder, tmp_path):
    folder = tmp_path / "run"
    overrides = [*own, "agent.sharing=separate", "train.steps=2", "train.group_size=4"]
    outcome = run("train", *overrides, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    before = weights_of(policy_folder)
    policies = [place for place in (folder / "policy").iterdir() if place.is_dir()]
    assert len(policies) == 4
    for place in policies:
        after = weights_of(place)
        assert any(not torch.equal(after[name], before[name]) for name in before), place.name


def test_its_state_has_every_policy(my_package, policy_folder):
    from my_package import BestOfGroup

    def learner():
        policies = HFTeam(str(policy_folder), sharing="separate").policies(
            envs.make("signal", free=True, tasks=2)
        )
        return BestOfGroup(policies, partial(torch.optim.AdamW, lr=0.1))

    first, second = learner(), learner()
    for number, policy in enumerate(first.policies):
        with torch.no_grad():
            next(iter(policy.model.parameters())).fill_(float(number))
    second.load_state_dict(first.state_dict())
    values = [float(next(iter(p.model.parameters())).detach().mean()) for p in second.policies]
    assert values == [0.0, 1.0, 2.0, 3.0]
