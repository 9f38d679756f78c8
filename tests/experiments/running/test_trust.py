"""The settings of a run folder build what the package's own choices build, and nothing else."""

from __future__ import annotations

import json

import pytest
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.running.trust import check_settings, known_targets

TEAM = {"_target_": "laconic.learners.agents.hf.HFTeam", "model": "a/b"}


def test_the_settings_of_the_own_choices_are_taken():
    speech = {"_target_": "laconic.learners.agents.hf.SamplingSettings", "temperature": 1.0}
    members = {"solver": TEAM, "helper": {**TEAM, "speech": speech}}
    mixed = {"_target_": "laconic.learners.agents.mixed.MixedTeam", "members": members}
    for settings in (TEAM, mixed, {}, {"topology": "star", "rounds": 2, "team": {"solver": 1}}):
        check_settings(settings, "agent")
    assert "laconic.envs.make" in known_targets()
    # Programs, loggers and learners have no place in what a folder says of a team.
    assert not [one for one in known_targets() if one.startswith("laconic.experiments")]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"_target_": "os.system", "command": "true"}, "would build 'os.system'"),
        ({"_target_": "laconic.learners.agents.load.torch.load"}, "which may run any code"),
        ({"_target_": "laconic.experiments.command_line.console.import_module"}, "any code"),
        ({"_target_": None, "_args_": []}, "would build None"),
        ({"_args_": ["x"]}, "would build None"),
        ({"_target_": ["os", "system"]}, "any code"),
        ({"members": {"a": {"_target_": "subprocess.run"}}}, "agent.members.a would build"),
        ({"x": [0, {"_target_": "os.system"}]}, "agent.x.1 would build"),
        ({**TEAM, "_args_": ["x"]}, "what it does not take: ['_args_']"),
        ({**TEAM, "trust_remote_code": True}, "does not take: ['trust_remote_code']"),
        ({**TEAM, "model": "${oc.env:SECRET}"}, "agent.model holds the reference"),
        ({**TEAM, "base_url": "http://elsewhere"}, "a key of yours would be sent"),
    ],
)
def test_what_could_run_code_or_send_a_key_is_refused_with_its_place(settings, words):
    with pytest.raises(SettingError) as refused:
        check_settings(settings, "agent", say="pass compare.trust=[{}]")
    assert words in str(refused.value)


def test_a_class_is_taken_once_it_is_allowed_and_what_is_in_it_is_not():
    mine = {"_target_": "my_package.Team", "speed": 1}
    with pytest.raises(SettingError, match=r"pass compare\.trust=\[my_package\.Team\]"):
        check_settings(mine, "agent", say="pass compare.trust=[{}]")
    check_settings(mine, "agent", ["my_package."])
    with pytest.raises(SettingError, match="agent.inner would build 'os.system'"):
        check_settings({**mine, "inner": {"_target_": "os.system"}}, "agent", ["my_package."])


def _foreign_run(folder, mark, **agent):
    (folder / "policy").mkdir(parents=True)
    config = {"env": {"name": "gsm8k"}, "agent": agent}
    OmegaConf.save(OmegaConf.create(config), folder / "config.yaml")
    return [f"compare.runs=[{folder}]", "entry=[]", "evaluation.tasks=2", "agent=scripted"]


def test_a_comparison_runs_no_code_of_a_folder_that_it_is_given(run, tmp_path):
    mark = tmp_path / "mark"
    code = {"_target_": "pathlib.Path.touch", "self": {"_target_": "pathlib.Path"}}
    given = _foreign_run(tmp_path / "theirs", mark, _target_="os.mkdir", path=str(mark))
    outcome = run("compare", *given, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1 and not mark.exists()
    assert "would build 'os.mkdir'" in outcome.message
    assert "pass compare.trust=[os.mkdir] to allow it" in outcome.message
    (tmp_path / "theirs" / "policy").rmdir()
    given = _foreign_run(tmp_path / "theirs", mark, **code)
    outcome = run("compare", *given, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1 and "would build 'pathlib.Path.touch'" in outcome.message


def test_a_run_of_an_older_version_is_refused_with_that_version(run, tmp_path):
    target = "learners.agents.hf.HFTeam"
    given = _foreign_run(tmp_path / "old", tmp_path, _target_=target, model="x")
    outcome = run("compare", *given, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1 and outcome.message.count("\n") == 1
    assert "was written by laconic 0.1.0 or earlier" in outcome.message


def test_the_code_of_a_model_is_not_run_and_nobody_is_asked(processes, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    code = {"AutoConfig": "theirs.Config", "AutoModelForCausalLM": "theirs.Model"}
    (model / "config.json").write_text(json.dumps({"model_type": "theirs", "auto_map": code}))
    (model / "theirs.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    outcome = processes.run(
        "evaluate", f"agent.model={model}", "env.tasks=2", f"hydra.run.dir={tmp_path}/run"
    )
    assert outcome.code == 1 and not (tmp_path / "mark").exists()
    assert f"agent.model='{model}' could not be loaded" in outcome.message
    assert "[y/N]" not in outcome.out + outcome.err
