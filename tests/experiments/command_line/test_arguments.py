"""Command lines: home folders in all, and `key=value` where no config lists the keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra.errors import HydraException
from omegaconf import OmegaConf

from laconic import Run, compose
from laconic.envs.benchmarks.sources import locate
from laconic.envs.errors import SourceError
from laconic.experiments.command_line.arguments import (
    Argument,
    check_style,
    expand_home,
    expand_settings,
    read_arguments,
)
from laconic.extras.report import explain

WANTED = {
    "run": Argument("a run folder", Path, placed=True, needed=True),
    "name": Argument("a name", placed=True),
    "public": Argument("whether all see it", bool, False),
    "shared": Argument("a probability", float),
}


@pytest.fixture(autouse=True)
def home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("hydra.run.dir=~/runs", "hydra.run.dir=/home/me/runs"),
        ('hydra.run.dir="~/runs"', 'hydra.run.dir="/home/me/runs"'),
        ("hydra.sweep.dir='~/a b'", "hydra.sweep.dir='/home/me/a b'"),
        ("++env.source=~/rows.jsonl", "++env.source=/home/me/rows.jsonl"),
        ("compare.runs=[~/a,'~/b']", "compare.runs=[/home/me/a,'/home/me/b']"),
        ("compare.runs={x: ~/a, y: '~/b'}", "compare.runs={x: /home/me/a, y: '/home/me/b'}"),
        ("agent.model=~/a,~/b", "agent.model=/home/me/a,/home/me/b"),
        ("resume=~/runs/1", "resume=/home/me/runs/1"),
        ("~/runs", "/home/me/runs"),
        # A deleted group, a word, a place within a path, and a user who does not exist.
        ("~learner/price", "~learner/price"),
        ("agent.silence='~'", "agent.silence='~'"),
        ("folder=runs/~/x", "folder=runs/~/x"),
        ("folder=~nobody-here/x", "folder=~nobody-here/x"),
    ],
)
def test_home_is_meant_where_a_value_begins_with_it(typed, meant):
    assert expand_home([typed]) == [meant]


def test_home_is_meant_in_a_yaml_file_too():
    cfg = OmegaConf.create(
        {"env": {"source": "~/rows"}, "runs": ["~/a", "b"], "x": "${env.source}", "y": "~"}
    )
    expand_settings(cfg)
    assert cfg == {
        "env": {"source": "/home/me/rows"},
        "runs": ["/home/me/a", "b"],
        "x": "/home/me/rows",
        "y": "~",
    }


def test_home_is_meant_in_python(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("seed: 0\n")
    (tmp_path / "run" / "metrics.jsonl").write_text("")
    assert compose(agent={"model": "~/m"}).agent.model == f"{tmp_path}/m"
    assert Run("~/run").folder == tmp_path / "run"
    with pytest.raises(SourceError, match=str(tmp_path / "rows.jsonl")):
        locate("~/rows.jsonl", "train")


@pytest.mark.parametrize(
    ("setting", "made"),
    [
        (['hydra.run.dir="~/runs"'], "home/runs/config.yaml"),
        (["-m", "seed=3", "hydra.sweep.dir=~/sweep"], "home/sweep/0/config.yaml"),
    ],
)
def test_the_folder_of_a_run_is_made_at_home(run, tmp_path, monkeypatch, setting, made):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    outcome = run("evaluate", "env=gsm8k", "agent=scripted", "evaluation.tasks=2", *setting)
    assert outcome.code == 0, outcome.err
    assert (tmp_path / made).exists()
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["r"], (Path("r"), None, False, None)),
        (["run=r", "public=true"], (Path("r"), None, True, None)),
        (["public=False", "r", "shared=0.5", "n"], (Path("r"), "n", False, 0.5)),
        (["name=n", "~/r"], (Path("/home/me/r"), "n", False, None)),
        (["run=a=b"], (Path("a=b"), None, False, None)),
    ],
)
def test_a_value_has_its_key_or_its_place(words, values):
    read = read_arguments("share", None, words, WANTED)
    assert (read.run, read.name, read.public, read.shared) == values


def test_the_folder_of_a_sweeps_job_is_no_setting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seed=1").mkdir()
    assert read_arguments("share", None, ["seed=1"], WANTED).run == Path("seed=1")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected laconic share <run> [<name>] [public=<...>] [shared=<...>]; got no run"),
        (["r", "n", "x"], "got 'x' as well"),
        (
            ["r", "nam=n"],
            "run, name, public, shared; got 'nam=n'; did you mean name=?",
        ),
        (["r", "public=maybe"], "expected public=true or public=false; got public=maybe"),
        (["r", "shared=half"], "expected shared=<a number>; got shared=half"),
        (["run=r", "run=s"], "expected one run; got 'r' and 's'"),
        # Flags of an earlier version, and how they are typed now.
        (["r", "--name", "n x"], "got '--name': type laconic share r 'name=n x'"),
        (["r", "--name=n", "--public"], "got '--name=n': type laconic share r name=n public=true"),
        (["--public", "r"], "type laconic share public=true r"),
        (["r", "--shared"], "type laconic share r 'shared=<shared>'"),
    ],
)
def test_a_mistake_is_answered_in_one_line_with_what_to_type(capsys, words, message):
    with pytest.raises(SystemExit) as ended:
        read_arguments("share", None, words, WANTED)
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.startswith("error: ") and said.count("\n") == 1
    assert message in said


FLAGS = ("--run", "-r", "--multirun", "-m", "--cfg", "-c", "--config-dir", "-cd", "--help", "-h")


@pytest.mark.parametrize(
    ("program", "words", "typed"),
    [
        ("train", ["--seed", "1"], "train seed=1"),
        ("train", ["-m", "--train.steps=5", "seed=1,2"], "train -m train.steps=5 seed=1,2"),
        ("warm_start", ["--env", "math"], "warm-start env=math"),
        ("evaluate", ["outputs/mine", "seed=1"], "evaluate run=outputs/mine seed=1"),
        # `--run` is a flag of Hydra, without a value.
        ("evaluate", ["--run", "outputs/mine"], "evaluate run=outputs/mine"),
        ("train", ["./mine/"], "train resume=./mine/"),
        ("compare", ["a/b"], "compare 'compare.runs=[a/b]'"),
    ],
)
def test_a_program_with_a_config_says_what_to_type_too(program, words, typed):
    with pytest.raises(HydraException, match="expected settings as key=value; got") as caught:
        check_style(program, words, FLAGS)
    assert str(caught.value).endswith(f": type laconic {typed}")


def test_a_flag_gets_the_key_that_the_configuration_has():
    keys = {"steps": "train.steps", "seed": "seed"}
    with pytest.raises(HydraException) as caught:
        check_style("train", ["--steps", "5", "--seed=1"], FLAGS, keys.__getitem__)
    assert str(caught.value).endswith(": type laconic train train.steps=5 seed=1")


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "seed=1,2", "hydra.sweep.dir=a/b"],
        ["--cfg", "job"],
        ["--multi", "seed=1"],
        ["--config-dir", "a/b", "env=mine"],
        ["~learner/price", "+env/x=y"],
    ],
)
def test_flags_of_hydra_stay(words):
    check_style("train", words, FLAGS)


def test_help_lists_what_a_program_takes(capsys):
    with pytest.raises(SystemExit, match="0"):
        explain.main(["--help"])
    said = capsys.readouterr().out
    assert said.startswith("usage: laconic explain <run> [<step>]\n")
    assert "\n  step  training step; default: the last\n" in said
