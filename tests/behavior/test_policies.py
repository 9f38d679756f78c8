"""Teams of adapters and mixed teams: trained, resumed, evaluated, and refused at the start."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from states import alike

from laconic.learners import checkpoint

COUNTS = ["train.steps=2", "train.checkpoint_every=1", "train.evaluate_every=null", "logger=none"]
STAKES = {f"eval/{name}" for name in ("agent_charge", "agent_earns", "pass_rate", "team_charge")}
"""Figures that only a training measures."""
LORA = ["agent.sharing=lora", "agent.lora.rank=2"]


@pytest.fixture
def mixed(small, policy_folder) -> list[str]:
    """Return a team of a frozen solver, helpers that learn, and a helper that follows a script."""
    remaining = [override for override in small if not override.startswith("agent.")]
    return [
        *remaining,
        *COUNTS,
        "agent=mixed",
        "+agent@agent.members.helper_1=scripted",
        *(f"agent.members.{name}.model={policy_folder}" for name in ("solver", "helper")),
        *(f"agent.members.{name}.sampling.max_reply_tokens=12" for name in ("solver", "helper")),
    ]


def state_of(folder: Path) -> dict:
    return checkpoint.load(checkpoint.latest(folder / "checkpoints"))


def assert_resumes(run, command: list[str], whole: Path, cut: Path, timeless) -> None:
    """Check that a run that lost its last step continues to the same end."""
    shutil.copytree(whole, cut)
    shutil.rmtree(cut / "checkpoints" / "step_00000002")
    shutil.rmtree(cut / "policy")
    assert run("train", *command, f"hydra.run.dir={cut}", "resume=true").code == 0
    assert alike(state_of(cut), state_of(whole))
    assert timeless(cut / "metrics.jsonl") == timeless(whole / "metrics.jsonl")
    for path in (whole / "policy").rglob("*.safetensors"):
        assert (cut / path.relative_to(whole)).read_bytes() == path.read_bytes()


def accuracy(folder: Path) -> dict:
    row = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    return {
        name: value
        for name, value in row.items()
        if name.startswith("eval/") and name not in STAKES
    }


@pytest.mark.slow
def test_adapters_are_trained_resumed_and_evaluated(run, small, tmp_path, timeless):
    pytest.importorskip("peft")
    whole = tmp_path / "whole"
    command = [*small, *COUNTS, *LORA, "agent.optimizer={solver: {lr: 1.0e-2}}"]
    outcome = run("train", *command, f"hydra.run.dir={whole}")
    assert outcome.code == 0, outcome.err
    trainers = state_of(whole)["learner"]["trainers"]
    rates = [trainer["optimizer"]["param_groups"][0]["lr"] for trainer in trainers]
    assert rates == [1e-2, 1e-4, 1e-4, 1e-4]
    assert all("lora_" in name for trainer in trainers for name in trainer["model"])
    assert_resumes(run, command, whole, tmp_path / "cut", timeless)
    evaluated = run(
        "evaluate",
        *LORA,
        f"agent.model={whole}/policy",
        *(
            override
            for override in small
            if override.startswith(("agent.sampling", "env.", "evaluation", "threads"))
        ),
        f"hydra.run.dir={tmp_path}/evaluated",
    )
    assert evaluated.code == 0, evaluated.err
    assert accuracy(tmp_path / "evaluated") == accuracy(whole)


@pytest.mark.slow
def test_a_mixed_team_is_trained_resumed_and_evaluated(run, mixed, small, tmp_path, timeless):
    whole = tmp_path / "whole"
    outcome = run("train", *mixed, f"hydra.run.dir={whole}")
    assert outcome.code == 0, outcome.err
    assert len(state_of(whole)["learner"]["trainers"]) == 1
    assert {path.name for path in (whole / "policy").iterdir() if path.is_dir()} == {"helper_0"}
    # Helpers 0 and 2 share a policy; the solver is frozen, and a script speaks for helper 1.
    team = json.loads((whole / "policy" / "team.json").read_text())
    assert {agent: at for agent, at in team.items() if at} == dict.fromkeys(
        ("helper_0", "helper_2"), "helper_0"
    )
    assert_resumes(run, mixed, whole, tmp_path / "cut", timeless)
    evaluated = run(
        "evaluate",
        *(
            text
            for text in mixed
            if not text.startswith(("train.", "learner.", "learner/", "logger", "report"))
        ),
        f"agent.model={whole}/policy",
        f"hydra.run.dir={tmp_path}/evaluated",
    )
    assert evaluated.code == 0, evaluated.err
    assert accuracy(tmp_path / "evaluated") == accuracy(whole)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["agent.members.helper.frozen=true"], "no agent of the team has weights to train"),
        (["agent.optimizer={helpr: {lr: 1.0}}"], "Did you mean 'helper'"),
        (["agent.counted_by=solvr"], "Did you mean 'solver'"),
    ],
)
def test_mixed_teams_that_cannot_be_are_refused_at_the_start(
    run, mixed, tmp_path, overrides, message
):
    outcome = run("train", *mixed, *overrides, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1
    assert message in outcome.message
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_a_frozen_team_is_refused_at_the_start(run, small, tmp_path):
    outcome = run("train", *small, "agent.frozen=true", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1
    assert "no agent of the team has weights to train (solver_0: frozen" in outcome.message


def test_without_peft_a_run_says_what_to_install(run, small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    outcome = run("train", *small, *LORA, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1
    assert "pip install 'laconic-marl[lora]'" in outcome.message
