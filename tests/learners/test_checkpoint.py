from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from places import ROOT

from laconic.envs.errors import SettingError
from laconic.learners.checkpoint import (
    latest,
    load,
    restoring,
    save,
    want_of_space,
)
from laconic.learners.errors import CheckpointError

ALONE = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}


@pytest.fixture
def state():
    return {"step": 3, "weights": {"a": torch.arange(6, dtype=torch.float32).reshape(2, 3)}}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(bytes(data))


def test_no_folder_and_an_empty_folder_have_no_latest(tmp_path):
    assert latest(tmp_path / "absent") is None
    assert latest(tmp_path) is None


def test_everything_comes_back_bit_for_bit(tmp_path):
    generator = random.Random(7)
    generator.gauss(0, 1)  # leaves a spare number in the state
    torch.manual_seed(5)
    weights = torch.randn(4, 3)
    parameter = torch.nn.Parameter(weights.clone())
    optimizer = torch.optim.AdamW([parameter], lr=0.1)
    parameter.sum().backward()
    optimizer.step()
    state = {
        "half": weights.to(torch.bfloat16),
        "special": torch.tensor([float("nan"), float("inf"), -0.0]),
        "empty": torch.empty(0, 2),
        "int": 2**70,
        "float": 0.1 + 0.2,
        "none": None,
        "flag": True,
        "text": "stille — 沉默",
        "python": generator.getstate(),
        "torch": torch.get_rng_state(),
        "optimizer": optimizer.state_dict(),
    }
    back = load(save(tmp_path, 1, state))
    assert back.keys() == state.keys()
    for name in ("half", "special", "empty", "torch"):
        assert back[name].dtype == state[name].dtype and back[name].shape == state[name].shape
        mine, its = back[name].view(torch.uint8), state[name].view(torch.uint8)
        assert torch.equal(mine, its)
    for name in ("int", "float", "none", "flag", "text", "python"):
        assert back[name] == state[name] and type(back[name]) is type(state[name])
    assert torch.equal(
        back["optimizer"]["state"][0]["exp_avg_sq"], state["optimizer"]["state"][0]["exp_avg_sq"]
    )
    assert back["optimizer"]["param_groups"] == state["optimizer"]["param_groups"]
    copy = random.Random()
    copy.setstate(back["python"])
    assert [copy.gauss(0, 1) for _ in range(5)] == [generator.gauss(0, 1) for _ in range(5)]


def test_only_the_newest_stay_and_nothing_hidden_is_left(tmp_path, state):
    for step in (1, 2, 10, 100_000_000):
        save(tmp_path, step, state, keep=2)
    assert names(tmp_path) == ["step_00000010", "step_100000000"]
    assert latest(tmp_path).name == "step_100000000"


def test_keeping_none_is_refused(tmp_path, state):
    with pytest.raises(SettingError, match="keep must be at least 1"):
        save(tmp_path, 1, state, keep=0)


def test_a_checkpoint_of_the_same_step_is_replaced(tmp_path, state):
    save(tmp_path, 3, state)
    save(tmp_path, 3, state | {"step": 4})
    assert names(tmp_path) == ["step_00000003"]
    assert load(latest(tmp_path))["step"] == 4


def test_a_replaced_checkpoint_is_found_when_the_replacing_was_killed(tmp_path, state):
    path = save(tmp_path, 3, state)
    path.rename(path.with_name("step_00000003.old"))
    assert load(latest(tmp_path))["step"] == 3
    save(tmp_path, 3, state | {"step": 4})
    assert names(tmp_path) == ["step_00000003"]
    assert load(latest(tmp_path))["step"] == 4


def test_checkpoints_of_later_steps_belong_to_a_course_that_was_left(tmp_path, state):
    for step in (5, 10):
        save(tmp_path, step, state)
    save(tmp_path, 7, state, keep=2)
    assert names(tmp_path) == ["step_00000005", "step_00000007"]


@pytest.mark.parametrize("place", [0, 100, -1])
def test_one_damaged_bit_is_noticed_and_the_one_before_is_taken(tmp_path, state, caplog, place):
    good, bad = save(tmp_path, 1, state), save(tmp_path, 2, state)
    flip(bad / "state.pt", place)
    with caplog.at_level(logging.WARNING):
        assert latest(tmp_path) == good
    assert "step_00000002 is damaged and passed over" in caplog.text
    with pytest.raises(CheckpointError, match="state.pt has changed"):
        load(bad)


@pytest.mark.parametrize("damage", ["cut", "no state", "no manifest", "bad manifest", "renamed"])
def test_a_checkpoint_that_is_not_whole_is_passed_over(tmp_path, state, damage):
    good, bad = save(tmp_path, 1, state), save(tmp_path, 2, state)
    if damage == "cut":
        os.truncate(bad / "state.pt", 100)
    elif damage == "no state":
        (bad / "state.pt").unlink()
    elif damage == "no manifest":
        (bad / "manifest.json").unlink()
    elif damage == "bad manifest":
        (bad / "manifest.json").write_text(json.dumps({"step": 2, "files": [1]}))
    else:
        bad.rename(tmp_path / "step_00000009")
    assert latest(tmp_path) == good


def test_what_could_not_be_loaded_again_is_refused_and_named(tmp_path, state):
    with pytest.raises(SettingError, match=r"state\['rows'\]\[1\]: .* got set"):
        save(tmp_path, 1, {"rows": [1, {2}]})
    assert names(tmp_path) == []


def test_a_write_that_fails_leaves_nothing_and_travels(tmp_path, state, monkeypatch):
    save(tmp_path, 1, state)
    monkeypatch.setattr(torch, "save", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(tmp_path, 2, state)
    assert names(tmp_path) == ["step_00000001"]


def test_leftovers_of_dead_processes_go_and_those_of_living_ones_stay(tmp_path, state):
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    for process in (child.pid, os.getpid(), os.getppid()):
        (tmp_path / f".step_00000001.{process}.tmp").mkdir()
    assert latest(tmp_path) is None
    save(tmp_path, 2, state)
    assert names(tmp_path) == [f".step_00000001.{os.getppid()}.tmp", "step_00000002"]


SAVING = """
import sys, torch
from pathlib import Path
from laconic.learners.checkpoint import latest, load, save
folder = Path(sys.argv[1])
found = latest(folder)
step = load(found)["step"] if found else 0
print("ready", flush=True)
while True:
    step += 1
    save(folder, step, {"step": step, "weights": torch.full((300_000,), float(step))})
"""


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_a_checkpoint_that_loads(tmp_path):
    generator = random.Random(0)
    count = 0
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", SAVING, str(tmp_path)], stdout=subprocess.PIPE, env=ALONE
        )
        assert child.stdout.readline() == b"ready\n"
        time.sleep(0.05 + generator.random() * 0.1)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        result = latest(tmp_path)
        if result is None:
            assert count == 0
            continue
        state = load(result)
        assert torch.equal(state["weights"], torch.full((300_000,), float(state["step"])))
        assert state["step"] >= count
        count = state["step"]
    assert count > 0


@contextmanager
def full_disk():
    """End files at 64 KiB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no file size limits here")
def test_a_write_that_the_system_refuses_keeps_the_earlier_checkpoint(tmp_path):
    save(tmp_path, 1, {"step": 1})
    with full_disk(), pytest.raises(CheckpointError) as raised:
        save(tmp_path, 2, {"step": 2, "weights": torch.zeros(100_000)}, keep=1)
    message = str(raised.value)
    # 100,000 float32 are 400,000 bytes.
    assert message.startswith(f"checkpoint of step 2 not written to {str(tmp_path)!r}: File too")
    assert "needs at least 400,000 bytes" in message and "resume=true" in message
    assert load(latest(tmp_path))["step"] == 1 and names(tmp_path) == ["step_00000001"]


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_keeps_the_earlier_checkpoint_and_says_what_to_do(small_disk, state):
    save(small_disk, 1, state)
    with pytest.raises(CheckpointError, match=r"No space left .*Free some space.*resume=true"):
        save(small_disk, 2, {"weights": torch.zeros(200_000)}, keep=1)
    assert names(small_disk) == ["step_00000001"]
    assert torch.equal(load(latest(small_disk))["weights"]["a"], state["weights"]["a"])


def test_a_folder_that_cannot_be_made_is_named(tmp_path, state):
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"file/inner.*hydra\.run\.dir"):
        save(tmp_path / "file" / "inner", 1, state)


def rewrite(path, content):
    """Another state.pt, with a manifest that agrees."""
    content(path / "state.pt")
    manifest = json.loads((path / "manifest.json").read_text())
    data = (path / "state.pt").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    manifest["files"]["state.pt"] = {"bytes": len(data), "sha256": digest}
    (path / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda file: torch.save([1, 2], file), "holds list, expected dict"),
        (lambda file: torch.save(torch.zeros(2), file), "holds Tensor, expected dict"),
        (lambda file: torch.save({"path": Path("x")}, file), "not a state .UnpicklingError"),
        (lambda file: file.write_bytes(b""), "not a state .EOFError"),
        (lambda file: file.write_bytes(b"no archive"), "not a state .UnpicklingError"),
        (lambda file: file.write_bytes(b"PK" + bytes(98)), "not a state .UnpicklingError"),
    ],
)
def test_a_state_of_another_form_is_refused_in_one_line(tmp_path, state, content, message):
    path = save(tmp_path, 1, state)
    rewrite(path, content)
    with pytest.raises(
        CheckpointError, match=f"step_00000001' cannot be read: .*{message}"
    ) as caught:
        load(path)
    assert len(str(caught.value).splitlines()) == 1


def wrong_shape():
    torch.nn.Linear(2, 1).load_state_dict({"weight": torch.zeros(3), "bias": torch.zeros(1)})


@pytest.mark.parametrize(
    "use",
    [
        lambda: {}["learner"],
        lambda: {}["learner"]["model"],
        lambda: "3" > 4,
        lambda: int("x"),
        lambda: (1).items(),
        wrong_shape,
    ],
)
def test_a_state_that_does_not_fit_names_the_version_that_wrote_it(tmp_path, state, use):
    path = save(tmp_path, 1, state)
    manifest = json.loads((path / "manifest.json").read_text())
    for version, writer in (("0.0.7", "laconic 0.0.7"), (None, "laconic before 0.2")):
        manifest.pop("version")
        (path / "manifest.json").write_text(
            json.dumps(manifest if version is None else manifest | {"version": version})
        )
        manifest["version"] = version
        with (
            pytest.raises(CheckpointError, match=f"another form .*{writer} wrote it") as caught,
            restoring(path),
        ):
            use()
        assert len(str(caught.value).splitlines()) == 1


def test_what_says_by_itself_what_is_wrong_is_said_as_it_is(tmp_path):
    with pytest.raises(SettingError, match="^train.steps"), restoring(tmp_path):
        raise SettingError("train.steps must be more")


@pytest.mark.parametrize(("coming", "at_once"), [(1, 1), (3, 3), (9, 3)])
def test_a_disk_too_small_for_what_lies_on_it_at_once_is_told(
    tmp_path, state, monkeypatch, coming, at_once
):
    free = 24 * at_once
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=free))
    assert want_of_space(tmp_path / "none" / "yet", state, coming) is None
    free -= 1
    warning = want_of_space(tmp_path, state, coming)
    assert f"need {24 * at_once} bytes" in warning and f"{free} are free" in warning


def test_more_is_kept_more_is_needed(tmp_path, state, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=24 * 5))
    assert want_of_space(tmp_path, state, coming=9, keep=4) is None
    assert "144 bytes" in want_of_space(tmp_path, state, coming=9, keep=5)
