"""Each GPU recipe trains two steps on a random two-layer model of its architecture.

A test server samples the replies. The sizes are small; all else is the recipe's.
"""

from __future__ import annotations

import math

import pytest
import yaml
from fake_engine import FakeEngine
from places import ROOT
from small_models import make_model as make_model
from small_models import make_policy as make_policy
from small_models import qwen_tokenizer as qwen_tokenizer
from small_models import tiny_tokenizer as tiny_tokenizer

RECIPES = sorted((ROOT / "conf/experiment/recipes").glob("*.yaml"))
LIKE_OTHERS = ("gpu_80gb",)
"""Recipes that differ from the one before in sizes alone."""
SMALL = [
    "env.instructions=brief",
    "env.tasks=20",
    "env.budget.message=5",
    "agent.sampling.max_reply_tokens=6",
    "agent.sampling.explain_silence=false",
    "train.steps=2",
    "train.tasks_per_step=2",
    "train.group_size=2",
    "evaluation.tasks=2",
    "evaluation.transcripts=1",
    # A random model solves nothing, so only a price that is always charged gives it contrast.
    "learner/price=fixed",
    "engine.start=false",
    "engine.patience_seconds=20",
    "report=false",
    "threads=1",
]


@pytest.fixture(scope="module")
def two_layers(make_policy, qwen_tokenizer, tmp_path_factory):
    """Return a folder with a random model of Qwen3's architecture."""
    folder = tmp_path_factory.mktemp("qwen3")
    policy = make_policy("qwen3", qwen_tokenizer, {"max_position_embeddings": 4096})
    policy.save(folder)
    return folder


@pytest.fixture(scope="module")
def servers(two_layers):
    engines = [FakeEngine(two_layers) for _ in range(2)]
    yield engines
    for engine in engines:
        engine.kill()


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(path, marks=pytest.mark.slow) if path.stem in LIKE_OTHERS else path
        for path in RECIPES
    ],
    ids=lambda path: path.stem,
)
def test_a_recipe_trains_two_steps(run, rows, two_layers, servers, recipe, tmp_path):
    several = isinstance(yaml.safe_load(recipe.read_text())["engine"].get("url"), list)
    urls = [server.url for server in servers[: 2 if several else 1]]
    address = f"engine.url=[{','.join(urls)}]" if several else f"engine.url={urls[0]}"
    outcome = run(
        "train",
        f"experiment=recipes/{recipe.stem}",
        f"agent.model={two_layers}",
        *SMALL,
        address,
        f"hydra.run.dir={tmp_path}",
    )

    assert outcome.code == 0, outcome.err
    steps = rows(tmp_path / "metrics.jsonl")[1:]
    assert len(steps) == 2
    # One update ahead, the second step's replies are asked for during the first.
    assert sum(row["engine/requests"] for row in steps) > 0
    assert all(row["train/tokens_said"] > 0 for row in steps)
    adapters = sorted(path.name for path in (tmp_path / "policy").iterdir() if path.is_dir())
    assert adapters == ["helper_0", "helper_1", "helper_2", "solver_0"]
    assert 0 < steps[-1]["learner/grad_norm"] < math.inf


def test_there_are_three_recipes_with_a_page_each():
    pages = ROOT / "docs/recipes"

    assert [path.stem for path in RECIPES] == ["gpu_24gb", "gpu_80gb", "gpus_8"]
    assert all((pages / f"{path.stem}.md").exists() for path in RECIPES)
