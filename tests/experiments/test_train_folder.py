"""Files in the folder of an uninterrupted training."""

from __future__ import annotations

import json
import math
import re

import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from transformers import AutoModelForCausalLM, AutoTokenizer

from laconic.experiments.command_line.tree import CONF, allow_unlisted
from laconic.learners import checkpoint
from laconic.learners.metrics import GLOSSARY
from laconic.learners.training.objective import LENGTH_BUCKETS

LEARNER = {
    "loss",
    "sequences",
    "ratio_mean",
    "ratio_min",
    "ratio_max",
    "approx_kl",
    "moved_fraction",
    "clip_fraction",
    "grad_norm",
    "learning_rate",
    "steps",
    "skipped_steps",
    "groups_without_contrast",
    "task_advantage",
    "price_advantage",
    "silence_balance",
}
STAKES = ("pass_rate", "agent_charge", "agent_earns", "team_charge")
SAID = (
    *("tokens_said/solver", "tokens_said/helper", "tokens_spent"),
    *("facts_told", "stated", "strict"),
)
GROUPS = ("reply_tokens", "entropy")
SPEEDS = ("sampled_tokens_per_second", "trained_tokens_per_second")
BUCKETS = {f"clip_fraction/{a}-{b}" if b else f"clip_fraction/{a}+" for a, b in LENGTH_BUCKETS}


def names(row, prefix):
    return {name.removeprefix(prefix) for name in row if name.startswith(prefix)}


def test_a_run_folder_holds_everything_that_is_promised(trained):
    folder, outcome = trained
    assert {path.name for path in folder.iterdir()} >= {
        "config.yaml",
        "metrics.jsonl",
        "evaluations.jsonl",
        "transcripts.jsonl",
        "status.json",
        "report.html",
        "checkpoints",
        "policy",
    }
    assert outcome.out.splitlines()[-1] == f"report: {folder / 'report.html'}"
    status = json.loads((folder / "status.json").read_text())
    assert status.pop("version")
    assert status == {
        "state": "finished",
        "step": 4,
        "processes": 1,
        "warnings": [],
    }


def test_the_saved_configuration_is_the_composed_one_with_every_reference_resolved(trained, small):
    folder, _ = trained
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", overrides=allow_unlisted([*small, "report=true"]))
    composed = OmegaConf.to_container(cfg, resolve=True)
    saved = OmegaConf.to_container(OmegaConf.load(folder / "config.yaml"), resolve=False)
    names = {"env": "gsm8k", "agent": saved["names"]["agent"], "learner": "gspo"}
    assert saved.pop("names") == {**names, "optimizer": "adamw"}
    assert saved == composed


def test_metrics_are_one_flat_object_per_step_under_the_documented_names(trained, rows):
    metrics = rows(trained[0] / "metrics.jsonl")
    assert [row["step"] for row in metrics] == [0, 1, 2, 3, 4]
    for row in metrics:
        assert all(isinstance(value, int | float) for value in row.values())
        assert all(math.isfinite(value) for value in row.values())
        trains, evaluates = row["step"] > 0, row["step"] in (0, 2, 4)
        stakes = {*STAKES, "silence_earns"} if row["step"] == 0 else {*STAKES}
        assert names(row, "eval/") == ({*GLOSSARY, *SAID, *stakes} if evaluates else set())
        assert names(row, "train/") == ({*GLOSSARY, *SAID, "price", *GROUPS} if trains else set())
        assert names(row, "memory/") == ({"peak_gigabytes"} if trains else set())
        first = {"changed_weights"} if row["step"] == 1 else set()
        assert names(row, "learner/") - BUCKETS == (LEARNER | first if trains else set())
        assert names(row, "time/") == (
            {"step"}
            | ({"rollout", "update", *SPEEDS} if trains else set())
            | ({"evaluation"} if evaluates else set())
        )
        assert sum(
            len(names(row, f"{group}/")) for group in ("eval", "train", "learner", "time", "memory")
        ) == (len(row) - 1)


def test_evaluations_hold_the_means_of_the_metrics_with_intervals_around_them(trained, rows):
    metrics = {row["step"]: row for row in rows(trained[0] / "metrics.jsonl")}
    evaluations = rows(trained[0] / "evaluations.jsonl")
    assert [row["step"] for row in evaluations] == [0, 2, 4]
    for row in evaluations:
        assert row["episodes"] == 4
        for name, interval in row["intervals"].items():
            assert interval["mean"] == metrics[row["step"]][f"eval/{name}"]
            assert interval["low"] <= interval["mean"] <= interval["high"]


def test_transcripts_show_the_same_tasks_at_every_evaluation(trained, rows):
    transcripts = rows(trained[0] / "transcripts.jsonl")
    assert [row["step"] for row in transcripts] == [0, 0, 2, 2, 4, 4]
    assert len({row["task"] for row in transcripts}) == 2
    for row in transcripts:
        assert row["question"] and row["statements"] and row["reference"]
        # Three helpers in the first round, the solver in the second.
        assert [turn["agent"] for turn in row["messages"]] == [
            "helper_0",
            "helper_1",
            "helper_2",
            "solver_0",
        ]
        assert row["tokens_said"] == sum(turn["tokens"] for turn in row["messages"])
        # What each of them read before it spoke: its name first, in the form of the shipped policy.
        assert all(turn["read"].startswith(turn["agent"]) for turn in row["messages"])
        assert {type(turn["truncated"]) for turn in row["messages"]} == {bool}
    assert any(turn["text"] for row in transcripts for turn in row["messages"])


def test_the_policy_loads_with_stock_transformers_and_holds_the_weights_of_the_last_checkpoint(
    trained,
):
    folder, _ = trained
    model = AutoModelForCausalLM.from_pretrained(folder / "policy")
    assert AutoTokenizer.from_pretrained(folder / "policy").eos_token == "<end>"
    last = checkpoint.latest(folder / "checkpoints")
    assert last.name == "step_00000004"
    saved = checkpoint.load(last)["learner"]["trainers"][0]["model"]
    assert saved.keys() == model.state_dict().keys()
    assert all(torch.equal(saved[name], value) for name, value in model.state_dict().items())


def test_training_moves_the_weights_and_leaves_the_folder_they_came_from(trained, policy_folder):
    before = AutoModelForCausalLM.from_pretrained(policy_folder).state_dict()
    after = AutoModelForCausalLM.from_pretrained(trained[0] / "policy").state_dict()
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_the_two_newest_checkpoints_are_kept(trained):
    checkpoints = sorted(path.name for path in (trained[0] / "checkpoints").iterdir())
    assert checkpoints == ["step_00000002", "step_00000004"]


def test_tensorboard_shows_the_metrics_of_every_step(trained, rows):
    events = EventAccumulator(str(trained[0]))
    events.Reload()
    metrics = rows(trained[0] / "metrics.jsonl")
    for name in ("eval/accuracy", "train/tokens_said", "learner/loss", "time/step"):
        expected = [(row["step"], row[name]) for row in metrics if name in row]
        points = [(event.step, event.value) for event in events.Scalars(name)]
        assert [step for step, _ in points] == [step for step, _ in expected]
        assert [value for _, value in points] == pytest.approx(
            [value for _, value in expected], rel=1e-6
        )


def test_the_report_is_one_file_that_refers_to_no_other(trained):
    page = (trained[0] / "report.html").read_text()
    assert "data:image/png;base64," in page
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page)
