"""Scripted teams whose dynamics are known: what the instrument reads off their transcripts."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.extras.analysis.adopter import AdopterTeam
from laconic.extras.analysis.spread import GLOSSARY, faults, fit, follow, growth, links
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.rollout.play import Start, play

RATES = ((0.3, 0.1), (0.05, 0.3))
TOPOLOGIES = (
    "star",
    "chain",
    pytest.param("complete", marks=pytest.mark.slow),
    pytest.param("tree", marks=pytest.mark.slow),
)
PEERS = {"team": {"solver": 5}, "answer": "majority", "schedule": "all", "information": "full"}
QUICK = ["env=signal", "agent=adopter", "env.team={solver:4}", "env.answer=majority"]
QUICK += ["env.schedule=all", "env.information=full", "env.budget.episode=null"]


def spread(rates, topology: str, place: str = "hub", episodes: int = 500, rounds: int = 6):
    """Return the genealogies of episodes of five scripted peers, and who hears whom."""
    fault = {"kind": "false_claim", "place": place}
    settings = {**PEERS, "rounds": rounds, "topology": topology, "fault": fault}
    environments = [envs.make("signal", free=True, tasks=episodes, **settings) for _ in range(50)]
    env = environments[0]
    starts = [Start(seed, key) for seed, key in enumerate(env.tasks)]
    played = play(environments, AdopterTeam(*rates).policies(env), starts, seed=0)
    lies = [faulty.falsehood for faulty in faults(env, starts)]
    return follow(env, played, lies), links(env.hearing, env.possible_agents)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("rates", RATES, ids=str)
def test_scripted_rates_are_recovered_and_their_sign_tells_growth(rates, topology):
    lines, matrix = spread(rates, topology)
    beta, delta = fit(lines)
    assert (beta[0], delta[0]) == pytest.approx(rates, abs=0.02)
    coverage = np.mean([line.coverage for line in lines], axis=0)
    # One of five at first.
    assert coverage[0] == pytest.approx(0.2)
    grows = growth(np.array(rates[0]), np.array(rates[1]), matrix) > 0
    assert grows == (rates == (0.3, 0.1)) == (coverage[-1] > coverage[0])


@pytest.mark.parametrize(
    ("topology", "place", "coverage"),
    [
        ("star", "hub", (0.2, 1.0, 1.0, 1.0, 1.0, 1.0)),
        ("star", "leaf", (0.2, 0.4, 1.0, 1.0, 1.0, 1.0)),
        ("chain", "leaf", (0.2, 0.4, 0.6, 0.8, 1.0, 1.0)),
    ],
)
def test_a_certain_error_goes_one_link_a_round(topology, place, coverage):
    lines, _ = spread((1.0, 0.0), topology, place, episodes=20)
    assert len(lines) == 20
    assert all(line.coverage == pytest.approx(coverage) for line in lines)
    # Every message of round t carries it t + 1 generations on.
    assert {(line.depth, line.width) for line in lines} == {(6, 5)}


def test_an_adopter_needs_a_false_claim():
    env = envs.make("signal", free=True, tasks=2)
    with pytest.raises(SettingError, match="agent=adopter spreads a false claim"):
        AdopterTeam().policies(env)
    with pytest.raises(SettingError, match="agent.beta must be"):
        AdopterTeam(beta=1.5)


def test_scripts_pass_on_what_they_were_told_and_answer_accordingly():
    split = {"information": "split", "topology": "star", "schedule": ["helper", "solver"]}
    for script in ("oracle", "verbose", "telegraph"):
        for name in ("gsm8k", "signal"):
            settings = {"split": "evaluation", "tasks": 30, **split}
            fault = {"kind": "false_fact", "place": "helper"}
            environments = [envs.make(name, free=True, fault=fault, **settings) for _ in range(5)]
            env = environments[0]
            starts = [Start(seed, key) for seed, key in enumerate(env.tasks)]
            played = play(environments, ScriptedTeam(script).policies(env), starts, seed=0)
            struck = 0
            for episode, faulty in zip(played, faults(env, starts), strict=True):
                if faulty is not None:
                    struck += 1
                    assert not episode.solved
                    assert episode.answer in (faulty.falsehood.answer, "")
                    assert script == "telegraph" or episode.answer
                else:
                    assert episode.solved
            assert struck > 10


def test_a_script_that_reads_both_versions_keeps_the_true_one():
    # The solver claims something false after the helpers told it the truth.
    settings = {"information": "split", "topology": "star", "schedule": ["helper", "solver"]}
    fault = {"kind": "false_claim", "place": "hub", "round": 1}
    env = envs.make("signal", free=True, fault=fault, tasks=5, **settings)
    policies = ScriptedTeam("oracle").policies(env)
    starts = [Start(seed, key) for seed, key in enumerate(env.tasks)]
    assert all(episode.solved for episode in play([env], policies, starts, seed=0))


def test_an_evaluation_reports_the_spread(run, tmp_path, rows):
    fault = ["env.rounds=4", "env.fault.kind=false_claim", "env.fault.place=hub"]
    few = ["evaluation.tasks=20", f"hydra.run.dir={tmp_path}/e"]
    outcome = run("evaluate", *QUICK, *fault, *few)
    assert outcome.code == 0, outcome.err
    (row,) = rows(tmp_path / "e" / "metrics.jsonl")
    assert {f"eval/{name}" for name in GLOSSARY} <= set(row)
    assert row["eval/fault_share"] == 1.0 and 0.25 < row["eval/fault_coverage"] <= 1.0
    (written,) = rows(tmp_path / "e" / "evaluations.jsonl")
    assert written["intervals"]["fault_beta"]["low"] < written["intervals"]["fault_beta"]["high"]
    plain = ["env=signal", "agent=scripted", "evaluation.tasks=5"]
    assert run("evaluate", *plain, f"hydra.run.dir={tmp_path}/plain").code == 0
    assert not [name for name in rows(tmp_path / "plain" / "metrics.jsonl")[0] if "fault" in name]


def test_a_comparison_has_the_columns_and_the_impact_of_the_hub(run, tmp_path):
    small = ["evaluation.tasks=60", "compare.equal=false", f"hydra.run.dir={tmp_path}/c"]
    entries = "entry=[fault_hub,fault_leaf]"
    # Not every agent adopts what it hears, so that a message from the hub matters more.
    outcome = run("compare", entries, *QUICK, "env.topology=star", "agent.beta=0.5", *small)
    assert outcome.code == 0, outcome.err
    with (tmp_path / "c" / "comparison.csv").open() as file:
        table = {row["entry"]: row for row in csv.DictReader(file)}
    hub, leaf = (float(table[f"fault_{place}"]["fault_coverage_mean"]) for place in ("hub", "leaf"))
    ratio = json.loads((tmp_path / "c" / "impact.json").read_text())
    assert ratio["mean"] == pytest.approx(hub / leaf) and 1 < ratio["low"] < ratio["high"]
    saved = json.loads((tmp_path / "c" / "fault_hub" / "spread.json").read_text())
    assert saved["place"] == "hub" and len(saved["coverage"]) == 60 and saved["first_repeaters"]
