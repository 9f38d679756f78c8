"""Files of other programs in a run folder are read correctly and printed safely."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import lock
from laconic.experiments.python import Run
from laconic.experiments.run_folder.folder import RunFolder, read_rows
from laconic.experiments.run_folder.foreign import read_status
from laconic.experiments.run_folder.runs import read_run
from laconic.experiments.session.played_run import take_run
from laconic.extras.report.write import write_report
from laconic.extras.share import share
from laconic.learners.agents.trained import policy_source


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


def test_a_run_that_was_killed_is_not_called_running(folder):
    assert read_status(folder.path) == {}
    folder.start(OmegaConf.create({"seed": 0}), resume=False)
    folder.write_status("running", 3)
    assert read_status(folder.path)["state"] == "killed"
    lock.hold(folder.path)
    assert read_status(folder.path)["state"] == "running"
    lock.release()
    folder.write_status("finished", 4)
    assert read_status(folder.path)["state"] == "finished"


def test_a_status_of_somebody_else_cannot_command_the_terminal(folder):
    text = json.dumps({"state": "run\x1b[2Jning\u202e", "warnings": ["a\tb\nc\x07\u009b", 1]})
    (folder.path / "status.json").write_text(text)
    assert read_status(folder.path) == {"state": "run[2Jning", "warnings": ["a\tb\nc", 1]}
    (folder.path / "status.json").write_text("[]")
    with pytest.raises(ValueError):
        read_status(folder.path)


def _everything(folder):
    """Return every entry below a folder with its kind and content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def precious(tmp_path):
    """Make files of a user beside a stranger's run folder."""
    folder = tmp_path / "precious"
    (folder / "step_00000002").mkdir(parents=True)
    for name in ("file", "config.yaml", "hydra.yaml", "model.safetensors", "metrics.jsonl"):
        (folder / name).write_text("precious\n")
    return folder


@pytest.mark.parametrize(
    ("name", "target"),
    [
        *((".lock", "file"), ("metrics.jsonl", "file"), (".hydra", "."), ("policy", ".")),
        *(("policy/model.safetensors", "model.safetensors"), ("checkpoints/step_00000002", ".")),
        *(
            pytest.param(name, target, marks=pytest.mark.slow)
            for name, target in [
                *(("train.log", "file"), ("status.json", "file"), ("error.txt", "file")),
                *(("report.html", "file"), ("checkpoints", "."), ("tensorboard", ".")),
                ("report", "."),
            ]
        ),
    ],
)
def test_a_run_is_not_resumed_through_a_link(run, small, precious, tmp_path, name, target):
    folder = tmp_path / "run"
    (folder / name).parent.mkdir(parents=True)
    (folder / "config.yaml").write_text("seed: 0\n")
    (folder / name).symlink_to(precious / target)
    before = _everything(precious)
    outcome = run("train", *small, "resume=true", f"hydra.run.dir={folder}")
    assert outcome.code == 1
    assert f"{name!r} is a link to '{(precious / target).resolve()}'" in outcome.message
    assert "hydra.run.dir=<folder>" in outcome.message
    assert _everything(precious) == before
    # Nor is a report written there.
    (folder / "evaluations.jsonl").touch()
    with pytest.raises(SettingError, match="is a link to"):
        write_report(folder)
    assert _everything(precious) == before


def test_a_pipe_in_place_of_rows_keeps_no_program_waiting(run, small, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    os.mkfifo(folder / "metrics.jsonl")
    outcome = run("train", *small, "resume=true", f"hydra.run.dir={folder}")
    assert outcome.code == 1 and "'metrics.jsonl' is no regular file" in outcome.message
    with pytest.raises(SettingError, match="no regular file"):
        read_rows(folder / "metrics.jsonl")
    with pytest.raises(SettingError, match="no regular file"):
        _ = Run(folder).rows
    assert "metrics.jsonl cannot be read (no regular file)" in read_run(folder).problems


def test_a_linked_secret_is_not_shared(trained, tmp_path, capsys):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    (tmp_path / "secret").write_text("secret")
    for name in ("notes.txt", "solver"):
        (folder / "policy" / name).symlink_to(tmp_path / "secret")
        with pytest.raises(SystemExit) as end:
            share.main([str(folder), f"folder={tmp_path / 'shared'}"])
        assert end.value.code == 1 and not (tmp_path / "shared").exists()
        assert f"{name!r} is a link to" in capsys.readouterr().err
        (folder / "policy" / name).unlink()
    share.main([str(folder), f"folder={tmp_path / 'shared'}"])
    assert (tmp_path / "shared" / "model.safetensors").is_file()


LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)
)


def _strange(folder, kind):
    """Put what would keep a reader busy in place of every file of a run."""
    folder.mkdir()
    (folder / ".hydra").mkdir()
    rows = ("metrics.jsonl", "evaluations.jsonl", "transcripts.jsonl", "demand.jsonl")
    texts = ("config.yaml", "status.json", "provenance.json", "error.txt")
    noted = (".hydra/overrides.yaml", ".hydra/hydra.yaml")
    for name in (*rows, *texts, *noted):
        path = folder / name
        if kind == "pipes":
            os.mkfifo(path)
        elif kind == "devices":
            path.symlink_to("/dev/zero")
        elif kind == "depth":
            path.write_text(("[" * 100_000 + "\n") * 2 + '{"step":' * 5000 + "\n")
        elif kind == "aliases":
            path.write_text(LAUGHS)
        else:
            with open(path, "wb") as file:
                file.truncate(2**40)
    return folder


KINDS = ["pipes", "devices", "depth", "aliases", "a terabyte"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_would_keep_a_reader_busy_is_read_as_broken(tmp_path, kind):
    folder = _strange(tmp_path / "run", kind)
    run = read_run(folder)
    assert (run.settings, run.metrics, run.transcripts) == ({}, {}, ())
    assert any("config.yaml" in problem for problem in run.problems)


@pytest.mark.parametrize("kind", KINDS)
def test_such_a_folder_is_not_played_resumed_or_loaded(run, tmp_path, kind):
    folder = _strange(tmp_path / "run", kind)
    (folder / "checkpoints").mkdir()
    cfg = OmegaConf.create({"run": str(folder), "step": None, "trust": []})
    refused = []
    for read in (lambda: take_run(cfg, []), lambda: policy_source(folder)):
        with pytest.raises(SettingError) as error:
            read()
        refused.append(str(error.value))
    for text in refused:
        assert "\n" not in text and str(folder) in text
    outcome = run("train", f"resume={folder}")
    assert outcome.code == 1 and ".hydra/hydra.yaml" in outcome.message


def test_runs_that_began_with_one_another_have_no_form(tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / name / "checkpoints").mkdir(parents=True)
        config = {"agent": {"model": str(tmp_path / other)}}
        OmegaConf.save(OmegaConf.create(config), tmp_path / name / "config.yaml")
    with pytest.raises(SettingError, match="more than 100 runs without policy"):
        policy_source(tmp_path / "a")
