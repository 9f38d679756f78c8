from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

import laconic
from laconic.envs.errors import SettingError
from laconic.experiments.run_folder import provenance
from laconic.experiments.run_folder.folder import (
    RunFolder,
    read_rows,
    write_atomically,
)


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


@pytest.fixture
def cfg():
    return OmegaConf.create(
        {
            "seed": 0,
            "resume": False,
            "train": {"steps": 10, "group_size": 4},
            "env": {"rounds": 2, "again": "${env.rounds}", "team": {"solver": 1}, "budget": {}},
            "optimizer": {"lr": 1e-6, "betas": [0.9, 0.999]},
            "logger": {"tensorboard": {"_target_": "x"}},
        }
    )


def strictly(line):
    """JSON as a strict reader takes it: no NaN, no Infinity."""

    def refuse(word):
        raise ValueError(word)

    return json.loads(line, parse_constant=refuse)


def test_a_file_in_place_of_the_folder_is_refused_with_the_key_to_change(tmp_path):
    (tmp_path / "taken").touch()
    for path in (tmp_path / "taken", tmp_path / "taken" / "run"):
        with pytest.raises(SettingError, match=r"taken.*hydra\.run\.dir"):
            RunFolder(path)


def test_a_folder_on_a_system_without_room_for_it_is_refused():
    with pytest.raises(SettingError, match=r"'/proc/run'.*hydra\.run\.dir"):
        RunFolder("/proc/run")


def test_a_new_run_saves_its_configuration_resolved(folder, cfg):
    assert folder.start(cfg, resume=False) is False
    saved = OmegaConf.load(folder.path / "config.yaml")
    assert OmegaConf.to_container(saved, resolve=False) == OmegaConf.to_container(cfg, resolve=True)


def test_a_folder_with_a_run_is_not_started_over(folder, cfg):
    folder.start(cfg, resume=False)
    folder.append_metrics({"step": 1})
    with pytest.raises(SettingError, match="already holds a run; pass resume=true"):
        folder.start(cfg, resume=False)
    assert len(read_rows(folder.metrics)) == 1


def test_a_run_that_wrote_nothing_yet_may_start_over(folder, cfg):
    folder.start(cfg, resume=False)
    assert folder.start(cfg, resume=False) is False


def test_resume_starts_in_an_empty_folder_and_continues_in_a_used_one(folder, cfg):
    assert folder.start(cfg, resume=True) is False
    assert folder.start(cfg, resume=True) is True


def test_keys_that_may_differ_do_not_stop_a_resume(folder, cfg):
    folder.start(cfg, resume=False)
    cfg.resume, cfg.train.steps, cfg.logger = True, 20, {}
    assert folder.start(cfg, resume=True) is True


def test_every_differing_key_is_named_with_both_values(folder, cfg):
    folder.start(cfg, resume=False)
    cfg.seed = 1
    cfg.optimizer.betas = [0.9, 0.99]
    cfg.env.rounds = 3
    cfg.env.team = {"helper": 2}
    with pytest.raises(SettingError) as raised:
        folder.start(cfg, resume=True)
    # `env.again` follows `env.rounds`, so it differs too.
    assert str(raised.value).splitlines()[1:-1] == [
        "  env.again: was 2, now 3",
        "  env.rounds: was 2, now 3",
        "  env.team.helper: was absent, now 2",
        "  env.team.solver: was 1, now absent",
        "  optimizer.betas: was [0.9, 0.999], now [0.9, 0.99]",
        "  seed: was 0, now 1",
    ]


def test_rows_are_valid_json_whatever_the_numbers(folder):
    row = {
        "step": 1,
        "nan": math.nan,
        "inf": -math.inf,
        "numpy": np.float32(0.5),
        "torch": torch.tensor(2),
        "list": [math.inf, (1, "a")],
        "text": "a\nb \u2028 \ud800",
        "none": None,
    }
    folder.append_metrics(row)
    (line,) = folder.metrics.read_text("utf-8").splitlines()
    assert strictly(line) == row | {"nan": None, "inf": None, "list": [None, [1, "a"]]}


def test_a_row_without_its_step_is_refused(folder):
    with pytest.raises(SettingError, match="metrics.jsonl needs its step"):
        folder.append_metrics({"accuracy": 1.0})


def test_rows_are_in_the_file_as_soon_as_they_are_appended(folder):
    folder.append_transcripts([{"step": 0, "task": "a"}, {"step": 0, "task": "b"}])
    folder.append_transcripts([])
    folder.append_evaluation({"step": 0})
    assert [row["task"] for row in read_rows(folder.transcripts)] == ["a", "b"]
    assert read_rows(folder.evaluations) == [{"step": 0}]
    assert read_rows(folder.metrics) == []


def test_rewinding_drops_later_rows_and_torn_lines_of_every_file(folder):
    for step in range(4):
        folder.append_metrics({"step": step})
        folder.append_evaluation({"step": step})
        folder.append_transcripts([{"step": step}, {"step": step}])
    before = folder.metrics.read_bytes().splitlines(keepends=True)
    for path in (folder.metrics, folder.evaluations, folder.transcripts):
        with open(path, "ab") as file:
            file.write('{"step": 2, "text": "沉'.encode()[:-1])
    folder.rewind(2)
    assert folder.metrics.read_bytes() == b"".join(before[:3])
    assert [row["step"] for row in read_rows(folder.evaluations)] == [0, 1, 2]
    assert [row["step"] for row in read_rows(folder.transcripts)] == [0, 0, 1, 1, 2, 2]
    folder.append_metrics({"step": 3})
    assert folder.metrics.read_bytes() == b"".join(before)


def test_a_whole_row_without_its_line_end_is_torn_too(folder):
    folder.append_metrics({"step": 0})
    with open(folder.metrics, "ab") as file:
        file.write(b'{"step": 1}')
    assert read_rows(folder.metrics) == [{"step": 0}]


def test_rewinding_to_before_the_start_drops_everything_and_an_empty_run_is_no_error(folder):
    folder.rewind(-1)
    assert not folder.metrics.exists()
    folder.append_metrics({"step": 0})
    folder.rewind(-1)
    assert folder.metrics.read_bytes() == b""
    folder.sync()


def test_the_status_is_replaced_as_a_whole(folder):
    folder.write_status("running", 1)
    folder.write_status("finished", 2, ["quiet"], processes=3)
    status = json.loads((folder.path / "status.json").read_text())
    assert status.pop("version") == laconic.__version__
    assert status == {"state": "finished", "step": 2, "processes": 3, "warnings": ["quiet"]}
    assert [path.name for path in folder.path.iterdir()] == ["status.json"]


def test_a_failed_write_keeps_the_old_text_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_of_an_unknown_format_is_refused_in_one_line(folder, cfg):
    folder.start(cfg, resume=False)
    assert folder.start(cfg, resume=True)
    before = (folder.path / "config.yaml").read_text()
    later = json.dumps([{"format": provenance.FORMAT + 1, "version": "9.0"}])
    (folder.path / provenance.NAME).write_text(later)
    with pytest.raises(SettingError, match="got format 2 in .*, written by laconic 9.0: use"):
        folder.start(cfg, resume=True)
    assert (folder.path / "config.yaml").read_text() == before


def test_every_process_that_resumes_a_run_adds_its_entry(folder, cfg):
    folder.start(cfg, resume=False)
    folder.write_status("interrupted", 1)
    again = RunFolder(folder.path)
    again.start(cfg, resume=True)
    again._began -= 60
    again.write_status("finished", 2)
    first, second = provenance.read(folder.path)
    assert first["seconds"] < 60 <= second["seconds"]
    assert first["version"] == second["version"] == laconic.__version__


def test_a_leftover_of_a_killed_process_is_swept_by_the_next_one(tmp_path):
    # No process has this number: it is above the highest of Linux.
    (tmp_path / ".provenance.json.99999999.tmp").touch()
    write_atomically(tmp_path / "status.json", "{}")
    assert [path.name for path in tmp_path.iterdir()] == ["status.json"]
