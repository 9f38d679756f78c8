"""Trackers with their real libraries, if installed; nothing leaves this machine."""

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
"""Step -> the figures that a tracker has, one entry for each time they were sent."""


@pytest.fixture(scope="module", autouse=True)
def _at_home(tmp_path_factory):
    """Confine every library to a folder of the test, and to this machine."""
    home = tmp_path_factory.mktemp("trackers")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("MLFLOW_TRACKING_URI", str(home / "mlruns"))
        # Trackio reads it when it is imported, which happens only here.
        patch.setenv("TRACKIO_DIR", str(home / "trackio"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_ERROR_REPORTING", "false")
        patch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
        yield


@pytest.fixture(params=LIBRARIES)
def tracker(request) -> SimpleNamespace:
    """Return a library's name, and a reader of its storage."""
    pytest.importorskip(request.param, reason=f"needs the extra '{request.param}'")
    return SimpleNamespace(name=request.param, read=READERS[request.param])


def read_wandb(folder: Path, run_id: str) -> tuple[Steps, dict[str, Any]]:
    """Return the records of the last offline part of a run, which holds all steps."""
    deadline = time.monotonic() + 20
    while True:
        steps, facts = _records_of_wandb(folder, run_id)
        # The library's own process writes them, late on a busy machine.
        if facts["state"] is not None or time.monotonic() > deadline:
            return steps, facts
        time.sleep(0.1)


def _records_of_wandb(folder: Path, run_id: str) -> tuple[Steps, dict[str, Any]]:
    from wandb.proto import wandb_internal_pb2

    steps: Steps = {}
    facts = {"name": "", "group": "", "config": {}, "state": None}
    for path in sorted(folder.glob(f"wandb/offline-run-*/run-{run_id}.wandb"))[-1:]:
        for data in leveldb_records(path.read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            kind = record.WhichOneof("record_type")
            if kind == "history":
                items = {
                    item.key or item.nested_key[0]: json.loads(item.value_json)
                    for item in record.history.item
                }
                figures = {name: value for name, value in items.items() if name[0] != "_"}
                steps.setdefault(items["_step"], []).append(figures)
            elif kind == "run":
                facts["name"], facts["group"] = record.run.display_name, record.run.run_group
                facts["config"] |= {
                    item.key: json.loads(item.value_json) for item in record.run.config.update
                }
            elif kind == "exit":
                facts["state"] = record.exit.exit_code
    return steps, facts


def leveldb_records(data: bytes) -> list[bytes]:
    """Return the records of a LevelDB log, after the seven bytes that W&B puts before them."""
    records, place, parts = [], 7, b""
    while place + 7 <= len(data):
        rest = 32768 - place % 32768
        if rest < 7:
            place += rest
            continue
        size, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        parts += data[place + 7 : place + 7 + size]
        place += 7 + size
        # 1 is a whole record, 4 the end of one in parts.
        if kind in (1, 4):
            records.append(parts)
            parts = b""
    return records


def read_mlflow(folder: Path, run_id: str) -> tuple[Steps, dict[str, Any]]:
    import mlflow

    client = mlflow.MlflowClient(Path(os.environ["MLFLOW_TRACKING_URI"]).as_uri())
    run = client.get_run(run_id)
    steps: Steps = {}
    for name in run.data.metrics:
        for metric in client.get_metric_history(run_id, name):
            steps.setdefault(metric.step, []).append({name: metric.value})
    merged: Steps = {}
    for step, entries in steps.items():
        names = [name for entry in entries for name in entry]
        times = max(map(names.count, names))
        merged[step] = [{k: v for entry in entries for k, v in entry.items()}] * times
    facts = {
        "name": run.info.run_name,
        "group": run.data.tags.get("group", ""),
        "config": run.data.params,
        "state": run.info.status,
    }
    return merged, facts


def read_trackio(folder: Path, run_id: str) -> tuple[Steps, dict[str, Any]]:
    from trackio.sqlite_storage import SQLiteStorage

    steps: Steps = {}
    for row in SQLiteStorage.get_logs("laconic", run_id):
        figures = {k: v for k, v in row.items() if k not in ("step", "timestamp")}
        steps.setdefault(row["step"], []).append(figures)
    config = SQLiteStorage.get_run_config("laconic", run_id) or {}
    name = run_id.rpartition("-")[0]
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
    run_id = known_as(folder, tracker.name)
    outcome = run("train", *command, "train.steps=4", "resume=true")
    assert outcome.code == 0, outcome.err
    assert known_as(folder, tracker.name) == run_id
    steps, facts = tracker.read(folder, run_id)
    expected = {row.pop("step"): row for row in rows(folder / "metrics.jsonl")}
    assert sorted(steps) == sorted(expected) == [0, 1, 2, 3, 4]
    for step, row in expected.items():
        (sent,) = steps[step]
        for name, value in row.items():
            if value is not None:
                key = metric_name(name) if tracker.name == "mlflow" else name
                assert math.isclose(float(sent[key]), value, rel_tol=1e-6), (step, name)
    assert (facts["name"], facts["group"]) == ("day/run", "")
    assert facts["config"]["seed"] in (0, "0")
    assert facts.get("state") in (None, 0, "FINISHED")
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
    lines = "".join(json.dumps({"step": n, "eval/reward": float(n)}) + "\n" for n in range(4))
    (folder / "metrics.jsonl").write_text(lines)
    logger = instantiate(entry, folder=str(folder), purge_step=4)
    for step in range(4, 8):
        logger.log(step, {"eval/reward": float(step)})
    logger.close()
    steps, _ = tracker.read(folder, known_as(folder, tracker.name))
    assert {step: [row["eval/reward"] for row in rows] for step, rows in steps.items()} == {
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
    facts = [
        tracker.read(folder / job, known_as(folder / job, tracker.name))[1] for job in ("0", "1")
    ]
    assert [run_facts["name"] for run_facts in facts] == ["sweep/0", "sweep/1"]
    assert [run_facts["group"] for run_facts in facts] == ["day/sweep"] * 2
    assert [str(run_facts["config"]["seed"]) for run_facts in facts] == ["0", "1"]
