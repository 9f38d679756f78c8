"""The further entries of a comparison, as written in `extras/conf/entry`."""

from __future__ import annotations

import csv
import json

import pytest
from omegaconf import OmegaConf
from places import EXTRAS_CONF

from laconic.envs.dialogue.budget import split_words
from laconic.envs.dialogue.roster import agent_names, hearing_by_round
from laconic.experiments.session.team_layouts import TeamSettings

SMALL = ["agent=scripted", "evaluation.tasks=6", "evaluation.batch=6", "threads=1"]


@pytest.fixture
def compared(run, tmp_path):
    """Return the rows of `comparison.json` and of `coordination.csv`, by entry."""

    def call(*names):
        folder = tmp_path / "run"
        outcome = run("compare", *SMALL, f"entry=[{','.join(names)}]", f"hydra.run.dir={folder}")
        assert outcome.code == 0, outcome.err
        entries = json.loads((folder / "comparison.json").read_text())["entries"]
        assert {row["state"] for row in entries} == {"finished"}
        with open(folder / "coordination.csv", newline="") as file:
            coordination = {row["entry"]: row for row in csv.DictReader(file)}
        return {row["name"]: row for row in entries}, coordination

    return call


def test_the_architectures_of_agent_scaling_share_out_the_budget_over_their_turns(
    compared, tmp_path
):
    names = ("independent", "centralized", "decentralized", "hybrid")
    rows, coordination = compared("single", *names)
    assert all(row["figures"]["accuracy"]["mean"] == 1.0 for row in rows.values())
    envs = [OmegaConf.load(tmp_path / "run" / name / "config.yaml").env for name in names]
    # centralized: the hub in rounds 0, 2 and 4, three workers in 1 and 3; hybrid: the hub in 0, 3
    # and 6, three workers in the four others.
    turns = [3, 9, 9, 15]
    assert [TeamSettings.of(env).turns for env in envs] == turns
    assert [env.budget.message for env in envs] == [192 // count for count in turns]
    assert float(coordination["independent"]["heard"]) == 0.0


def test_helpers_of_a_hybrid_hear_one_another_and_then_the_hub_hears_them():
    env = OmegaConf.load(EXTRAS_CONF / "entry" / "hybrid.yaml").env
    hears, ring, hearing = hearing_by_round(env.topology, agent_names(env.team))
    assert hears == hearing and set(hearing["solver_0"]) == {"helper_0", "helper_1", "helper_2"}
    assert ring["solver_0"] == () and ring["helper_0"] == ("helper_1", "helper_2")


@pytest.mark.slow
def test_a_second_pass_a_society_and_characters_play(compared, tmp_path):
    rows, _ = compared(
        "single", "revise", "scaffold", "draft", "resolve", "society", "personas", "pruned"
    )
    # 192 tokens for two passes; the draft is said once more before it is revised.
    envs = [
        OmegaConf.load(tmp_path / "run" / name / "config.yaml").env for name in ("draft", "revise")
    ]
    assert [(env.budget.message, env.budget.episode) for env in envs] == [(96, 192)] * 2
    counts = {name: row["figures"]["tokens_said"]["mean"] for name, row in rows.items()}
    assert counts["revise"] == counts["draft"] + counts["resolve"] > counts["resolve"]


def test_four_ways_to_plan_move_the_boxes_of_a_grid(run, tmp_path):
    names = ("cmas", "dmas", "hmas1", "hmas2")
    entries = f"entry=[{','.join((*names, 'debate'))}]"
    folder = f"hydra.run.dir={tmp_path}"
    outcome = run("compare", "env=boxnet", *SMALL[1:], entries, "agent=scripted", folder)
    assert outcome.code == 0, outcome.err
    rows = {
        row["name"]: row
        for row in json.loads((tmp_path / "comparison.json").read_text())["entries"]
    }
    assert rows.pop("debate")["state"] == "left out"
    assert all(row["figures"]["accuracy"]["mean"] == 1.0 for row in rows.values())
    envs = {name: OmegaConf.load(tmp_path / name / "config.yaml").env for name in names}
    assert {env.planning for env in envs.values()} == set(names)
    assert {env.view for env in envs.values()} == {"full"}
    # EXECUTE is one token a step.
    said = {name: row["figures"]["tokens_said"]["mean"] for name, row in rows.items()}
    assert said["cmas"] == said["hmas1"] == said["hmas2"] < said["dmas"] < said["cmas"] + 10


def test_characters_and_their_controls_have_equally_many_words():
    def words_of(name):
        entry = OmegaConf.load(EXTRAS_CONF / "entry" / f"{name}.yaml")
        texts = [entry.say] if isinstance(entry.say, str) else entry.say
        return {len(split_words(text)) for text in texts}

    names = ("personas", "persona_shared", "persona_padded")
    assert [words_of(name) for name in names] == [{20}] * len(names)
