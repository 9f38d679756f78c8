"""`resume=<run folder>`: the arguments it is replaced by, and those that must be typed."""

from __future__ import annotations

import shlex

import pytest
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import resuming
from laconic.experiments.command_line.resuming import command, flags_of, quoted, spell_out
from laconic.learners.commands import repeat_flags


@pytest.fixture(autouse=True)
def no_flags():
    """Forget the flags of a program that ran in this process before."""
    repeat_flags([])
    # What an earlier test ran in this process is no run.
    HydraConfig.instance().cfg = None


@pytest.fixture
def folder(tmp_path):
    """Make a run folder of these overrides, as Hydra leaves one."""

    def make(*task, hydra=(), name="train", at="a run"):
        path = tmp_path / at
        (path / ".hydra").mkdir(parents=True)
        overrides = {"task": list(task), "hydra": list(hydra)}
        noted = {"hydra": {"job": {"name": name}, "overrides": overrides}}
        OmegaConf.save(OmegaConf.create(noted), path / ".hydra" / "hydra.yaml")
        return path

    return make


def test_the_folder_is_replaced_by_the_overrides_of_its_run_and_typed_ones_win(folder):
    path = folder(
        "env=math", "++env.rounds=3", "seed=3", "resume=true", hydra=["hydra.run.dir=elsewhere"]
    )
    assert spell_out(["seed=4", f"resume='{path}'"], "train") == [
        "env=math",
        "++env.rounds=3",
        "seed=4",
        "resume=true",
        f"hydra.run.dir='{path}'",
    ]


@pytest.mark.parametrize("value", ["true", "false", "True", "null", ""])
def test_a_word_is_no_folder(value):
    arguments = ["-m", f"resume={value}", "hydra.sweep.dir=x"]
    assert spell_out(arguments, "train") == arguments


def test_settings_that_run_code_or_call_a_server_have_to_be_typed(folder):
    hostile = ["+env._target_=os.system", "seed=${oc.env:HOME}", "agent.base_url=http://x"]
    path = folder("train.steps=3", *hostile, hydra=["hydra.searchpath=[file:///x]"], at="run")
    typed = [f"resume={path}", *hostile]
    with pytest.raises(SettingError, match=r"add to the command: 'hydra.searchpath=\[file:///x\]'"):
        spell_out(typed, "train")
    arguments = spell_out([*typed, "hydra.searchpath=[file:///y]"], "train")
    assert arguments[0] == "train.steps=3" and "+env._target_=os.system" in arguments
    with pytest.raises(SettingError, match="os.system"):
        spell_out([f"resume={path}"], "train")


def test_settings_of_an_unknown_class_have_to_be_typed(folder):
    path = folder("env._target_=my_package.Env", "env.rounds=3", "train.steps=3", at="run")
    with pytest.raises(SettingError, match=r"add to the command: env\.rounds=3$"):
        spell_out([f"resume={path}", "env._target_=my_package.Env"], "train")


def test_the_command_that_resumes_has_all_overrides_that_must_be_typed(folder):
    overrides = ["seed=1", "env._target_=my.World", "resume=${x}"]
    path = folder(*overrides[:2])
    program, *arguments = shlex.split(command("train", path, overrides))[1:]
    assert program == "train"
    assert spell_out(arguments, "train")[:2] == ["seed=1", "env._target_=my.World"]


def test_other_folders_are_refused_with_advice(folder, tmp_path):
    def message(path, *more):
        with pytest.raises(SettingError) as error:
            spell_out([*more, f"resume={path}"], "train")
        return str(error.value)

    assert "there is no such folder" in message(tmp_path / "nowhere")
    assert "resume=true hydra.run.dir=" in message(tmp_path)
    assert "laconic evaluate run=" in message(folder(name="evaluate", at="other"))
    sweep = folder(at="sweep")
    assert "resume=true hydra.sweep.dir=" in message(sweep, "-m")
    (sweep / "multirun.yaml").touch()
    assert "the folder of a sweep" in message(sweep)


@pytest.mark.parametrize("text", ["a/b-c.d_0", "a b", "it's", "x,y=[1]"])
def test_a_path_is_one_value_of_the_command_line_whatever_is_in_it(text):
    from hydra.core.override_parser.overrides_parser import OverridesParser

    assert OverridesParser.create().parse_override(f"a={quoted(text)}").value() == text


def test_folders_of_configurations_are_flags_of_every_command(folder, tmp_path):
    sources = [
        {"path": "hydra.conf", "schema": "pkg", "provider": "hydra"},
        {"path": str(tmp_path / "my_conf"), "schema": "file", "provider": "command-line"},
        {"path": str(resuming.CONF), "schema": "file", "provider": "main"},
    ]
    runtime = {"cwd": str(tmp_path), "config_sources": sources}
    assert flags_of(OmegaConf.create({"runtime": runtime})) == ["--config-dir", "my_conf"]
    away = OmegaConf.create({"runtime": {**runtime, "cwd": "/elsewhere"}})
    assert flags_of(away) == ["--config-dir", f"{tmp_path}/my_conf"]
    sources[2]["path"] = "/their/conf"
    other = OmegaConf.create({"runtime": runtime})
    assert flags_of(other) == ["--config-dir", "my_conf", "--config-path", "/their/conf"]

    repeat_flags(["--config-dir", "my conf"])
    try:
        assert command("train", tmp_path / "run", ["seed=1"]).split(" resume=")[0] == (
            "laconic train --config-dir 'my conf'"
        )
    finally:
        repeat_flags([])


def test_a_folder_of_configurations_has_to_be_typed_again(folder, tmp_path):
    path = folder("seed=1")
    noted = OmegaConf.load(path / ".hydra" / "hydra.yaml")
    noted.hydra.runtime = {
        "cwd": str(tmp_path),
        "config_sources": [{"path": f"{tmp_path}/my_conf", "provider": "command-line"}],
    }
    OmegaConf.save(noted, path / ".hydra" / "hydra.yaml")
    with pytest.raises(SettingError, match="add to the command: --config-dir my_conf"):
        spell_out([f"resume={path}"], "train")
    typed = ["--config-dir", "my_conf", f"resume={path}"]
    assert spell_out(typed, "train")[:3] == ["seed=1", "--config-dir", "my_conf"]
