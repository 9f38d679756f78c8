"""A benchmark goes on where it was stopped, outlives a failed run, and makes no run twice."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml

from laconic.envs.errors import SettingError
from laconic.extras.benchmark.command import check_methods, main, methods
from laconic.extras.benchmark.results import BASELINES, FILE, unplayed
from laconic.extras.benchmark.run import write_plan
from laconic.extras.benchmark.sets import FOLDER, check_starts, load, read

SETTINGS = {
    "env.reward.price": 0.12,
    "train.steps": 2,
    "train.tasks_per_step": 2,
    "train.group_size": 2,
    "evaluation.tasks": 4,
}


@pytest.fixture
def small(tmp_path):
    """A set of two environments and two updates."""
    parts = load("mini").environments
    data = {"name": "small", "version": 1, "seeds": [0], "evaluations": 1}
    data["environments"] = {
        name: {"start": parts[name].start, "minutes": 0.1, "settings": {**SETTINGS}}
        for name in ("signal", "jury")
    }
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_a_failed_run_ends_no_set_and_a_finished_one_is_not_made_again(small, tmp_path, capsys):
    folder = tmp_path / "results"
    command = [f"benchmark={small}", f"folder={folder}", "learner=gspo"]
    broken = folder / "runs" / "signal" / "gspo"
    broken.parent.mkdir(parents=True)
    # No run can have its folder where a file is.
    broken.write_text("")
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 1
    printed = capsys.readouterr().out
    assert "1 of 2 runs finished" in printed and "1 method in" in printed
    assert "signal: not all runs ended: the run folder cannot be used: Not a dir" in printed
    assert f"; see {folder / 'runs' / 'signal.log'}" in printed
    assert "not finished: gspo, env=signal, seed 0" in (folder / "table.md").read_text()
    finished = folder / "runs" / "jury" / "gspo" / "seed-0" / "metrics.jsonl"
    before = finished.stat().st_mtime_ns
    broken.unlink()
    # Another method that failed in the folder fails no later command.
    other = folder / "runs" / "signal" / "other" / "seed-0"
    other.mkdir(parents=True)
    (other / "error.txt").write_text("gone")
    main(command)
    assert "not all runs" not in capsys.readouterr().out
    assert finished.stat().st_mtime_ns == before
    written = json.loads((folder / FILE).read_text())["results"]["small_v1"]
    assert set(written["signal"]["gspo"]["seed_0"]) == {"step_0", "step_1", "absolute_metrics"}
    assert len(written["signal"]["gspo"]["seed_0"]["step_1"]["reward"]) == 4
    assert (folder / "benchmark.png").is_file() and (folder / "benchmark.html").is_file()
    # Another learner under a name that the folder has.
    with pytest.raises(SystemExit) as refused:
        main([*command, "name=gspo", "optimizer.lr=1e-3"])
    assert refused.value.code == 2 and "type another name" in capsys.readouterr().err


LOSS = "learner.objective._target_=their_losses"


@pytest.mark.parametrize(
    "words, reason",
    [
        (["learner=misspelled"], "config key 'learner.objective.epsilon_hihg'. Did you mean"),
        (
            ["name=a", f"{LOSS}.Los"],
            "Did you mean 'their_losses.Loss'? (config key 'learner.objective')",
        ),
        (["name=a", f"{LOSS}.Needs"], "missing 1 required positional argument: 'cap'"),
        (["name=a", f"{LOSS}.Loss"], "their_losses.Loss failed: KeyError: 'gone'"),
        (["name=a", "learner._target_=their_losses.Needs"], "their_losses.Needs"),
        (["name=a", "learner.epsilon=1"], "is added with '+learner.epsilon=...'"),
        (["learner=grpo,rlccf"], "learner=rlccf env=jury: learner.collective pays"),
        (["learner=misspeled"], "Did you mean 'misspelled'?"),
    ],
)
def test_a_method_is_refused_as_train_refuses_it_before_baselines_are_played(
    words, reason, small, tmp_path, capsys, monkeypatch
):
    conf = tmp_path / "my_conf" / "learner"
    conf.mkdir(parents=True)
    yaml_text = "defaults: [grpo, _self_]\nobjective: {epsilon_hihg: 0.4}\n"
    (conf / "misspelled.yaml").write_text(yaml_text)
    (tmp_path / "their_losses.py").write_text(
        "class Loss:\n    def __call__(self, inputs):\n        raise KeyError('gone')\n"
        "class Needs:\n    def __init__(self, cap):\n        pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "results"
    with pytest.raises(SystemExit) as refused:
        main([f"benchmark={small}", f"folder={folder}", "--config-dir", str(conf.parent), *words])
    assert refused.value.code == 2 and reason in capsys.readouterr().err
    assert not folder.exists()


def test_a_misspelled_learner_is_refused_without_torch_and_told_of_config_dir(small):
    code = (
        "import sys; from laconic.extras.benchmark.command import main\n"
        "try: main(sys.argv[1:])\nfinally: print('torch' in sys.modules)"
    )
    words = [sys.executable, "-c", code, f"benchmark={small}", "learner=wide"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 2 and ended.stdout == "False\n"
    assert "needs --config-dir <folder>" in ended.stderr


@pytest.mark.parametrize(
    "words, reason",
    [
        (["benchmark=none"], "benchmark must be one of core, mini"),
        (["learner=none"], "none"),
        (["train.steps=3"], "the set fixes train.steps"),
        (["env=math"], "the set fixes env"),
        (["learner.beta=1"], "name=<name>"),
        (["seeds=a"], "seeds must be whole numbers from 0, as in seeds=0,1; got 'a'"),
        (["seeds=-1"], "got '-1'"),
        (["seed=1"], "the set fixes seed"),
        (["learner=gspo,grpo", "name=both"], "one learner"),
    ],
)
def test_a_wrong_command_is_refused_before_anything_is_written(words, reason, tmp_path, capsys):
    folder = tmp_path / "results"
    with pytest.raises(SystemExit) as refused:
        main([*words, f"folder={folder}"])
    assert refused.value.code == 2 and reason in capsys.readouterr().err
    assert not (folder / "plan.json").exists()


def test_baselines_are_played_until_all_have_ended(tmp_path):
    # A comparison writes its table after every entry, so an interruption leaves some.
    def write(**states):
        rows = [{"name": name, "state": state} for name, state in states.items()]
        (tmp_path / "comparison.json").write_text(json.dumps({"entries": rows}))

    assert unplayed(tmp_path) == list(BASELINES)
    write(silent="finished", random="finished")
    assert unplayed(tmp_path) == ["telegraph", "oracle", "single", "team"]
    write(**{**dict.fromkeys(BASELINES, "finished"), "telegraph": "left out", "oracle": "failed"})
    assert unplayed(tmp_path) == ["oracle"]


def test_a_yaml_that_changed_is_another_method(small, tmp_path):
    folder, yamls = tmp_path / "results", tmp_path / "my_conf" / "learner"
    yamls.mkdir(parents=True)
    found, wide = load(str(small)), yamls / "wide.yaml"
    words = ["--config-dir", str(yamls.parent)]

    def composed(epsilon):
        wide.write_text(f"defaults: [grpo, _self_]\nobjective: {{epsilon_high: {epsilon}}}\n")
        return dict(zip(["wide"], check_methods(found, ["wide"], [], words), strict=True))

    folder.mkdir()
    first = write_plan(folder, found, composed(0.4), words, [0])
    # Other seeds, threads and ways to type the folder change no method.
    again = write_plan(folder, found, composed(0.4), [f"{words[0]}={words[1]}", "threads=2"], [1])
    assert first["methods"]["wide"]["seeds"] == [0] and again["methods"]["wide"]["seeds"] == [0, 1]
    with pytest.raises(SettingError, match="type another name"):
        write_plan(folder, found, composed(0.5), words, [0])
    # The same name for another learner.
    [grpo] = check_methods(found, ["grpo"], [], [])
    with pytest.raises(SettingError, match="type another name"):
        write_plan(folder, found, {"wide": grpo}, [], [0])


def test_the_shipped_sets_start_from_the_shipped_weights():
    for path in FOLDER.glob("*.yaml"):
        found = load(path.stem)
        assert found.name == path.stem and len(found.environments) in (3, 6)
        check_starts(found)


def test_other_weights_are_refused():
    data = load("mini").as_json()
    data["environments"]["jury"]["start"] = "ff" * 32
    with pytest.raises(SettingError, match="env=jury: mini_v1 starts from weights of SHA-256 ffff"):
        check_starts(read(data, "here"))


def test_a_method_has_a_name_that_is_a_folder_and_a_key():
    assert methods(["gspo", "grpo"], None, ["threads=1"]) == ["gspo", "grpo"]
    assert methods(["grpo"], "wide", ["learner.objective.epsilon_high=0.4"]) == ["wide"]
    for name in ("../x", "A", "a,b", "<b>", ""):
        with pytest.raises(SettingError, match="name"):
            methods(["grpo"], name, ["learner.credit=team"])


def test_evaluations_divide_the_budget(small):
    data = yaml.safe_load(small.read_text())
    data["evaluations"] = 3
    with pytest.raises(SettingError, match=r"evaluations \(3\) must divide train\.steps"):
        read(data, "small")
