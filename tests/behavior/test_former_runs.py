"""Folders of runs whose settings are gone are read, and say how to go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.resuming import spell_out
from laconic.experiments.command_line.trust import check_settings
from laconic.experiments.run_folder.runs import read_run
from laconic.extras.report import doctor, explain
from laconic.extras.report.sweep import sort_out

RAMP = {"_target_": "laconic.learners.prices.schedule.Ramp", "delay": 0, "steps": 2}
PRICES = [0.0, 0.06, 0.12, 0.12]


@pytest.fixture
def former(trained, tmp_path) -> Path:
    """Return a run as the version wrote it that had a price ramp and a factor of the group."""
    folder = tmp_path / "former"
    shutil.copytree(trained[0], folder)
    config = OmegaConf.load(folder / "config.yaml")
    config.learner.price = RAMP
    config.learner.charge_power = 2
    config.learner.balance_silence = False
    OmegaConf.save(config, folder / "config.yaml")
    for name, change in (("metrics", former_row), ("groups", former_group)):
        path = folder / f"{name}.jsonl"
        rows = [change(json.loads(line)) for line in path.read_text("utf-8").splitlines()]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def former_row(row: dict) -> dict:
    step = row["step"]
    priced = {"train/price": PRICES[step - 1], "learner/charge_factor": 0.25}
    return {**row, **priced} if step else row


def former_group(row: dict) -> dict:
    return row | {"sequences": [each | {"factor": 0.25} for each in row["sequences"]]}


def test_a_former_run_is_read_by_every_program(run, former, tmp_path, capsys):
    read = read_run(former)
    assert not read.problems
    assert read.series("train/price")[1] == PRICES
    (setting,) = sort_out([read]).settings
    assert len(setting.runs) == 1
    explain.main([str(former)])
    row = json.loads((former / "groups.jsonl").read_text("utf-8").splitlines()[-1])
    charge = f"{0.25 * row['sequences'][0]['cost']:.3f}"
    assert charge in capsys.readouterr().out.split()
    with pytest.raises(SystemExit) as stopped:
        doctor.main([str(former)])
        raise SystemExit(0)
    assert stopped.value.code in (0, 1)
    # The last step was charged in full, times the factor of its groups.
    assert "charged share of the price" in capsys.readouterr().out
    small = ["evaluation.tasks=2", "threads=1"]
    played = run("evaluate", f"run={former}", *small, f"hydra.run.dir={tmp_path}/evaluation")
    assert played.code == 0, played.err
    entries = ["entry=[]", f"compare.runs={{former: {former}}}", f"hydra.run.dir={tmp_path}/table"]
    compared = run("compare", *entries, *small)
    assert compared.code == 0, compared.err


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("learner.charge_power=2", "learner.price.power replaces learner.charge_power"),
        ("learner/price=ramp", "learner/price=pass_rate, the default"),
        (None, "learner.price.power replaces learner.charge_power"),
    ],
)
def test_a_former_run_goes_on_only_as_a_new_one(run, former, typed, words):
    if typed:
        path = former / ".hydra" / "hydra.yaml"
        noted = OmegaConf.load(path)
        noted.hydra.overrides.task = [*noted.hydra.overrides.task, typed]
        OmegaConf.save(noted, path)
    outcome = run("train", f"resume={former}")
    assert outcome.code == 1
    assert words in outcome.message and "agent.model=<its folder>" in outcome.message


RECORDED = """\
# config.yaml before fields declared settings, with the values that a run sets by name.
env:
  _target_: laconic.envs.make
  name: gsm8k
  source: generated
  tasks: 24
  generator: {seed: 0, level: 1, distractors: 1}
  team: {solver: 1, helper: 3}
  rounds: 2
  information: split
  topology: star
  schedule: [helper, solver]
  answer: solver
  budget: {_target_: laconic.envs.Budget, message: 48, agent: null, episode: 192, thought: null}
  reward: {_target_: laconic.envs.Reward, price: 0.12, normalizer: 12, charge: own, when: always}
  channel: {lose: 0.1}
  instructions: brief
agent:
  _target_: laconic.learners.agents.tiny.TinyTeam
  model: null
  sharing: lora
  device: auto
  lora: {rank: 4}
  sampling:
    _target_: laconic.learners.agents.tiny.TinySamplingSettings
    silence: <silence>
    explain_silence: false
    max_reply_tokens: 49
    temperature: 1.0
"""
TYPED_THEN = [
    *("env.tasks=24", "++env.channel.lose=0.1", "++learner.whiten=true", "++agent.lora.rank=4"),
    *("agent.sharing=lora", "train.steps=2", "learner=magrpo", "logger=none", "threads=1"),
]


def test_the_settings_of_a_former_folder_are_taken():
    config = OmegaConf.to_container(OmegaConf.create(RECORDED))
    for group in ("env", "agent"):
        check_settings(config[group], group, "a folder")
    config["agent"]["lora"]["base"] = "${oc.env:HOME}"
    with pytest.raises(SettingError, match=r"agent\.lora\.base holds the reference"):
        check_settings(config["agent"], "agent", "a folder")


@pytest.mark.parametrize(
    ("command", "further", "refusal"),
    [
        # Of another installation, whose configs lie elsewhere.
        ("laconic train seed=1", [], None),
        ("laconic train --config-path /theirs/conf", [], "--config-path /theirs/conf"),
        ("laconic train -cp=/theirs/conf", [], "--config-path /theirs/conf"),
        ("laconic train", ["learner.charge_power=2"], "learner.price.power replaces"),
        ("laconic train", ["learner/price=ramp"], "learner/price=pass_rate"),
    ],
)
def test_a_former_run_goes_on_from_another_installation(tmp_path, command, further, refusal):
    (tmp_path / ".hydra").mkdir()
    sources = [{"path": "/theirs/conf", "schema": "file", "provider": "main"}]
    hydra = {
        "job": {"name": "train"},
        "overrides": {"task": TYPED_THEN + further, "hydra": []},
        "runtime": {"cwd": "/theirs", "config_sources": sources},
    }
    OmegaConf.save({"hydra": hydra}, tmp_path / ".hydra" / "hydra.yaml")
    (tmp_path / "provenance.json").write_text(json.dumps([{"format": 1, "command": command}]))
    if refusal is None:
        assert spell_out([f"resume={tmp_path}"], "train")[: len(TYPED_THEN)] == TYPED_THEN
        return
    with pytest.raises(SettingError, match=refusal):
        spell_out([f"resume={tmp_path}"], "train")
