"""Every line of the program that measures on a GPU runs on the CPU, with a small shape."""

from __future__ import annotations

import importlib.util
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

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
SIZES = {
    "train.tasks_per_step": 1,
    "train.group_size": 2,
    "agent.sampling.max_reply_tokens": 6,
    "env.tasks": 8,
}


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_table", Path(__file__).with_name("table.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(page: str, head: str) -> list[list[str]]:
    """Return the rows of the table that begins with this head."""
    lines = page[page.index(f"| {head} |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("device", [CPU, CUDA])
def test_the_page_is_measured_and_written(program, tmp_path, device):
    page = tmp_path / "gpu.md"
    tests = ("tests/envs/test_checks.py", "-k", "no_test_has_this_name")
    # pytest says that no test was chosen with a code of its own, and the page keeps its words.
    assert program.main(page, device, TINY, SIZES, 1, tests) == 1
    text = page.read_text("utf-8")
    assert "deselected" in text and "Not run" not in text
    assert f"| torch | {version('torch')} |" in text
    apart = {
        row[0]: [float(cell) for cell in row[1:]] for row in cells(text, "precision | as sampled")
    }
    assert list(apart) == ["float32", "bfloat16_autocast", "bfloat16"]
    assert max(apart["float32"]) < 1e-8
    assert all(again < 1e-8 for _, again in apart.values())
    costs = cells(text, "precision | rounds")
    sizes = [["2", "1"], ["8", "1"], ["2", "8"]]
    assert [row[:3] for row in costs] == [
        [name, *size] for name in ("auto: float32", "float32") for size in sizes
    ]
    assert all(float(cell.replace(",", "")) > 0 for row in costs for cell in row[3:-1])


def test_the_page_names_the_gpu_and_what_runs_on_it(program, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Card 80")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    facts = dict(program.about())
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


def test_the_page_says_that_it_has_not_been_run_or_what_was_found(program):
    page = (ROOT / "docs" / "gpu.md").read_text("utf-8")
    assert page.startswith(program.INTRODUCTION)
    assert (page == program.INTRODUCTION + program.NOT_RUN) != ("## A training step" in page)


def test_the_shape_is_that_of_qwen3_with_600_million_parameters(program):
    with torch.device("meta"):
        model = program.AutoModelForCausalLM.from_config(program.QWEN3)
    # As its card says: 0.6 billion, of which 0.44 are not embeddings.
    whole = sum(parameter.numel() for parameter in model.parameters())
    assert whole == pytest.approx(0.6e9, rel=0.02)
    rest = whole - model.get_input_embeddings().weight.numel()
    assert rest == pytest.approx(0.44e9, rel=0.02)
