"""Trainings from Python: the same run as from the command line, read from its folder."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf

import laconic
from laconic.envs.errors import SettingError
from laconic.experiments import python
from laconic.experiments.python import spelled


class Mine:
    """No learner; a class of a user's own."""


def test_settings_of_python_become_overrides_of_the_command_line():
    assert spelled(
        {
            "env": "math",
            "steps": 3,
            "seed": 1,
            "agent.model": "a folder/it's",
            "evaluation": {"tasks": None, "greedy": False},
            "learner": {"price": {"value": 0.5}},
            "optimizer.betas": (0.9, 0.99),
            "env.schedule": ["helper", "solver"],
        }
    ) == [
        "env=math",
        "train.steps=3",
        "seed=1",
        "agent.model='a folder/it\\'s'",
        "evaluation.tasks=null",
        "evaluation.greedy=false",
        "learner.price.value=0.5",
        "optimizer.betas=[0.9,0.99]",
        "env.schedule=[helper,solver]",
    ]
    assert spelled({"learner": Mine}) == [f"learner._target_={Mine.__module__}.Mine"]
    with pytest.raises(SettingError, match="seed must be text, a number"):
        spelled({"seed": object()})


def test_a_folder_to_resume_is_answered_with_what_to_write():
    with pytest.raises(SettingError, match=r"laconic\.train\(folder='outputs/mine', resume=True"):
        laconic.train("resume=outputs/mine")


def test_numbers_and_arrays_of_numpy_are_settings():
    # 0.1 in float32 is 0.100000001490116...; 0.25 is exact.
    assert spelled(
        {
            "seed": np.int64(3),
            "steps": np.array(2),
            "report": np.bool_(False),
            "env.reward": {"price": np.float32(0.25), "weight": torch.tensor(1.5)},
            "env.team": np.array([[1, 2], [3, 4]], dtype=np.uint8),
            "optimizer.betas": [np.float64(0.9), np.float32(0.5)],
            "env.name": np.array(["a", "b"]),
        }
    ) == [
        "seed=3",
        "train.steps=2",
        "report=false",
        "env.reward.price=0.25",
        "env.reward.weight=1.5",
        "env.team=[[1,2],[3,4]]",
        "optimizer.betas=[0.9,0.5]",
        "env.name=[a,b]",
    ]
    with pytest.raises(SettingError, match="seed must be text, a number"):
        spelled({"seed": np.complex64(1)})


def test_a_configuration_is_composed_as_on_the_command_line_and_a_typo_is_answered():
    cfg = laconic.compose("env.reward.price=0.25", env="math", steps=7)
    assert (cfg.env.name, cfg.env.reward.price, cfg.train.steps) == ("math", 0.25, 7)
    assert "hydra" not in cfg
    assert laconic.compose(program="evaluate").evaluation.split == "evaluation"
    with pytest.raises(SettingError, match=r"unknown config key 'sead'\. Did you mean 'seed'\?"):
        laconic.compose(sead=1)


def test_a_run_from_python_is_the_run_of_the_command_line(
    run, trained, small, tmp_path, timeless, monkeypatch
):
    before = HydraConfig.instance().cfg
    result = laconic.train(*small, folder=tmp_path / "one run", report=False)
    assert result.state == "finished" and result.folder == tmp_path / "one run"
    assert timeless(result.folder / "metrics.jsonl") == timeless(trained[0] / "metrics.jsonl")
    assert HydraConfig.instance().cfg is before
    assert len(result.transcripts) == 6 and str(result.transcripts[0]).startswith("step 0, task ")
    # It can be gone on with from the command line, by its folder alone.
    assert run("train", f"resume='{result.folder}'", "train.steps=5").code == 0
    assert result.rows[-1]["step"] == 5
    with pytest.raises(SettingError, match="already holds a run"):
        laconic.train(*small, folder=result.folder)


def test_an_environment_says_how_it_is_taught_as_on_the_command_line(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr("laconic.experiments.train.main", started.append)
    monkeypatch.setattr("laconic.experiments.python.is_run", lambda folder: True)
    laconic.train("experiment=warm_start", env="jury", folder=tmp_path)
    (cfg,) = started
    assert (cfg.train.steps, cfg.learner.collect.teacher.best) == (400, 0.8)


def test_the_trained_team_plays_the_episodes_of_its_evaluation(trained):
    opened = laconic.Run(trained[0])
    transcripts = [each for each in opened.transcripts if each.step == 4]
    last = {transcript.task: transcript for transcript in transcripts}
    task = next(iter(last))
    assert opened.play(task) == last[task]
    assert len(opened.play(task, team={"solver": 1, "helper": 1}).messages) == 2
    with pytest.raises(SettingError, match=r"^env\.schedule must give solver_0 a turn"):
        opened.play(task, rounds=1)


def test_a_folder_of_somebody_else_runs_no_code_unless_it_is_trusted(trained, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    saved = OmegaConf.load(folder / "config.yaml")
    saved.env._target_ = "os.getenv"
    OmegaConf.save(saved, folder / "config.yaml")
    with pytest.raises(SettingError, match=r"os\.getenv.* Run\(folder, trusted=True\)"):
        laconic.Run(folder).play()


def test_a_table_needs_pandas_and_says_so(trained, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        laconic.Run(trained[0]).metrics()


def test_a_table_has_a_row_for_each_step(trained):
    pytest.importorskip("pandas")
    table = laconic.Run(trained[0]).metrics()
    assert list(table.index) == [0, 1, 2, 3, 4] and table["eval/accuracy"].notna().sum() == 3


def test_the_name_of_the_package_alone_loads_nothing_slow():
    code = "import sys, laconic; print('torch' in sys.modules, hasattr(laconic, 'nothing'))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False False\n"
    assert laconic.train is python.train and laconic.Run is python.Run


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_a_folder_without_a_run_is_refused_when_it_is_opened(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SettingError, match="there is no run; expected the folder of a training"):
        laconic.Run(tmp_path / name)


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"foo": 1}, 'a new key is given as text: "+foo=..."'),
        ({"env": {"ronds": 3}}, 'a new key is given as text: "+env.ronds=..."'),
        ({"optimizer": {"beta": 1}}, 'a new key is given as text: "+optimizer.beta=..."'),
    ],
)
def test_errors_speak_of_python_and_not_of_a_shell(settings, hint):
    with pytest.raises(SettingError) as error:
        laconic.compose(**settings)
    assert hint in str(error.value) and "'+" not in str(error.value)


def test_a_new_key_given_as_text_is_composed():
    assert laconic.compose("+foo=1").foo == 1


def test_errors_of_a_training_name_the_arguments_of_python(trained):
    with pytest.raises(SettingError) as error:
        laconic.train(folder=trained[0])
    message = str(error.value)
    assert "pass resume=True to continue it, or another folder with folder=<folder>" in message
    assert "hydra.run.dir" not in message


def test_a_setting_that_a_class_needs_is_a_text_too():
    message = "my.Env needs 'size'; pass +env.size=<value> +env.kind=<value> (config key 'env')"
    assert python.in_python(f"{message} (LACONIC_TRACEBACK=1 shows where)") == (
        "my.Env needs 'size'; pass \"+env.size=<value>\" \"+env.kind=<value>\" (config key 'env')"
    )
