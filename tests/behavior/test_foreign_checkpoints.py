"""Resuming with an untrusted checkpoint: one line of error, nothing run, nothing lost."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil

import pytest
import torch

STEP = "step_00000004"
NAMES = ("metrics.jsonl", "evaluations.jsonl", "transcripts.jsonl", "status.json")


class Hostile:
    """Calls `os.mkdir` as soon as it is unpickled."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return os.mkdir, (self.mark,)


@pytest.fixture
def folder(trained, tmp_path):
    """Return a copy of a finished run with its last checkpoint only."""
    shutil.copytree(trained[0], tmp_path / "run")
    for path in (tmp_path / "run" / "checkpoints").iterdir():
        if path.name != STEP:
            shutil.rmtree(path)
    return tmp_path / "run"


def put(folder, data, honest=True):
    """Replace the state, with a manifest that says so or not."""
    place = folder / "checkpoints" / STEP
    (place / "state.pt").write_bytes(data)
    if honest:
        manifest = json.loads((place / "manifest.json").read_text())
        digest = hashlib.sha256(data).hexdigest()
        manifest["files"] = {"state.pt": {"bytes": len(data), "sha256": digest}}
        (place / "manifest.json").write_text(json.dumps(manifest))


def saved(value, tmp_path):
    torch.save(value, tmp_path / "made.pt")
    return (tmp_path / "made.pt").read_bytes()


@pytest.fixture
def refused(run, small, folder):
    """Return a function that resumes the run, checks that nothing is lost and returns the error."""

    def resume() -> str:
        places = [folder / name for name in NAMES]
        places += [path for path in (folder / "checkpoints").rglob("*") if path.is_file()]
        before = {path: path.read_bytes() for path in places}
        outcome = run("train", *small, f"hydra.run.dir={folder}", "resume=true")
        assert outcome.code == 1
        assert {path: path.read_bytes() for path in places} == before
        output = outcome.message.strip().splitlines()
        assert output[-1].startswith("error: ")
        assert len(output) == 1 or all("passed over" in line for line in output[:-1])
        return output[-1]

    return resume


@pytest.mark.parametrize("form", ["torch", "torch without zip", "pickle"])
def test_a_pickled_object_is_not_called(refused, folder, tmp_path, form):
    state = {"step": 4, "learner": Hostile(tmp_path / "run-by-pickle"), "rules": {}}
    if form == "pickle":
        put(folder, pickle.dumps(state))
    else:
        path = tmp_path / "made.pt"
        torch.save(state, path, _use_new_zipfile_serialization=form == "torch")
        put(folder, path.read_bytes())
    assert "state.pt is not a state (UnpicklingError); take another one" in refused()
    assert not (tmp_path / "run-by-pickle").exists()


AGAIN = pytest.mark.slow
"""Mark of another wrong value that the same check refuses."""


@pytest.mark.parametrize(
    ("remaining", "honest"),
    [
        (0, True),
        (-100, True),
        (-100, False),
        pytest.param(100, True, marks=AGAIN),
        pytest.param(0, False, marks=AGAIN),
        pytest.param(100, False, marks=AGAIN),
    ],
)
def test_a_truncated_file_is_refused_and_no_row_is_dropped(refused, folder, remaining, honest):
    put(folder, (folder / "checkpoints" / STEP / "state.pt").read_bytes()[:remaining], honest)
    assert ("state.pt is not a state (" if honest else "no checkpoint in ") in refused()


def change(**values):
    return lambda state: {**state, **values}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda state: [state], "state.pt holds list, expected dict"),
        (lambda state: {}, "KeyError: 'step'"),
        (change(step=-7), "of step -7"),
        pytest.param(change(step=10**30), "of step 1000", marks=AGAIN),
        pytest.param(change(step="4"), "of step '4'", marks=AGAIN),
        (change(step=torch.tensor(4)), "of step tensor(4)"),
        pytest.param(change(learner=3), "has another form than this run", marks=AGAIN),
        pytest.param(change(learner={}), "has another form than this run", marks=AGAIN),
        (change(learner={"policies": {"solver_0": {}}}), "has another form than this run"),
        (change(callbacks=None), "has another form than this run"),
        (change(callbacks={"warnings": 3}), "has another form than this run"),
        (change(warnings=5), "has another form than this run"),
    ],
)
def test_a_state_of_another_shape_is_one_line(refused, folder, tmp_path, make, message):
    place = folder / "checkpoints" / STEP / "state.pt"
    state = torch.load(place, weights_only=True)
    put(folder, saved(make(state), tmp_path))
    assert message in refused()


def test_weights_of_another_shape_are_one_line(refused, folder, tmp_path):
    place = folder / "checkpoints" / STEP / "state.pt"

    def smaller(value):
        if isinstance(value, torch.Tensor):
            return value[..., :1].clone() if value.dim() > 1 else value
        if isinstance(value, dict):
            return {key: smaller(inner) for key, inner in value.items()}
        return [smaller(inner) for inner in value] if isinstance(value, list) else value

    put(folder, saved(smaller(torch.load(place, weights_only=True)), tmp_path))
    assert "has another form than this run (RuntimeError: " in refused()


def test_what_a_checkpoint_warns_of_is_shown_without_control_characters(
    run, small, folder, tmp_path
):
    place = folder / "checkpoints" / STEP / "state.pt"
    state = torch.load(place, weights_only=True)
    put(folder, saved({**state, "warnings": ["\x1b]0;owned\x07mind", 3]}, tmp_path))
    outcome = run("train", *small, f"hydra.run.dir={folder}", "resume=true")
    assert outcome.code == 0, outcome.err
    assert "\x1b" not in outcome.out + outcome.err and "mind" in outcome.out
    assert json.loads((folder / "status.json").read_text())["warnings"] == ["]0;ownedmind", "3"]
