"""docs/metrics.md explains every figure that a run writes, and none that no run does."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from fake_engine import FakeEngine
from places import ROOT, configs

from laconic.envs.registry import metrics
from laconic.extras.analysis.demand_statistics import GLOSSARY as DEMAND
from laconic.extras.analysis.spread import GLOSSARY as SPREAD
from laconic.extras.methods.gate import METRICS
from laconic.learners.metrics import GLOSSARY, MEASURES, ROLES, SPENDING, THINKING

PAGE = ROOT / "docs" / "metrics.md"
FLOORS = ("learners", "experiments", "extras")
LEARNERS = sorted(path.stem for path in configs("learner/*.yaml").values())
SETTINGS = {
    "silence": ["learner.credit=silence"],
    "shapley": ["learner.credit=shapley"],
    "kl": ["learner.objective.beta=0.1"],
    "target": ["learner/price=target_tokens"],
    "contrast": ["learner/collect=contrast"],
    "edges": ["learner/topology=edges", "env.topology=complete"],
    "separate": ["agent.sharing=separate"],
    "demand": ["evaluation.demand=2"],
    "gate": ["agent=gated", "agent.gate.speak_informed=0.9"],
}
"""Settings that bring figures which the methods do not have by themselves."""
WRITTEN = {"facts_told", "stated", "strict", "tokens_spent"}
"""Measures of some worlds that the test's runs write."""


def explained() -> set[str]:
    """Return the patterns of the page: `<...>` is any text; tables from code are read there."""
    text = PAGE.read_text("utf-8")
    entries = set(re.findall(r"^\| `([\w/<>@.+-]+)`", text, re.M))
    for variable, names in (
        ("GLOSSARY", GLOSSARY),
        ("MEASURES", MEASURES),
        ("THINKING", THINKING),
        ("ROLES", ROLES),
        ("SPENDING", SPENDING),
    ):
        assert f"<!-- words: learners/metrics.py {variable} -->" in text
        entries |= {f"eval/{name}" for name in names} | {f"train/{name}" for name in names}
    assert "<!-- metrics: envs -->" in text
    entries |= {f"{kind}/{name}" for name in metrics() for kind in ("train", "eval")}
    assert "<!-- metrics: gate -->" in text
    entries |= {f"{kind}/{name}" for name in METRICS.metrics for kind in ("train", "eval")}
    assert "<!-- words: extras/analysis/demand_statistics.py GLOSSARY -->" in text
    entries |= {f"demand/{name}" for name in DEMAND}
    assert "<!-- words: extras/analysis/spread.py GLOSSARY -->" in text
    entries |= {f"eval/{name}" for name in SPREAD}
    return {re.sub(r"<[^>]*>", "*", entry) for entry in entries}


def unexplained(names: set[str]) -> set[str]:
    patterns = explained()
    return {name for name in names if not any(fnmatchcase(name, each) for each in patterns)}


def written(folder: Path, rows) -> set[str]:
    return {name for row in rows(folder / "metrics.jsonl") for name in row}


@pytest.mark.slow
def test_what_a_run_writes_is_explained(trained, rows):
    assert unexplained(written(trained[0], rows)) == set()


def test_what_the_code_names_in_full_is_explained():
    """Names with a prefix stand in the code as they are."""
    names = set()
    for path in (path for floor in FLOORS for path in (ROOT / floor).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if re.fullmatch(r"(train|eval|learner|time)/[\w/]+", node.value):
                    names.add(node.value)
    assert {"time/rollout", "train/price"} <= names
    # An option, and names of earlier versions, whose runs are still read.
    others = {"learner/price", "learner/price/ramp", "learner/charge_factor"}
    assert unexplained(names - others) == set()


@pytest.fixture
def engine(policy_folder):
    engine = FakeEngine(policy_folder)
    yield engine
    engine.kill()


@pytest.mark.slow
def test_every_learner_and_setting_is_explained_and_nothing_else(
    run, small, rows, tmp_path, fault_server, engine
):
    names = set()
    sizes = [*small, "train.steps=2", "train.evaluate_every=null", "logger=none"]
    cases = {learner: [f"learner={learner}"] for learner in LEARNERS} | SETTINGS
    cases["engine"] = ["agent.sharing=lora", "engine=vllm", f"engine.url={engine.url}"]
    cases["rlccf"] = ["experiment=rlccf", "~env.team.helper"]
    cases["swarm"].append(f"learner.collect.folder={tmp_path}/swarm")
    for name, more in cases.items():
        folder = tmp_path / name
        outcome = run("train", *sizes, *more, f"hydra.run.dir={folder}")
        assert outcome.code == 0, f"{name}: {outcome.err}"
        names |= written(folder, rows)
    sampled = ["evaluation.greedy=false", "evaluation.samples=2", "evaluation.pass_at=[1,2]"]
    api = ["agent=api", "agent.model=m", f"agent.base_url={fault_server.base_url}"]
    faithful = [small[0], "evaluation.fidelity=4"]
    evaluations = {"sampled": [small[0], *sampled], "api": api, "faithful": faithful}
    for name, more in evaluations.items():
        few = ["evaluation.tasks=4", f"hydra.run.dir={tmp_path}/{name}"]
        assert run("evaluate", *more, *few).code == 0
        names |= written(tmp_path / name, rows)
    verbose = ["agent=scripted", "agent.script=verbose", "evaluation.tasks=2"]
    for name, more in {"evaluate": ["evaluation.probe_silence=true"], "demand": []}.items():
        assert run(name, *verbose, *more, f"hydra.run.dir={tmp_path}/wordy_{name}").code == 0
        names |= written(tmp_path / f"wordy_{name}", rows)
    spread = ["env=signal", "agent=adopter", "env.schedule=all", "env.rounds=6"]
    spread += ["env.fault.kind=false_claim", "evaluation.tasks=20", f"hydra.run.dir={tmp_path}/f"]
    assert run("evaluate", *spread).code == 0
    names |= written(tmp_path / "f", rows)
    assert unexplained(names) == set()
    # The other way round; no provider was asked in a training, nobody thought, no critic broke, no
    # loss of a user named figures, and of the measures that only some worlds have these runs wrote
    # those of WRITTEN.
    ghosts = {each for each in explained() if not any(fnmatchcase(name, each) for name in names)}
    assert ghosts == {f"train/{name}" for name in SPENDING} | {
        f"{kind}/{name}"
        for name in ({*MEASURES, *metrics(), *THINKING} - WRITTEN)
        for kind in ("train", "eval")
    } | {"learner/loss/*", "learner/skipped_value_steps", "train/own_accuracy"}


@pytest.mark.parametrize("path", sorted(configs("learner/*.yaml").values()), ids=lambda p: p.stem)
def test_every_learner_has_a_section(path):
    text = (ROOT / "docs" / "learners.md").read_text("utf-8")
    assert f"\n## {path.stem}\n" in text and f"<!-- settings: learner/{path.stem} -->" in text


def test_every_yaml_is_on_a_page():
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))
    on_pages = set(re.findall(r"<!-- settings: (\S+) -->", pages))
    options = {*configs()}
    elsewhere = ("entry/", "env/base/", "experiment/", "hydra/", "warm_start/")
    bare = {"logger/none", "learner/price/fixed", "engine/own"}
    bare |= {"learner/advantages/imitated", "learner/collect/own_best"}
    # Their keys are those of agent/gated, and of the team behind the gate.
    bare |= {"agent/gated_hf", "agent/gated_smollm2"}
    assert {name for name in options - on_pages if not name.startswith(elsewhere)} == bare
    assert on_pages <= options
