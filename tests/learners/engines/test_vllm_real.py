"""The same against vLLM itself, started by the engine: `make engine-test`."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from engine_checks import mismatch, turns

from laconic.learners.agents.policy import HFPolicy
from laconic.learners.engines.vllm import VLLM
from laconic.learners.errors import ServerError

pytestmark = pytest.mark.engine

ARGUMENTS = ["--enforce-eager", "--max-num-batched-tokens", "32768"]
"""Prompts in one piece: with seeds, vLLM 0.32 on a processor cannot cut them."""


@pytest.fixture
def real(tmp_path: Path):
    """Starts a server for a team; ended with the test."""
    engines = []

    def start(policies: dict[str, HFPolicy], **settings) -> VLLM:
        program = os.environ.get("LACONIC_VLLM")
        if not program:
            pytest.skip("LACONIC_VLLM names no vllm command")
        given = {"start": True, "program": program, "arguments": ARGUMENTS, **settings}
        engines.append(VLLM(**given))
        engines[-1].open(policies, tmp_path / "run")
        return engines[-1]

    yield start
    for one in engines:
        one.close()


def test_adapters_speak_as_the_trainer_does_before_and_after_updates(
    make_team, real, play_groups, nudge
):
    policies = make_team()
    engine = real(policies)
    for step in range(3):
        began = time.perf_counter()
        engine.sync()
        taken = time.perf_counter() - began
        groups = play_groups(policies)
        worst = mismatch(groups, policies)
        print(f"version {step}: sync {taken:.2f} s, largest mismatch {worst:.1e}")
        assert worst < 1e-4
        assert {turn.version for turn in turns(groups)} == {step}
        assert play_groups(policies) == groups
        nudge(policies, seed=step)


def test_adapters_are_loaded_and_proved_while_replies_are_under_way(
    make_team, real, play_groups, nudge
):
    policies = make_team()
    engine = real(policies, max_staleness=1)
    engine.sync()
    versions: set[int | None] = set()
    over = threading.Event()

    def play_on():
        seed = 0
        while not over.is_set():
            versions.update(turn.version for turn in turns(play_groups(policies, seed=seed)))
            seed += 1

    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(play_on)
        for step in range(3):
            nudge(policies, seed=step)
            engine.sync()
        over.set()
        # vLLM on a processor ends where a prompt is scored beside replies; the probe does not.
        playing.result()
    assert 0 in versions and engine.metrics()["restores"] == 0
    assert mismatch(play_groups(policies), policies) < 1e-4


def test_a_whole_untied_model_is_reloaded_and_speaks_as_the_trainer_does(
    make_team, real, play_groups, nudge
):
    policies = make_team("shared")
    engine = real(policies)
    engine.sync()
    for step in range(2):
        nudge(policies, seed=step)
        engine.sync()
        worst = mismatch(play_groups(policies), policies)
        print(f"version {step + 1}: sync {engine.metrics()['sync_seconds']:.2f} s, {worst:.1e}")
        assert worst < 1e-4


def test_a_tied_head_that_was_not_reloaded_stops_the_run(make_team, real, nudge):
    policies = make_team("shared", tied=True)
    engine = real(policies)
    engine.sync()
    nudge(policies)
    with pytest.raises(ServerError, match="was loaded for solver_0"):
        engine.sync()
