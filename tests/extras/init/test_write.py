"""`laconic init`: what it writes passes its own tests and trains, and nothing is overwritten."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest
from places import ROOT

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import programs
from laconic.extras.init import write as init
from laconic.learners.commands import repeat_flags


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Return an empty folder, the present one."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    # Commands of later messages would repeat the folder of configurations.
    repeat_flags([])


def commands_of(output: str) -> list[str]:
    """Return the next commands that a program prints."""
    return [line.strip() for line in output.partition("next:\n")[2].splitlines()]


@pytest.mark.parametrize(
    ("kind", "name", "metric"),
    [
        ("env", "twin_harbor", "eval/accuracy"),
        ("world", "quiet_reef", "eval/accuracy"),
        ("method", "mild_clip", "learner/loss/clipped"),
    ],
)
def test_the_command_that_it_prints_trains(
    run, small, outside, monkeypatch, capsys, rows, kind, name, metric
):
    init.main([kind, name])
    first, second, train, install = commands_of(capsys.readouterr().out)
    assert (first, second) == (f"cd {name}", "python -m pytest")
    assert f"={name} " in install
    monkeypatch.chdir(outside / name)
    monkeypatch.syspath_prepend(outside / name)
    sizes = [text for text in small if kind == "method" or not text.startswith("env.")]
    command = shlex.split(train)[2:]
    outcome = run("train", *command, *sizes, "train.steps=1", f"hydra.run.dir={outside}/run")
    assert outcome.code == 0, outcome.err
    assert metric in rows(outside / "run" / "metrics.jsonl")[-1]


@pytest.mark.slow
def test_what_it_writes_passes_its_own_tests(outside):
    kinds = {"env": "harbor", "world": "reef", "method": "mild"}
    files = [file for kind, name in kinds.items() for file in init.write(kind, name, outside)]
    assert {"harbor.py", "reef.py", "test_harbor.py", "mild_conf/learner/mild.yaml"} <= set(files)
    for name, passed in (("harbor", "4 passed"), ("reef", "3 passed"), ("mild", "2 passed")):
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=outside / name,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0 and passed in ended.stdout, ended.stdout


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("env", "My-Game", "try my_game"),
        ("env", "2x", "begins with a letter"),
        ("env", "", "begins with a letter"),
        ("env", "class", "no word of Python"),
        ("env", "../x", "got '../x'; try x"),
        ("env", "spiel\n", "got 'spiel"),
        ("env", "json", "Python has a module 'json'"),
        ("method", "torch", "Python has a module 'torch'"),
        ("env", "gsm8k", "env=gsm8k exists"),
        ("world", "cups", "env=cups exists"),
        ("method", "gspo", "learner=gspo exists"),
        ("method", "swarm", "learner=swarm exists"),
        ("env", "taken", "'taken' exists, and nothing is overwritten"),
        ("method", "linked", "'linked' exists, and nothing is overwritten"),
    ],
)
def test_a_name_that_cannot_be_is_refused_before_anything_is_written(
    outside, capsys, kind, name, words
):
    (outside / "taken").mkdir()
    (outside / "linked").symlink_to(outside / "nowhere")
    with pytest.raises(SystemExit) as end:
        init.main([kind, name])
    assert end.value.code == 1 and words in capsys.readouterr().err
    assert {path.name for path in outside.iterdir()} == {"taken", "linked"}
    assert not list((outside / "taken").iterdir())


@pytest.mark.parametrize("arguments", [["game", "x"], ["env"], [], ["env", "a", "b"]])
def test_a_wrong_command_line_ends_with_code_two(outside, capsys, arguments):
    with pytest.raises(SystemExit) as end:
        init.main(arguments)
    assert end.value.code == 2 and "expected" in capsys.readouterr().err
    assert not list(outside.iterdir())


def test_a_write_that_fails_leaves_nothing(outside, monkeypatch):
    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(init.shutil, "move", fail)
    with pytest.raises(OSError, match="full"):
        init.write("env", "harbor", outside)
    assert not list(outside.iterdir())


def test_templates_are_short_python_and_the_program_is_registered():
    lengths = {}
    for source in init.TEMPLATES.rglob("*.py.txt"):
        text = source.read_text("utf-8")
        compile(text, str(source), "exec")
        lengths[source.relative_to(init.TEMPLATES).as_posix()] = len(text.splitlines())
    assert max(lengths[f"{kind}/my_name.py.txt"] for kind in ("env", "world")) <= 65
    assert lengths["method/my_name.py.txt"] <= 40
    program = programs.find("init")
    assert program is not None and program.module == init.__name__
    with pytest.raises(SettingError):
        init.check_name("env", "Upper", ROOT)
