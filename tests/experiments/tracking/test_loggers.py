from __future__ import annotations

import math

import pytest
from hydra import compose, initialize_config_dir
from places import CONF
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.summary.writer import event_file_writer

from laconic.experiments.tracking.loggers import Several, TensorBoard, open_loggers


@pytest.fixture
def scalars(tmp_path):
    def read(name):
        events = EventAccumulator(str(tmp_path)).Reload()
        return [(event.step, event.value) for event in events.Scalars(name)]

    return read


@pytest.fixture
def choose():
    def compose_logger(*overrides):
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return compose("train", overrides=list(overrides)).logger

    return compose_logger


class Recorder:
    def __init__(self):
        self.calls = []

    def log(self, step, metrics):
        self.calls.append((step, dict(metrics)))

    def close(self, state="finished"):
        self.calls.append(state)


def test_none_takes_everything_and_writes_nothing(tmp_path):
    for cfg in ({}, None):
        loggers = open_loggers(cfg, tmp_path)
        loggers.log(1, {"train/accuracy": 0.5})
        loggers.close()
    assert list(tmp_path.iterdir()) == []


def test_several_are_called_in_order_with_the_same():
    first, second = Recorder(), Recorder()
    both = Several([first, second])
    both.log(3, {"a": 1.0})
    both.close("interrupted")
    assert first.calls == second.calls == [(3, {"a": 1.0}), "interrupted"]


def test_events_are_in_the_file_before_the_logger_is_closed(tmp_path, scalars):
    logger = TensorBoard(tmp_path)
    logger.log(1, {"train/accuracy": 0.5, "train/loss": math.nan})
    assert scalars("train/accuracy") == [(1, 0.5)]
    assert math.isnan(scalars("train/loss")[0][1])
    logger.close()


def test_a_resumed_run_shows_no_step_twice(tmp_path, scalars, monkeypatch):
    # Files of one process and one second are told apart by a counter that does not sort past 9;
    # a resumed run is another process and a later second.
    counter = event_file_writer.AtomicCounter(0)
    monkeypatch.setattr(event_file_writer, "_global_uid", counter)
    logger = TensorBoard(tmp_path)
    for step in range(1, 6):
        logger.log(step, {"train/accuracy": float(step)})
    # Killed here, without closing; the checkpoint was of step 3.
    resumed = TensorBoard(tmp_path, purge_step=4)
    for step in range(4, 8):
        resumed.log(step, {"train/accuracy": float(step)})
    resumed.close()
    assert scalars("train/accuracy") == [(step, float(step)) for step in range(1, 8)]
    logger.close()


def test_the_config_group_builds_its_loggers(tmp_path, choose):
    assert open_loggers(choose("logger=none"), tmp_path).loggers == ()
    for choice in ("logger=tensorboard", "logger=[tensorboard,none]"):
        (logger,) = open_loggers(choose(choice), tmp_path, purge_step=2).loggers
        assert isinstance(logger, TensorBoard)
        logger.close()


def test_tensorboard_is_the_default(choose):
    assert list(choose()) == ["tensorboard"]
