"""Trackers without their libraries; `test_tracker_libraries.py` has the real ones."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hydra.errors import InstantiationException
from places import ROOT

from laconic.envs.errors import SettingError
from laconic.experiments.tracking.loggers import Several, TensorBoard, open_loggers
from laconic.experiments.tracking.trackers import MLflow, Tracker, Trackio, WandB, metric_name

LIBRARIES = ("wandb", "mlflow", "trackio")


class Kept(Tracker):
    """Keeps what it is sent; `json` stands for its library, which is always there."""

    choice = "json"

    def __init__(self, folder, purge_step=None, name=None, group=None, has=None):
        self.rows, self.known, self.ended, self.has = [], None, None, has
        super().__init__(folder, purge_step, name, group)

    def begin(self, module, known):
        assert module is json
        self.known = known
        return known or "one"

    def confirmed(self, sent):
        return sent if self.has is None else self.has

    def send(self, step, metrics):
        self.rows.append((step, dict(metrics)))

    def end(self, state):
        self.ended = state


def write_rows(folder, *rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "metrics.jsonl").write_text(text)


@pytest.mark.parametrize("kind", [WandB, MLflow, Trackio])
def test_a_missing_library_names_the_extra_that_brings_it(tmp_path, monkeypatch, kind):
    monkeypatch.setitem(sys.modules, kind.choice, None)
    with pytest.raises(SettingError, match=rf"pip install 'laconic-marl\[{kind.choice}\]'"):
        kind(tmp_path)


@pytest.mark.slow
def test_no_library_of_a_tracker_is_imported_unless_it_is_chosen(tmp_path):
    script = (
        "import sys, laconic.experiments.train, laconic.experiments.evaluate\n"
        "from laconic.experiments.tracking import trackers\n"
        "from laconic.experiments.tracking.loggers import open_loggers\n"
        "target = 'laconic.experiments.tracking.loggers.TensorBoard'\n"
        "open_loggers({'tensorboard': {'_target_': target}}, sys.argv[1]).close()\n"
        f"print(sorted(set({LIBRARIES}) & sys.modules.keys()))\n"
    )
    completed = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert completed.stdout == "[]\n"


def test_a_new_run_starts_afresh_and_a_resumed_one_continues_after_the_last_sent_step(tmp_path):
    first = Kept(tmp_path)
    for step in range(4):
        first.log(step, {"a": float(step)})
    # Killed here; the checkpoint was of step 1, and `metrics.jsonl` was rewound to it.
    write_rows(tmp_path, {"step": 0, "a": 0.0}, {"step": 1, "a": 1.0})
    resumed = Kept(tmp_path, purge_step=2)
    for step in range(2, 6):
        resumed.log(step, {"a": float(step)})
    assert (first.known, resumed.known) == (None, "one")
    assert resumed.rows == [(4, {"a": 4.0}), (5, {"a": 5.0})]
    assert Kept(tmp_path).known is None


def test_missed_steps_are_sent_from_the_run_folder(tmp_path):
    write_rows(tmp_path, {"step": 0, "a": 0.5}, {"step": 1, "a": None, "b": 2})
    # Chosen for the first time when the run is resumed: nothing is known of it.
    late = Kept(tmp_path, purge_step=2)
    # Null in the file is a number that is not finite; there is nothing to draw.
    assert late.rows == [(0, {"a": 0.5}), (1, {"b": 2})]
    late.log(2, {"a": 1.0})
    # It was handed step 2, and its own storage has step 0 only.
    write_rows(tmp_path, {"step": 0}, {"step": 1, "a": 1.5}, {"step": 2, "a": 1.0})
    assert [step for step, _ in Kept(tmp_path, purge_step=3, has=0).rows] == [1, 2]


def test_no_metric_of_mlflow_is_the_folder_of_another():
    assert metric_name("learner/clip_fraction") == "learner/clip_fraction"
    assert metric_name("learner/clip_fraction/9-32") == "learner/clip_fraction.9-32"
    assert metric_name("reward") == "reward"


def test_a_run_is_named_after_its_folder_and_carries_its_configuration(tmp_path):
    folder = tmp_path / "day" / "time"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("seed: 3\nenv: {price: 0.5}\n")
    tracker = Kept(folder)
    assert (tracker.name, tracker.group) == ("day/time", None)
    assert tracker.config() == {"seed": 3, "env": {"price": 0.5}}
    assert (Kept(folder, name="mine", group="ours").name, tracker.group) == ("mine", None)


def test_a_tracker_that_cannot_begin_says_which_and_why(tmp_path):
    class Refusing(Kept):
        def begin(self, module, known):
            raise ConnectionError("no such server")

    with pytest.raises(SettingError, match="logger=json cannot begin: no such server"):
        Refusing(tmp_path)


def test_a_failing_logger_gets_one_warning_and_the_others_continue():
    class Failing:
        calls = 0

        def log(self, step, metrics):
            self.calls += 1
            raise ConnectionError("gone")

        def close(self, state="finished"):
            raise AssertionError("left out by then")

    calls = []

    class Fine:
        def log(self, step, metrics):
            calls.append(step)

        def close(self, state="finished"):
            calls.append(state)

    failing = Failing()
    loggers = Several([failing, Fine()])
    (warning,) = loggers.log(1, {"a": 1.0})
    assert warning.startswith("Failing failed at step 1 and gets no more figures: ConnectionError")
    assert loggers.log(2, {"a": 1.0}) == [] and loggers.close("interrupted") == []
    assert (failing.calls, calls) == (1, [1, 2, "interrupted"])


def test_how_a_run_ended_reaches_every_logger(tmp_path):
    tracker = Kept(tmp_path)
    Several([tracker]).close("failed")
    assert tracker.ended == "failed"


def test_loggers_that_are_open_are_closed_when_a_later_one_refuses(tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr(TensorBoard, "close", lambda self, state: closed.append(state))
    good = {"_target_": "laconic.experiments.tracking.loggers.TensorBoard"}
    bad = {"_target_": "laconic.experiments.tracking.trackers.WandB", "nonsense": 1}
    with pytest.raises(InstantiationException, match="nonsense"):
        open_loggers({"good": good, "bad": bad}, tmp_path)
    assert closed == ["failed"]
