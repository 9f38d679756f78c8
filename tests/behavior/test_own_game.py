"""The game of docs/games.md: its rules, both contracts, and its way through the programs."""

from __future__ import annotations

import math
from importlib.metadata import EntryPoint

import pytest
from pettingzoo.test import parallel_api_test
from places import ROOT

from laconic import envs
from laconic.envs import registry
from laconic.envs.contract import check_env
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.wrappers import DiscreteMessages
from laconic.learners.agents.scripted import ScriptedTeam, Teacher, teacher_policy
from laconic.learners.rollout.play import Start, play

PLAYERS = ("player_0", "player_1")


@pytest.fixture
def dilemma(my_package):
    """Return the class of the game."""
    from my_games import Dilemma

    return Dilemma


@pytest.fixture
def installed(monkeypatch, my_package):
    """Offers the game as an installed package does."""
    point = EntryPoint("dilemma", "my_games:Dilemma", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])


def test_it_keeps_both_contracts_and_is_short(dilemma, code_blocks):
    check_env(lambda: envs.make(dilemma, tasks=20, reward={"price": 1}))
    check_env(lambda: DiscreteMessages(envs.make(dilemma, tasks=20)))
    parallel_api_test(envs.make(dilemma), num_cycles=30)
    blocks = code_blocks(ROOT / "docs" / "games.md")
    (code,) = [block.code for block in blocks if block.file == "my_games/dilemma.py"]
    assert len(code.splitlines()) < 150


# Gains of a round of ten, in tenths.
@pytest.mark.parametrize(
    ("acts", "gains"),
    [
        (("> C", "> C"), (1, 1)),
        (("> C", "> D"), (-1, 2)),
        (("> D", "> C"), (2, -1)),
        (("> D", "> D"), (0, 0)),
        # An agent that does not act defects.
        (("", "> C"), (2, -1)),
        (("> c.", ">C"), (1, 1)),
        (("> cooperate", "> C"), (2, -1)),
    ],
)
def test_payoffs(dilemma, acts, gains):
    env = envs.make(dilemma, tasks=1)
    env.reset(seed=0)
    _, rewards, *_ = env.step(dict(zip(PLAYERS, acts, strict=True)))
    assert rewards == dict(zip(PLAYERS, (gain / 10 for gain in gains), strict=True))


# Two that cooperate gain 1 each. Against a defector tit for tat loses the first round alone.
@pytest.mark.parametrize(
    ("scripts", "returns", "solved"),
    [
        (("tit_for_tat", "tit_for_tat"), (1.0, 1.0), True),
        (("tit_for_tat", "defect"), (-0.1, 0.2), False),
        (("defect", "defect"), (0.0, 0.0), False),
    ],
)
def test_scripts_meet(dilemma, scripts, returns, solved):
    env = envs.make(dilemma, tasks=1)
    policies = {
        agent: ScriptedTeam(script).policies(env)[agent]
        for agent, script in zip(PLAYERS, scripts, strict=True)
    }
    (episode,) = play([env], policies, [Start(0)], seed=0)
    assert [episode.returns[agent] for agent in PLAYERS] == pytest.approx(returns)
    assert episode.solved is solved and len(episode.turns) == 20


def test_the_default_teacher_plays_legal_acts_and_phrases_at_random(dilemma):
    env = envs.make(dilemma, tasks=1)
    policy = teacher_policy(Teacher(silent_uninformed=0.5), env)
    (episode,) = play([env], dict.fromkeys(PLAYERS, policy), [Start(0)], seed=0)
    assert {turn.act for turn in episode.turns} == {"> C", "> D"}
    assert {turn.message for turn in episode.turns} == {"", *dilemma.phrases}


def test_settings_and_scripts_are_checked(dilemma):
    with pytest.raises(SettingError, match="dilemma needs two players"):
        envs.make(dilemma, team={"player": 3})
    with pytest.raises(UnknownNameError, match="env.generator 'level'"):
        envs.make(dilemma, generator={"level": 3})
    with pytest.raises(UnknownNameError, match="Did you mean 'tit_for_tat'"):
        ScriptedTeam("tit_for_tit").policies(envs.make(dilemma, tasks=1))


def test_train_and_evaluation_episodes_differ(dilemma):
    train, evaluation = (envs.make(dilemma, split=split) for split in ("train", "evaluation"))
    texts = [{task.text for task in env.tasks.values()} for env in (train, evaluation)]
    assert len(texts[0]) == len(texts[1]) == 4096 and not texts[0] & texts[1]


@pytest.mark.usefixtures("installed")
def test_an_installed_game_trains_by_its_name_with_settings_of_worlds_and_its_own(
    run, small, rows, tmp_path
):
    settings = ["env=dilemma", "env.rounds=3", "env.reward.price=0.5", "env.budget.message=8"]
    outcome = run("train", *settings, *small, "train.steps=2", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    metrics = rows(tmp_path / "run" / "metrics.jsonl")
    assert all(row["train/rounds"] == 3.0 for row in metrics[1:])
    assert all(math.isfinite(value) for row in metrics for value in row.values())


@pytest.mark.usefixtures("installed")
def test_a_run_of_an_installed_game_is_not_played_without_trust(run, small, tmp_path):
    folder = tmp_path / "run"
    assert run("train", "env=dilemma", *small, "train.steps=1", f"hydra.run.dir={folder}").code == 0
    outcome = run("evaluate", f"run={folder}", f"hydra.run.dir={tmp_path}/again")
    assert outcome.code == 1 and "env.name='dilemma' is not taken" in outcome.message


def test_the_game_is_made_by_its_target(run, my_package, rows, tmp_path):
    target = ["~env", "+env._target_=my_games.make", "agent=scripted", "agent.script=tit_for_tat"]
    outcome = run("evaluate", *target, "evaluation.tasks=3", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    scores = [row["episode"]["score"] for row in rows(tmp_path / "run" / "episodes.jsonl")]
    assert scores == [1.0] * 3


def test_a_comparison_leaves_out_scripts_that_a_world_lacks(run, my_package, tmp_path):
    target = ["~env", "+env._target_=my_games.make", "agent=scripted", "agent.script=defect"]
    entries = ["entry=[verbose,random,silent]", "evaluation.tasks=2"]
    outcome = run("compare", *target, *entries, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    assert (
        "agent.script=verbose is for dialogues; dilemma has the scripts tit_for_tat" in outcome.out
    )
