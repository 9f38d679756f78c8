"""The command `laconic`: list of programs, start of a program, unknown names."""

from __future__ import annotations

import gc
import os
import runpy
import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf
from places import ROOT, configs

from laconic.experiments.command_line import console, programs


@pytest.fixture
def call(monkeypatch, capsys):
    """Type `laconic <arguments>`; gives the exit code (or its text) and the output."""

    def type_(*arguments):
        monkeypatch.setattr(sys, "argv", ["laconic", *arguments])
        try:
            console.main()
        except SystemExit as end:
            return end.code, capsys.readouterr()
        return 0, capsys.readouterr()

    return type_


def test_every_program_is_listed_and_nothing_else():
    folder = ROOT / "experiments"
    core = {path.stem.replace("_", "-") for path in folder.glob("*.py")} - {"--init--", "python"}
    extras = {"benchmark", "card", "compare", "demand", "export", "import", "init", "predict"}
    extras |= {"doctor", "explain", "measure-speed", "report", "share", "watch"}
    assert set(programs.names()) == core | extras | {"warm-start"}
    # What has a configuration of its own is a program.
    assert {name.replace("_", "-") for name in configs("*.yaml")} <= core | extras


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_without_a_program_the_programs_are_listed(call, arguments):
    code, output = call(*arguments)
    assert code == 0 and output.out.startswith("usage: laconic <program>")
    assert all(f"  {name}" in output.out for name in programs.names())


@pytest.mark.parametrize(
    ("name", "closest"),
    [
        ("trian", "'train'"),
        ("warm_starts", "'warm-start'"),
        ("measure_speeds", "'measure-speed'"),
        ("zzz", None),
    ],
)
def test_an_unknown_program_is_answered_with_the_closest(call, name, closest):
    code, output = call(name)
    hint = f"; did you mean {closest}?" if closest else ""
    assert code == f"\nerror: expected one of these programs; got {name!r}{hint}"
    assert "usage: laconic" in output.err


@pytest.mark.parametrize("name", ["measure-speed", "measure_speed"])
def test_a_program_is_found_with_a_dash_and_as_its_module_is_called(call, name):
    code, output = call(name, "--cfg", "job")
    assert code == 0 and "repetitions" in output.out


@pytest.mark.parametrize("name", ["warm-start", "warm_start"])
def test_a_warm_start_is_a_training_with_a_setting_with_a_dash_or_without(call, name):
    code, output = call(name, "--cfg", "job")
    assert code == 0 and "Imitated" in output.out


def test_cfg_shows_what_runs(call):
    code, output = call("warm-start", "env=jury", "seed=1", "--cfg", "job")
    cfg = OmegaConf.create(output.out)
    # Typed; of the environment; of fresh weights there; of the team.
    shown = (cfg.seed, cfg.env.tasks, cfg.train.steps, cfg.optimizer.lr)
    assert code == 0 and shown == (1, None, 400, 2e-3)


def test_cfg_shows_keys_that_do_not_run_yet(call):
    code, output = call("train", "agent=hf", "--cfg", "job")
    assert code == 0 and OmegaConf.create(output.out).agent.precision == "auto"
    assert "note: these settings do not run: agent.model has no value" in output.err


def test_the_version_is_printed(call):
    code, output = call("--version")
    assert code == 0 and output.out.startswith("laconic 0.")


@pytest.fixture
def own_module(monkeypatch, tmp_path):
    """Write modules into the working folder; gives the path of modules after each start."""
    (tmp_path / "thing_of_my_own.py").write_text("here = True")
    (tmp_path / "json.py").write_text("raise ImportError('not this one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    monkeypatch.delitem(sys.modules, "thing_of_my_own", raising=False)
    paths = []
    monkeypatch.setattr(console, "start", lambda program: paths.append([*sys.path]))
    return paths


@pytest.mark.parametrize(
    "argument",
    [
        "env._target_=thing_of_my_own.Game",
        "+evaluation.after.longest._target_=thing_of_my_own.longest",
        "+logger.mine={_target_: thing_of_my_own.Logger, every: 2}",
        "learner._target_=torch.nn.Linear,thing_of_my_own.Learner",
        "env._target_='thing_of_my_own.Game'",
        "trust=[thing_of_my_own.]",
        "compare.trust=[thing_of_my_own]",
        "--config-dir=my_conf",
        "-cd",
        "hydra.searchpath=[file://my_conf]",
    ],
)
def test_an_argument_names_code_of_the_present_folder_which_hides_none_installed(
    call, monkeypatch, tmp_path, own_module, argument
):
    monkeypatch.delitem(sys.modules, "json")
    call("train", argument)
    assert own_module[0][-1] == str(tmp_path)
    assert import_module("thing_of_my_own").here and import_module("json").loads("1") == 1


# A library may import what a downloaded file names, so the folder of downloads is not on the path.
@pytest.mark.parametrize(
    "argument",
    [
        "agent.model=thing_of_my_own",
        "env.source=thing_of_my_own.jsonl",
        "optimizer._target_=torch.optim.SGD",
        "~env",
        "run=thing_of_my_own.1",
        "trust=[]",
        "-cn",
        "learner._target_=__main__.Mine",
        "+logger.mine={_target_: laconic.experiments.tracking.TensorBoard, name: mine}",
    ],
)
def test_other_arguments_leave_the_present_folder_off_the_path(
    call, tmp_path, own_module, argument
):
    call("train", argument)
    assert str(tmp_path) not in own_module[0]


def test_garbage_is_looked_for_from_the_program_on_and_after_a_failed_import(monkeypatch):
    looked = []

    def imported(name):
        looked.append(gc.isenabled())
        if len(looked) > 1:
            raise SystemExit
        return SimpleNamespace(main=lambda: looked.append(gc.isenabled()))

    monkeypatch.setattr(console, "import_module", imported)
    program = programs.Program("none", "none")
    console.start(program)
    assert looked == [False, True]
    with pytest.raises(SystemExit):
        console.start(program)
    assert gc.isenabled()


def test_the_module_is_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["laconic"])
    runpy.run_module("laconic", run_name="__main__")
    assert capsys.readouterr().out.startswith("usage: laconic")


def test_a_settings_error_of_a_program_ends_with_its_code(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "laconic", "train", "train.steeps=1"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2
    assert "Did you mean 'train.steps'?" in ended.stderr and "Traceback" not in ended.stderr


def test_a_typo_is_answered_before_the_slow_libraries_are_loaded(tmp_path):
    code = (
        "import sys; from laconic.experiments.command_line import console, programs\n"
        "sys.argv = ['laconic', 'train', 'train.steeps=1']\n"
        "try: console.main()\n"
        "except SystemExit: print({'torch', 'transformers', 'matplotlib'} & {*sys.modules})"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert ended.stdout == "set()\n" and "Did you mean 'train.steps'?" in ended.stderr
