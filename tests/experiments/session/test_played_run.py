"""`laconic evaluate run=<folder>` plays a training's policy in its environment."""

from __future__ import annotations

import shutil

import pytest
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.session.played_run import take_run


@pytest.fixture
def evaluation():
    """Compose an evaluation of another environment."""

    def make(run, step=None, trust=()):
        env = {"_target_": "laconic.envs.make", "name": "math", "rounds": 2}
        agent = {"_target_": "laconic.learners.agents.tiny.TinyTeam", "model": None}
        return OmegaConf.create(
            {"run": str(run), "step": step, "trust": list(trust), "env": env, "agent": agent}
        )

    return make


@pytest.mark.parametrize(("step", "at"), [("null", 4), ("2", 2)])
def test_a_checkpoint_has_the_same_figures_as_in_its_training(
    run, trained, rows, tmp_path, step, at
):
    # Its environment has 20 tasks, of which the training was evaluated on 4; typed is what counts.
    arguments = [f"run={trained[0]}", f"step={step}", "evaluation.tasks=4", "threads=1"]
    outcome = run("evaluate", *arguments, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    which = "its last checkpoint" if step == "null" else "its checkpoint of step 2"
    assert f"plays {trained[0]}, {which}, on gsm8k\n" in outcome.out
    trained_rows = {row["step"]: row for row in rows(trained[0] / "metrics.jsonl")}
    (last,) = rows(tmp_path / "run" / "metrics.jsonl")
    played = {name: value for name, value in last.items() if name.startswith("eval/")}
    assert played and played == {name: trained_rows[at][name] for name in played}


def test_typed_settings_replace_those_of_the_run(evaluation, trained):
    cfg = evaluation(trained[0], step=2)
    cfg.env.rounds = 3
    take_run(cfg, ["env.rounds=3", "seed=1"])
    assert (cfg.env.name, cfg.env.rounds, cfg.env.tasks) == ("gsm8k", 3, 20)
    assert (cfg.agent.model, cfg.agent.step) == (str(trained[0]), 2)
    assert cfg.agent.sampling.max_reply_tokens == 6
    other = evaluation(trained[0])
    take_run(other, ["env=math"])
    assert other.env.name == "math" and other.agent.model == str(trained[0])


def test_a_folder_that_would_run_code_has_to_be_trusted(evaluation, trained, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    saved = OmegaConf.load(folder / "config.yaml")
    saved.env._target_ = "my_package.World"
    saved.evaluation.source = "held_out.jsonl"
    OmegaConf.save(saved, folder / "config.yaml")
    with pytest.raises(SettingError, match=r"pass trust=\[my_package.World\]"):
        take_run(evaluation(folder), [])
    cfg = evaluation(folder, trust=["my_package."])
    take_run(cfg, [])
    # The training was evaluated on a source of its own.
    assert (cfg.env._target_, cfg.env.source) == ("my_package.World", "held_out.jsonl")


def test_where_tasks_come_from_is_not_taken_from_a_folder(evaluation, trained, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    saved = OmegaConf.load(folder / "config.yaml")
    saved.evaluation.source = "held_out.jsonl"
    OmegaConf.save(saved, folder / "config.yaml")
    with pytest.raises(SettingError, match=r"env\.source='held_out\.jsonl' is not taken"):
        take_run(evaluation(folder), [])
    cfg = evaluation(folder)
    cfg.env.source = "mine.jsonl"
    take_run(cfg, ["env.source=mine.jsonl"])
    assert (cfg.env.source, cfg.env.name) == ("mine.jsonl", "gsm8k")
    for group, key in (("evaluation", "source"), ("env", "rounds"), ("agent", "device")):
        text = OmegaConf.to_container(OmegaConf.load(trained[0] / "config.yaml"))
        text[group][key] = "${oc.env:HOME}"
        OmegaConf.save(OmegaConf.create(text), folder / "config.yaml")
        with pytest.raises(SettingError, match=r"holds the reference '\$\{oc\.env:HOME\}'"):
            take_run(evaluation(folder), [])


def test_a_folder_without_a_training_is_refused(evaluation, trained, tmp_path):
    with pytest.raises(SettingError, match="is no folder of a training"):
        take_run(evaluation(tmp_path), [])
    alone = evaluation("", step=3)
    alone.run = None
    with pytest.raises(SettingError, match="pass run=<run folder> as well"):
        take_run(alone, [])
