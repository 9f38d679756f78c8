"""A warm start is a training by imitation: a run folder like any other, from fresh weights."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from laconic.learners.agents.recipes import SILENCE

SMALL = [
    "env.tasks=60",
    "train.steps=4",
    "train.tasks_per_step=3",
    "train.checkpoint_every=2",
    "evaluation.tasks=6",
    "evaluation.batch=4",
    "optimizer.lr=1e-2",
    "agent.model_config.vocabulary=400",
    "agent.model_config.hidden=16",
    "agent.model_config.layers=1",
    "agent.model_config.heads=2",
    "agent.model_config.intermediate=16",
    "agent.sampling.max_reply_tokens=8",
    "threads=1",
    "report=false",
    "logger=none",
]


@pytest.fixture(scope="module")
def warm_run(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("warm_start") / "run"
    outcome = run("train", "experiment=warm_start", *SMALL, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    return folder


def weights(folder):
    return AutoModelForCausalLM.from_pretrained(folder / "policy").state_dict()


def test_it_makes_a_policy_that_stock_transformers_loads(warm_run):
    model = AutoModelForCausalLM.from_pretrained(warm_run / "policy")
    tokenizer = AutoTokenizer.from_pretrained(warm_run / "policy")
    assert SILENCE in tokenizer.all_special_tokens
    assert model.config.vocab_size == len(tokenizer)


def test_it_learns_and_is_evaluated_before_and_after(warm_run, rows):
    metrics = rows(warm_run / "metrics.jsonl")
    assert [row["step"] for row in metrics] == [0, 1, 2, 3, 4]
    assert metrics[4]["learner/loss"] < metrics[1]["learner/loss"]
    assert [row["step"] for row in rows(warm_run / "evaluations.jsonl")] == [0, 4]


@pytest.mark.slow
def test_it_is_made_longer_as_any_training_and_ends_bit_for_bit_alike(
    processes, warm_run, tmp_path
):
    # In processes of their own, whose hashes of texts are others.
    for steps in (2, 4):
        # The learning rate falls over the steps of the whole run.
        settings = [*SMALL, f"train.steps={steps}", "learner.decay_updates=4", "resume=true"]
        command = ["experiment=warm_start", *settings, f"hydra.run.dir={tmp_path}/run"]
        outcome = processes.run("train", *command)
        assert outcome.code == 0, outcome.err
    first, again = weights(warm_run), weights(tmp_path / "run")
    assert all(torch.equal(first[name], again[name]) for name in first)
    tokenizers = [
        (path / "policy/tokenizer.json").read_bytes() for path in (warm_run, tmp_path / "run")
    ]
    assert tokenizers[0] == tokenizers[1]


def test_what_it_makes_can_be_trained_at_once(run, warm_run, small, tmp_path):
    outcome = run(
        "train",
        *small,
        f"agent.model={warm_run}/policy",
        "train.steps=1",
        "logger=none",
        f"hydra.run.dir={tmp_path}/run",
    )
    assert outcome.code == 0, outcome.err


@pytest.mark.slow
def test_equal_seeds_make_equal_weights(processes, warm_run, tmp_path):
    outcome = processes.run(
        "train", "experiment=warm_start", *SMALL, f"hydra.run.dir={tmp_path}/run"
    )
    assert outcome.code == 0, outcome.err
    first, again = weights(warm_run), weights(tmp_path / "run")
    assert all(torch.equal(first[name], again[name]) for name in first)
    tokenizers = [
        (path / "policy/tokenizer.json").read_bytes() for path in (warm_run, tmp_path / "run")
    ]
    assert tokenizers[0] == tokenizers[1]


def test_any_policy_imitates_the_teacher_or_its_own_best_episodes(run, small, tmp_path, rows):
    for collect in ("teacher", "own_best"):
        folder = tmp_path / collect
        outcome = run(
            "train",
            "experiment=warm_start",
            *small,
            "agent=tiny",
            f"learner/collect={collect}",
            "train.steps=1",
            "logger=none",
            f"hydra.run.dir={folder}",
        )
        assert outcome.code == 0, outcome.err
        row = rows(folder / "metrics.jsonl")[1]
        # A random policy solves nothing, so it has no best episode.
        imitated = row.get("learner/imitated_groups", 2.0)
        assert (row.get("learner/loss", 0.0) > 0) == (imitated > 0)
