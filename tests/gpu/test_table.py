"""Every line of the program that measures on a GPU runs on the CPU, with a small shape."""

from __future__ import annotations

import importlib.util
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from places import ROOT
from transformers import Qwen3Config

CPU = pytest.param("cpu", marks=pytest.mark.slow)
CUDA = pytest.param("cuda", marks=pytest.mark.gpu)
TINY = Qwen3Config(
    vocab_size=400,
    hidden_size=16,
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=8,
    max_position_embeddings=2048,
)
SIZES = {"train.group_size": 2, "agent.sampling.max_reply_tokens": 6, "env.tasks": 8}
NO_TEST = ("tests/envs/test_checks.py", "-k", "no_test_has_this_name")


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_table", Path(__file__).with_name("table.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Where data classes look up their annotations.
    sys.modules["gpu_table"] = module
    spec.loader.exec_module(module)
    return module


def cells(page: str, head: str) -> list[list[str]]:
    """Return the rows of the table that begins with this head."""
    lines = page[page.index(f"| {head} |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def bench(program: ModuleType, folder: Path, device: str = "cpu", **more) -> Any:
    tiny = {"device": device, "shapes": {"tiny": TINY}, "sizes": SIZES, "repetitions": 1}
    return program.Bench(**tiny, episodes=(2, 4), tests=NO_TEST, folder=folder, **more)


@pytest.mark.parametrize("device", [CPU, CUDA])
def test_the_page_is_measured_and_written(program, tmp_path, device):
    page, small = tmp_path / "gpu.md", bench(program, tmp_path, device)
    # pytest says that no test was chosen with a code of its own, and the page keeps its words.
    assert program.main(page, program.PARTS[:-1], small) == 1
    text = page.read_text("utf-8")
    assert "deselected" in text and f"| torch | {version('torch')} |" in text
    apart = {
        row[0]: [float(cell) for cell in row[1:]] for row in cells(text, "precision | as sampled")
    }
    assert list(apart) == ["float32", "bfloat16_autocast", "bfloat16"]
    assert max(apart["float32"]) < 1e-8
    assert all(again < 1e-8 for _, again in apart.values())
    costs = cells(text, "model | weights")
    assert {(row[1], row[3]) for row in costs} == {
        (weights, episodes) for weights in ("all", "adapters") for episodes in ("2", "4")
    }
    assert len(costs) == 4 * len(program.PRECISIONS)
    assert all(float(cell.replace(",", "")) > 0 for row in costs for cell in row[4:8])
    shares = [float(row[3].removesuffix(" %")) for row in cells(text, "model | precision | kernel")]
    assert len(shares) == 2 * program.KERNELS and max(shares) > 10 and min(shares) >= 0


def test_what_is_measured_is_not_measured_again(program, tmp_path):
    small, calls = bench(program, tmp_path), []
    rows = [(name, lambda name=name: calls.append(name) or name) for name in ("first", "second")]
    small.measure("steps", rows[:1])
    small.measure("steps", rows)
    assert calls == ["first", "second"] and small.rows("steps") == {n: n for n in calls}


def test_replies_are_of_the_fixed_length(program, tmp_path):
    groups, _ = bench(program, tmp_path).timer("tiny", 4).step(0)
    turns = [turn for group in groups for each in group.episodes for turn in each.turns]
    lengths = [len(turn.reply_ids) for turn in turns]
    # A word of 400 may be the silence word by chance, and ends nothing.
    assert {*lengths} == {SIZES["agent.sampling.max_reply_tokens"]}


def test_an_unknown_part_is_refused(program, tmp_path):
    with pytest.raises(SystemExit, match="must be one of tests"):
        program.main(tmp_path / "gpu.md", ["kernel"], bench(program, tmp_path))


def test_the_page_names_the_gpu_and_what_runs_on_it(program, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Card 80")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    facts = program.about()
    assert facts["device"] == "2 x Card 80" and facts["torch"] == version("torch")
    assert {"CUDA of torch", "transformers", "laconic", "commit"} <= facts.keys()


def test_what_became_of_the_tests_is_said(program):
    passed, line = program.tested(["tests/envs/test_checks.py"])
    assert passed and "passed in" in line and "=" not in line


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_refuses_in_words_and_leaves_the_page(program, tmp_path):
    page = tmp_path / "gpu.md"
    page.write_text("as it was")
    with pytest.raises(SystemExit, match="needs a GPU that torch can use"):
        program.main(page)
    assert page.read_text() == "as it was"


def test_the_page_says_what_was_found(program):
    page = (ROOT / "docs" / "gpu.md").read_text("utf-8")
    assert page.startswith(program.INTRODUCTION) and "## A training step" in page


@pytest.mark.parametrize(
    ("name", "size", "embedded"), [("0.6B", 0.6e9, 0.16e9), ("1.7B", 1.72e9, 0.31e9)]
)
def test_a_shape_has_the_weights_of_its_name(program, name, size, embedded):
    with torch.device("meta"):
        model = program.AutoModelForCausalLM.from_config(program.SHAPES[name])
    # As the cards say, 0.44 and 1.4 billion without embeddings.
    whole = sum(parameter.numel() for parameter in model.parameters())
    assert whole == pytest.approx(size, rel=0.02)
    assert model.get_input_embeddings().weight.numel() == pytest.approx(embedded, rel=0.03)
