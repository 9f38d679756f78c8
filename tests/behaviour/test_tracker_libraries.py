"""Trackers with their real libraries, where these are installed; nothing leaves this machine."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hydra.utils import instantiate
from places import ROOT

from laconic.experiments.tracking.trackers import metric_name

LIBRARIES = ("wandb", "mlflow", "trackio")
KILLED = """
import json, os, signal, sys
from hydra.utils import instantiate
logger = instantiate(json.loads(sys.argv[1]), folder=sys.argv[2])
for step in range(6):
    logger.log(step, {"eval/reward": float(step)})
os.kill(os.getpid(), signal.SIGKILL)
"""

Steps = dict[int, list[Mapping[str, float]]]
"""Step -> the figures that a tracker has of it, one entry for each time it was told."""


@pytest.fixture(scope="module", autouse=True)
def _at_home(tmp_path_factory):
    """Every library keeps to a folder of the test, and to this machine."""
    home = tmp_path_factory.mktemp("trackers")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("MLFLOW_TRACKING_URI", str(home / "mlruns"))
        # Read when trackio is imported, which happens here only.
        patch.setenv("TRACKIO_DIR", str(home / "trackio"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_ERROR_REPORTING", "false")
        patch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
        yield


@pytest.fixture(params=LIBRARIES)
def tracker(request) -> SimpleNamespace:
    """A library, by name, with a reader of what it keeps."""
    pytest.importorskip(request.param, reason=f"needs the extra '{request.param}'")
    return SimpleNamespace(name=request.param, read=READERS[request.param])


def read_wandb(folder: Path, known: str) -> tuple[Steps, dict[str, Any]]:
    """The records of the last offline part of a run, which is to be a whole one."""
    deadline = time.monotonic() + 20
    while True:
        steps, found = _records_of_wandb(folder, known)
        # The library's own process writes; on a busy machine it may be late.
        if found["state"] is not None or time.monotonic() > deadline:
            return steps, found
        time.sleep(0.1)


def _records_of_wandb(folder: Path, known: str) -> tuple[Steps, dict[str, Any]]:
    from wandb.proto import wandb_internal_pb2

    steps: Steps = {}
    found = {"name": "", "group": "", "config": {}, "state": None}
    for path in sorted(folder.glob(f"wandb/offline-run-*/run-{known}.wandb"))[-1:]:
        for data in leveldb_records(path.read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            kind = record.WhichOneof("record_type")
            if kind == "history":
                items = {
                    one.key or one.nested_key[0]: json.loads(one.value_json)
                    for one in record.history.item
                }
                figures = {name: value for name, value in items.items() if name[0] != "_"}
                steps.setdefault(items["_step"], []).append(figures)
            elif kind == "run":
                found["name"], found["group"] = record.run.display_name, record.run.run_group
                found["config"] |= {
                    one.key: json.loads(one.value_json) for one in record.run.config.update
                }
            elif kind == "exit":
                found["state"] = record.exit.exit_code
    return steps, found


def leveldb_records(data: bytes) -> list[bytes]:
    """Records of the log format of LevelDB, after the seven bytes that W&B puts before them."""
    records, place, parts = [], 7, b""
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        size, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        parts += data[place + 7 : place + 7 + size]
        place += 7 + size
        # 1 is a whole record, 4 the end of one in parts.
        if kind in (1, 4):
            records.append(parts)
            parts = b""
    return records


def read_mlflow(folder: Path, known: str) -> tuple[Steps, dict[str, Any]]:
    import mlflow

    client = mlflow.MlflowClient(Path(os.environ["MLFLOW_TRACKING_URI"]).as_uri())
    run = client.get_run(known)
    steps: Steps = {}
    for name in run.data.metrics:
        for one in client.get_metric_history(known, name):
            steps.setdefault(one.step, []).append({name: one.value})
    merged: Steps = {}
    for step, entries in steps.items():
        names = [name for entry in entries for name in entry]
        times = max(map(names.count, names))
        merged[step] = [{k: v for entry in entries for k, v in entry.items()}] * times
    found = {
        "name": run.info.run_name,
        "group": run.data.tags.get("group", ""),
        "config": run.data.params,
        "state": run.info.status,
    }
    return merged, found


def read_trackio(folder: Path, known: str) -> tuple[Steps, dict[str, Any]]:
    from trackio.sqlite_storage import SQLiteStorage

    steps: Steps = {}
    for row in SQLiteStorage.get_logs("laconic", known):
        figures = {k: v for k, v in row.items() if k not in ("step", "timestamp")}
        steps.setdefault(row["step"], []).append(figures)
    config = SQLiteStorage.get_run_config("laconic", known) or {}
    name = known.rpartition("-")[0]
    return steps, {"name": name, "group": config.get("_Group") or "", "config": config}


READERS: dict[str, Callable[[Path, str], tuple[Steps, dict[str, Any]]]] = {
    "wandb": read_wandb,
    "mlflow": read_mlflow,
    "trackio": read_trackio,
}


def known_as(folder: Path, name: str) -> str:
    return json.loads((folder / f"{name}.json").read_text())["run"]


def test_a_training_and_its_resumption_are_one_run_of_the_tracker(
    tracker, run, small, tmp_path, rows
):
    folder = tmp_path / "day" / "run"
    command = [*small, f"logger=[tensorboard,{tracker.name}]", f"hydra.run.dir={folder}"]
    outcome = run("train", *command, "train.steps=2")
    assert outcome.code == 0, outcome.err
    known = known_as(folder, tracker.name)
    outcome = run("train", *command, "train.steps=4", "resume=true")
    assert outcome.code == 0, outcome.err
    assert known_as(folder, tracker.name) == known
    steps, found = tracker.read(folder, known)
    expected = {row.pop("step"): row for row in rows(folder / "metrics.jsonl")}
    assert sorted(steps) == sorted(expected) == [0, 1, 2, 3, 4]
    for step, row in expected.items():
        (told,) = steps[step]
        for name, value in row.items():
            if value is not None:
                named = metric_name(name) if tracker.name == "mlflow" else name
                assert math.isclose(float(told[named]), value, rel_tol=1e-6), (step, name)
    assert (found["name"], found["group"]) == ("day/run", "")
    assert found["config"]["seed"] in (0, "0")
    assert found.get("state") in (None, 0, "FINISHED")
    assert list(folder.glob("events.out.tfevents.*"))


@pytest.mark.slow
def test_a_killed_run_loses_no_step_and_repeats_none(tracker, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    classes = {"wandb": "WandB", "mlflow": "MLflow", "trackio": "Trackio"}
    entry = {"_target_": f"laconic.experiments.tracking.trackers.{classes[tracker.name]}"}
    died = subprocess.run(
        [sys.executable, "-c", KILLED, json.dumps(entry), str(folder)],
        env={
            **{k: v for k, v in os.environ.items() if k != "WANDB_SERVICE"},
            "PYTHONPATH": str(ROOT / "src"),
        },
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    # The checkpoint was of step 3.
    kept = "".join(json.dumps({"step": n, "eval/reward": float(n)}) + "\n" for n in range(4))
    (folder / "metrics.jsonl").write_text(kept)
    logger = instantiate(entry, folder=str(folder), purge_step=4)
    for step in range(4, 8):
        logger.log(step, {"eval/reward": float(step)})
    logger.close()
    steps, _ = tracker.read(folder, known_as(folder, tracker.name))
    assert {step: [one["eval/reward"] for one in told] for step, told in steps.items()} == {
        step: [float(step)] for step in range(8)
    }


@pytest.mark.slow
def test_the_runs_of_a_sweep_lie_in_one_group(tracker, run, small, tmp_path):
    folder = tmp_path / "day" / "sweep"
    outcome = run(
        "train", "-m", *small, "train.steps=1", "seed=0,1", f"logger={tracker.name}",
        f"hydra.sweep.dir={folder}",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    told = [
        tracker.read(folder / job, known_as(folder / job, tracker.name))[1] for job in ("0", "1")
    ]
    assert [one["name"] for one in told] == ["sweep/0", "sweep/1"]
    assert [one["group"] for one in told] == ["day/sweep"] * 2
    assert [str(one["config"]["seed"]) for one in told] == ["0", "1"]
