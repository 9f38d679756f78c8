"""The program on evaluations of scripted voters, whose accuracy, γ and ρ are known."""

from __future__ import annotations

import json

import pytest

from laconic.extras.analysis.predict import list_evaluations, main

VOTERS = ["env=signal", "env.generator.colors=2", "env.generator.distractors=3", "agent=voter"]
# One environment per episode takes longer to compose than to play.
VOTERS += ["agent.accuracy=0.75", "agent.fidelity=0.7", "evaluation.tasks=250"]
VOTERS += ["evaluation.batch=25"]
TWICE = ["evaluation.samples=2", "evaluation.greedy=false"]
SOLVERS = ["~env.team.helper", "env.rounds=1", "env.schedule=all", "env.information=full"]
TEAMS = {
    "alone": SOLVERS,
    "relay": ["env.team={solver:1,helper:1}"],
    "star": ["evaluation.greedy=false", "env.information=full", "env.team={solver:1,helper:5}"],
    "ballot": [*SOLVERS, "env.team={solver:3}", "evaluation.greedy=false"],
}


@pytest.fixture(scope="module")
def evaluated(run, tmp_path_factory):
    """Return the folder with the evaluations of `TEAMS`."""
    folder = tmp_path_factory.mktemp("predict")
    for name, settings in TEAMS.items():
        sampling = TWICE if name in ("alone", "relay") else []
        outcome = run("evaluate", *VOTERS, *settings, *sampling, f"hydra.run.dir={folder}/{name}")
        assert outcome.code == 0, outcome.err
    return folder


def test_a_tree_and_a_ballot_are_predicted(evaluated, capsys):
    main([str(evaluated)])
    out = capsys.readouterr().out
    assert "one agent" in out and "prediction.json written into the folder of each team" in out
    star, ballot = (
        json.loads((evaluated / name / "prediction.json").read_text())
        for name in ("star", "ballot")
    )
    assert (star["fan_in"], star["depth"], star["cap"]) == (5, 1, 48)
    # What was set is found, and so what follows: f_5(.7 * .5) and f_3(.5) = .6875.
    assert star["voter"]["low"] <= 0.75 <= star["voter"]["high"]
    assert star["fidelity"]["low"] <= 0.7 <= star["fidelity"]["high"]
    assert star["shared"]["mean"] < 0.15
    assert star["predicted"]["low"] <= 0.8023 <= star["predicted"]["high"]
    assert ballot["fidelity"]["mean"] == 1.0
    assert ballot["predicted"]["low"] <= 0.84375 <= ballot["predicted"]["high"]
    assert star["inside"] and ballot["inside"]


def test_the_correlation_can_be_typed(evaluated, capsys):
    folders = [str(evaluated / name) for name in ("alone", "ballot")]
    main([*folders, "shared=1"])
    row = json.loads((evaluated / "ballot" / "prediction.json").read_text())
    # Three votes that are always the same are one vote.
    assert row["predicted"]["mean"] == pytest.approx(row["voter"]["mean"])
    assert "ballot" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (["alone"], "expected at least one team whose votes are counted"),
        (["star"], "expected an evaluation of one answering agent at this cap too"),
        (["alone", "star"], "expected an evaluation of a relay of two agents at this cap too"),
        (["nowhere"], "expected folders that laconic evaluate wrote"),
    ],
)
def test_what_is_missing_ends_the_program(evaluated, capsys, folders, expected):
    with pytest.raises(SystemExit) as ended:
        main([str(evaluated / folder) for folder in folders])
    assert ended.value.code == 1 and expected in capsys.readouterr().err


def test_a_world_is_refused(run, tmp_path, capsys):
    game = ["env=matrix", "agent=scripted", "evaluation.tasks=2"]
    assert run("evaluate", *game, f"hydra.run.dir={tmp_path}/game").code == 0
    with pytest.raises(SystemExit):
        main([str(tmp_path / "game")])
    assert "expected an evaluation of a dialogue" in capsys.readouterr().err


def test_a_folder_of_evaluations_is_each_of_them(evaluated):
    assert [path.name for path in list_evaluations([evaluated])] == sorted(TEAMS)
