from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf
from transformers import AutoModelForCausalLM, AutoTokenizer

from laconic.experiments.warm_start import _schedule
from laconic.learners.agents.tiny.build import SILENCE

SMALL = [
    "env.tasks=60",
    "steps=3",
    "episodes_per_step=6",
    "others=1.0",
    "log_every=2",
    "log_tasks=4",
    "evaluation.tasks=6",
    "evaluation.batch=4",
    "shape.vocabulary=400",
    "shape.hidden=16",
    "shape.layers=1",
    "shape.heads=2",
    "shape.intermediate=16",
    "max_reply_tokens=8",
    "threads=1",
]


@pytest.fixture(scope="module")
def made(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("warm_start") / "run"
    outcome = run("warm_start", *SMALL, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    return folder / "policy", outcome


def test_it_makes_a_folder_that_stock_transformers_loads(made):
    folder, outcome = made
    assert outcome.out.splitlines()[-1] == f"policy written to {folder}"
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert SILENCE in tokenizer.all_special_tokens
    assert model.config.vocab_size == len(tokenizer)


def test_the_recipe_the_log_and_the_figures_lie_beside_the_weights(made, rows):
    folder, _ = made
    recipe = OmegaConf.to_container(OmegaConf.load(folder / "recipe.yaml"), resolve=True)
    assert recipe["steps"] == 3 and recipe["shape"]["hidden"] == 16
    # Where it was made is nobody's business.
    assert str(Path(folder).parents[1]) not in (folder / "recipe.yaml").read_text()
    log = rows(folder / "log.jsonl")
    assert [row["step"] for row in log] == [2, 3]
    assert all(set(row) == {"step", "loss", "lr", "accuracy_when_told"} for row in log)
    figures = json.loads((folder / "figures.json").read_text())
    assert figures["tasks"] == 6
    assert figures["parameters"] == sum(
        one.numel() for one in AutoModelForCausalLM.from_pretrained(folder).parameters()
    )
    assert {"accuracy_when_told", "greedy/accuracy", "sampled/tokens_said"} <= figures.keys()


def test_what_it_makes_can_be_trained_at_once(run, made, small, tmp_path):
    outcome = run(
        "train",
        *small,
        f"agent.model={made[0]}",
        "train.steps=1",
        "logger=none",
        f"hydra.run.dir={tmp_path}/run",
    )
    assert outcome.code == 0, outcome.err


def test_equal_seeds_make_equal_weights_and_the_output_goes_where_it_is_told(
    processes, made, tmp_path
):
    folder = tmp_path / "elsewhere"
    wanted = [f"output={folder}", f"hydra.run.dir={tmp_path}/run"]
    outcome = processes.run("warm_start", *SMALL, *wanted)
    assert outcome.code == 0, outcome.err
    assert outcome.err == ""
    first = AutoModelForCausalLM.from_pretrained(made[0]).state_dict()
    again = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert (folder / "tokenizer.json").read_bytes() == (made[0] / "tokenizer.json").read_bytes()


def test_the_learning_rate_rises_to_its_peak_and_falls_to_a_twentieth():
    rates = [_schedule(step, steps=100, warmup=10) for step in range(1, 101)]
    # A tenth after the first of ten steps, all after the tenth.
    assert rates[0] == pytest.approx(0.1) and rates[9] == pytest.approx(1.0)
    # Half-way down the cosine: 0.05 + 0.95 / 2.
    assert rates[54] == pytest.approx(0.525)
    assert rates[-1] == pytest.approx(0.05)
    assert rates[9:] == sorted(rates[9:], reverse=True)
