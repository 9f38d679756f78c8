from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from omegaconf import OmegaConf
from places import ROOT

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.cli import CONF, flags_last, program
from laconic.experiments.command_line.interrupt import Interrupt

FILES = {
    "main.yaml": """
        defaults:
          - env: gsm8k
          - _self_
        seed: 0
        resume: false
        must: ???
        lost: ${nowhere.at_all}
        hydra:
          run: {dir: "RUNS/one"}
          sweep: {dir: "RUNS/many", subdir: "${hydra.job.num}"}
    """,
    "dated.yaml": """
        defaults: [main, _self_]
        hydra: {run: {dir: "RUNS/${now:%Y}"}}
    """,
    "env/gsm8k.yaml": """
        _target_: laconic.envs.Reward
        price: 0.5
        normalizer: 50
    """,
    "env/math.yaml": """
        _target_: laconic.envs.Reward
        price: 0.1
        only_here: 1
    """,
}


@pytest.fixture
def conf(tmp_path):
    folder = tmp_path / "conf"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).replace("RUNS", str(tmp_path / "runs")))
    return folder


@pytest.fixture
def run(conf, monkeypatch, capsys):
    """Run a program in this process; returns its exit code and what it printed."""
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    monkeypatch.delenv("LACONIC_TRACEBACK", raising=False)

    def call(main, *arguments, config_name="main"):
        monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
        try:
            program(config_name, conf)(main)()
        except SystemExit as end:
            code = end.code
        else:
            code = 0
        out = capsys.readouterr()
        return code, out.out, out.err

    return call


def idle(cfg):
    print("seed", cfg.seed)


def test_a_program_called_with_a_configuration_is_the_plain_function():
    plain = program("main")(lambda cfg: cfg.seed)
    assert plain(OmegaConf.create({"seed": 4})) == 4


def test_a_right_command_line_runs_once_in_its_folder(run, tmp_path):
    assert run(idle, "seed=3") == (0, "seed 3\n", "")
    assert (tmp_path / "runs" / "one" / ".hydra" / "config.yaml").exists()


def test_help_and_the_composed_config_are_shown_as_in_hydra(run):
    code, out, _ = run(idle, "--help")
    assert code == 0 and "env: gsm8k, math" in out and "seed: 0" in out
    code, out, _ = run(idle, "--cfg", "job", "env.price=0.25")
    assert code == 0 and "price: 0.25" in out and "seed 0\n" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["env.prise=0.5"], "unknown config key 'env.prise'. Did you mean 'env.price'? (a new key"),
        (["~env.prise"], "unknown config key 'env.prise'. Did you mean 'env.price'?\n"),
        (["sede=1"], "unknown config key 'sede'. Did you mean 'seed'?"),
        (["normaliser=3"], "unknown config key 'normaliser'. Did you mean 'env.normalizer'?"),
        (["zzzzzz=1"], "unknown config key 'zzzzzz'. Known: env, hydra, lost, must, re"),
        (["enw=gsm8k"], "unknown config key 'enw'. Did you mean 'env'?"),
        (["env.only_here=2"], "unknown config key 'env.only_here'."),
        (
            ["hydra.run.dirr=x"],
            "unknown config key 'hydra.run.dirr'. Did you mean 'hydra.run.dir'?",
        ),
        (
            ["env=gsm8"],
            "unknown option 'gsm8' of group 'env'. Did you mean 'gsm8k'? Known: gsm8k, m",
        ),
        (["+env=gsm8"], "unknown option 'gsm8' of group 'env'. Did you mean 'gsm8k'?"),
        (["env=[math,gsm8]"], "In 'main': Could not load 'env/gsm8'."),
        (["-m", "env=math,gsm8"], "unknown option 'gsm8' of group 'env'. Did you mean 'gsm8k'?"),
        (["-m", "seed=0,1", "env.prise=1,2"], "unknown config key 'env.prise'."),
        (["-m", "env.prise=range(1,3)"], "unknown config key 'env.prise'."),
        (["seed=["], "cannot read the override 'seed=['"),
        (["seed"], "cannot read the override 'seed'"),
        (["seed=1,2"], "expected one value; got 'seed=1,2': add -m to sweep over the values, or"),
        (["env=math,gsm8k"], "expected one value; got 'env=math,gsm8k': add -m to sweep"),
        (["+x.y='a,b',c"], "expected one value; got \"+x.y='a,b',c\": add -m to sweep"),
        (["seed=range(1,3)"], "expected one value; got 'seed=range(1,3)': add -m to sweep"),
        (["-m", "--cfg", "job"], "Only one of --"),
    ],
)
def test_a_wrong_override_is_named_with_the_nearest_right_one(run, arguments, message):
    code, out, err = run(idle, *arguments)
    assert code == 2
    assert err.startswith(f"error: {message}")
    assert "seed 0" not in out and "Traceback" not in err


def test_a_new_key_is_added_with_a_plus_and_a_key_of_any_chosen_option_is_known(run):
    assert run(idle, "+extra=1", "env=math", "env.only_here=2")[0] == 0
    assert run(idle, "-m", "env=gsm8k,math", "++env.only_here=3")[0] == 0


def test_options_of_a_further_folder_are_known(run, tmp_path):
    more = tmp_path / "more" / "env"
    more.mkdir(parents=True)
    (more / "mine.yaml").write_text("own: 1\n")
    assert run(idle, "--config-dir", str(more.parent), "env=mine", "env.own=2")[0] == 0
    code, _, err = run(idle, "--config-dir", str(more.parent), "env=min")
    assert code == 2 and "Did you mean 'mine'? Known: gsm8k, math, mine" in err


def raising(error):
    def main(cfg):
        raise error

    return main


def test_a_mistake_of_the_user_is_one_message_without_a_traceback(run):
    assert run(raising(SettingError("seed must be even; got 1"))) == (
        1,
        "",
        "error: seed must be even; got 1\n",
    )
    code, _, err = run(lambda cfg: open("/nowhere/data.jsonl"))
    assert code == 1
    assert err.startswith("error: No such file or directory: '/nowhere/data.jsonl'")
    assert "Traceback" not in err


def build(cfg):
    from hydra.utils import instantiate

    return instantiate(cfg.env, _convert_="all")


def test_an_error_of_a_part_of_the_config_has_its_key(run):
    # The price is right by itself, and too high for its normalizer.
    code, _, err = run(build, "env.price=1e9")
    assert code == 1 and err.count("\n") == 1 and "Traceback" not in err
    assert "price" in err and "1000000000.0" in err and "(config key 'env')" in err


def test_a_forced_key_that_the_class_does_not_have_is_named_with_the_nearest(run):
    code, _, err = run(build, "+env.normaliser=3")
    assert code == 1
    assert "unknown config key 'env.normaliser'. Did you mean 'env.normalizer'?" in err


def test_a_class_that_cannot_be_imported_is_named(run):
    code, _, err = run(build, "env._target_=no_such_package.Thing")
    assert code == 1 and "No module named 'no_such_package'" in err and "Traceback" not in err


def test_missing_values_and_lost_references_name_their_key(run):
    code, _, err = run(lambda cfg: cfg.must)
    assert (code, err) == (1, "error: must has no value; pass must=<value>\n")
    code, _, err = run(lambda cfg: cfg.lost)
    assert code == 1 and "'nowhere.at_all' not found (config key 'lost')" in err


def test_a_fault_of_the_program_keeps_its_traceback(run):
    with pytest.raises(ZeroDivisionError):
        run(lambda cfg: 1 / 0)


@pytest.mark.parametrize("name", ["LACONIC_TRACEBACK", "HYDRA_FULL_ERROR"])
def test_the_environment_brings_every_traceback_back(run, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    with pytest.raises(SettingError):
        run(raising(SettingError("no")))
    with pytest.raises(Exception, match="gsm8"):
        run(idle, "env=gsm8")
    assert os.environ.get("HYDRA_FULL_ERROR") == ("1" if name == "HYDRA_FULL_ERROR" else None)


def test_a_folder_that_cannot_be_made_names_the_key_to_change(run, tmp_path):
    (tmp_path / "taken").touch()
    code, _, err = run(idle, f"hydra.run.dir={tmp_path}/taken")
    assert code == 1 and "taken" in err and "hydra.run.dir=<folder>" in err


def test_resuming_a_folder_named_after_the_present_is_refused(run, tmp_path):
    code, _, err = run(idle, "resume=true", "must=1", config_name="dated")
    assert code == 1 and "pass hydra.run.dir=<folder>" in err
    assert run(idle, "resume=true", f"hydra.run.dir={tmp_path}/x", config_name="dated")[0] == 0


def test_a_sweep_runs_every_job_and_shows_each_failure_with_its_overrides(run, tmp_path):
    def main(cfg):
        print("ran", cfg.seed)
        if cfg.seed == 1:
            raise SettingError("one is bad")
        if cfg.seed == 2:
            raise ZeroDivisionError("two is worse")

    code, out, err = run(main, "-m", "seed=0,1,2,3", "env.price=0.5")
    assert code == 1
    assert [line for line in out.splitlines() if line.startswith("ran")] == [
        f"ran {seed}" for seed in range(4)
    ]
    assert "error: job seed=1 env.price=0.5 failed: one is bad\n" in err
    assert "Traceback" in err and "ZeroDivisionError: two is worse" in err
    assert err.endswith(
        "error: 2 of the jobs failed (see error.txt):\n"
        "  1: seed=1 env.price=0.5: one is bad\n"
        "  2: seed=2 env.price=0.5: ZeroDivisionError: two is worse\n"
    )
    assert (tmp_path / "runs" / "many" / "1" / "error.txt").read_text() == "one is bad\n"
    assert sorted(
        path.name for path in (tmp_path / "runs" / "many").iterdir() if path.is_dir()
    ) == [
        "0",
        "1",
        "2",
        "3",
    ]


def test_an_interrupted_job_ends_the_sweep_with_the_code_of_the_signal(run):
    def main(cfg):
        with Interrupt() as interrupt:
            print("ran", cfg.seed)
            signal.raise_signal(signal.SIGTERM)
            assert interrupt.is_set()

    code, out, err = run(main, "-m", "seed=0,1")
    assert code == 128 + signal.SIGTERM
    assert "ran 0" in out and "ran 1" not in out
    assert err == "interrupted\n"
    assert run(idle) == (0, "seed 0\n", "")


def test_the_first_signal_is_a_flag_the_second_ends_and_the_old_handler_returns():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt() as interrupt:
        assert not interrupt.is_set()
        signal.raise_signal(signal.SIGINT)
        assert interrupt.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGINT) is before


SCRIPT = """
import sys, time
from laconic.experiments.command_line.cli import program
from laconic.experiments.command_line.interrupt import Interrupt

@program("main", sys.argv.pop(1))
def main(cfg):
    with Interrupt() as interrupt:
        print("ready", flush=True)
        while not interrupt.is_set():
            time.sleep(0.01)
    print("left in good order", flush=True)

main()
"""


def test_ctrl_c_lets_a_program_leave_in_good_order_from_any_working_folder(conf, tmp_path):
    (tmp_path / "program.py").write_text(SCRIPT)
    child = subprocess.Popen(
        [sys.executable, "program.py", str(conf)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    notes = "stopping after this step; a second signal stops at once\ninterrupted\n"
    assert (child.returncode, out, err) == (130, "left in good order\n", notes)


def test_the_choices_lie_beside_the_package():
    assert (CONF / "train.yaml").exists()


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("a=1 b=2", "a=1 b=2"),
        ("--config-dir conf env=mine", "env=mine --config-dir conf"),
        ("a=1 --config-dir conf b=2 -m", "a=1 b=2 --config-dir conf -m"),
        ("--cfg job a=1 --resolve", "a=1 --cfg job --resolve"),
        ("--config-dir=conf a=1", "a=1 --config-dir=conf"),
        ("--info a=1", "a=1 --info"),
        ("--info defaults-tree a=1", "a=1 --info defaults-tree"),
        ("-m seed=0,1 ~env.team.helper", "seed=0,1 ~env.team.helper -m"),
        ("a=1 --config-dir", "a=1 --config-dir"),
    ],
)
def test_flags_stand_anywhere(typed, read):
    assert flags_last(typed.split()) == read.split()


def test_a_flag_before_an_override_is_understood(run, tmp_path):
    (tmp_path / "more" / "env").mkdir(parents=True)
    (tmp_path / "more" / "env" / "mine.yaml").write_text("price: 3\n")

    def main(cfg):
        print("price", cfg.env.price)

    code, out, err = run(main, "must=1", "--config-dir", str(tmp_path / "more"), "env=mine")
    assert (code, out, err) == (0, "price 3\n", "")
