"""Tokens per second, and peak memory."""

from __future__ import annotations

import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import torch

from laconic.experiments.session import costs
from laconic.experiments.session.costs import (
    describe_forecast,
    forecast,
    now,
    peak_gigabytes,
    tokens_per_second,
)
from laconic.learners.episode import Episode, Group, Turn


def group(replies: int) -> Group:
    turn = Turn("a_0", 0, "hm", (1, 2, 3), (4, 5), (-0.1, -0.2))
    return Group("t", (Episode("t", (turn,) * replies, {}), Episode("t", (), {})))


def test_replies_are_sampled_and_whole_conversations_trained():
    # Four replies of two tokens after three that were read, in 2 and in 4 seconds.
    assert tokens_per_second([group(3), group(1)], 2.0, 4.0) == {
        "time/sampled_tokens_per_second": 8 / 2.0,
        "time/trained_tokens_per_second": 20 / 4.0,
    }


def test_replies_without_tokens_have_no_speed():
    assert tokens_per_second([group(0)], 1.0, 1.0) == {}


def test_peak_memory_is_in_gigabytes_and_never_falls():
    # A process with torch in it holds more than a hundredth of one, and less than any machine has.
    before = peak_gigabytes()
    assert 0.01 < before < 500
    held = b"x" * 30_000_000
    assert peak_gigabytes() >= before and len(held) == 30_000_000


def test_the_peak_of_a_parent_is_not_that_of_its_child():
    held = bytes(1_000_000_000).replace(b"\0", b"a")
    code = "from laconic.experiments.session.costs import peak_gigabytes; print(peak_gigabytes())"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.01 < float(child.stdout) < 0.9 and len(held) == 1_000_000_000


def test_the_clock_is_read_when_the_gpu_is_done(monkeypatch):
    calls = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: calls.append("gpu"))
    monkeypatch.setattr(time, "perf_counter", lambda: calls.append("clock") or 7.5)
    assert now() == 7.5 and calls == ["gpu", "clock"]


@pytest.mark.gpu
def test_work_that_is_still_under_way_on_a_gpu_is_waited_for_and_its_memory_counted():
    square = torch.rand(8192, 8192, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    for _ in range(20):
        square = square @ square
    ended = torch.cuda.Event()
    ended.record()
    now()
    assert ended.query()
    # Two squares of 8192 x 8192 float32 at a time.
    assert peak_gigabytes() >= 2 * 8192**2 * 4 / 1e9


def a_run(steps=45, tasks=500):
    train = SimpleNamespace(tasks_per_step=4, group_size=8, steps=steps)
    return SimpleNamespace(cfg=SimpleNamespace(train=train), starts=[None] * tasks, total=steps)


def test_a_forecast_counts_steps_and_both_evaluations():
    # A step has 32 episodes of 0.5 s, times 3: 48 s. An evaluation has 500: 250 s.
    # 45 steps and two evaluations: 45 * 48 + 2 * 250 = 2660 s.
    text = describe_forecast(a_run(), 0.5)
    assert "about 0:48 for a step of 4 tasks x 8 episodes" in text
    assert "4:10 for an evaluation of 500 tasks, and 44:20 in all" in text


def test_a_gpu_plays_a_batch_in_the_time_of_a_few_episodes():
    # A step of 32 episodes is one batch of 30 s, times 3; an evaluation of 500 is two.
    text = describe_forecast(a_run(), 30.0, together=256)
    assert "about 1:30 for a step of 4 tasks x 8 episodes" in text
    assert "1:00 for an evaluation of 500 tasks" in text


def test_large_models_alone_get_a_forecast(run, small, tmp_path, monkeypatch):
    quiet = run("train", *small, f"hydra.run.dir={tmp_path}/quiet", "train.steps=0")
    assert quiet.code == 0 and "for a step of" not in quiet.out
    # The model of the tests has about ten thousand parameters.
    monkeypatch.setattr(costs, "LARGE", 1000)
    told = run("train", *small, f"hydra.run.dir={tmp_path}/told", "train.steps=0")
    assert told.code == 0, told.err
    lines = told.out.splitlines()
    places = [
        next(place for place, line in enumerate(lines) if words in line)
        for words in ("for a step of 2 tasks x 2 episodes", "step 0/0")
    ]
    # It comes before the first evaluation ends.
    assert places == sorted(places)
    rows = [tmp_path / name / "evaluations.jsonl" for name in ("quiet", "told")]
    assert rows[0].read_bytes() == rows[1].read_bytes()


def test_several_processes_get_no_forecast():
    policies = {}
    several = SimpleNamespace(count=2)
    engine = SimpleNamespace(keeps_copies=False)
    assert forecast(SimpleNamespace(policies=policies, processes=several, engine=engine)) == ""
