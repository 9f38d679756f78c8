"""Checks against vLLM itself, started by the engine: `make engine-test`."""

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
"""Arguments that keep prompts whole: vLLM 0.32 on a CPU cannot read seeded prompts in chunks."""


@pytest.fixture
def real(tmp_path: Path):
    """Return a function that starts a server for a team; it ends with the test."""
    engines = []

    def start(policies: dict[str, HFPolicy], **settings) -> VLLM:
        program = os.environ.get("LACONIC_VLLM")
        if not program:
            pytest.skip("LACONIC_VLLM names no vllm command")
        settings = {"start": True, "program": program, "arguments": ARGUMENTS, **settings}
        engines.append(VLLM(**settings))
        engines[-1].open(policies, tmp_path / "run")
        return engines[-1]

    yield start
    for engine in engines:
        engine.close()


def test_adapters_have_the_trainers_log_probabilities_before_and_after_updates(
    make_team, real, play_groups, nudge
):
    policies = make_team()
    engine = real(policies)
    for step in range(3):
        began = time.perf_counter()
        engine.sync()
        seconds = time.perf_counter() - began
        groups = play_groups(policies)
        worst = mismatch(groups, policies)
        print(f"version {step}: sync {seconds:.2f} s, largest mismatch {worst:.1e}")
        assert worst < 1e-4
        assert {turn.version for turn in turns(groups)} == {step}
        assert play_groups(policies) == groups
        nudge(policies, seed=step)


def test_adapters_are_loaded_and_probed_beside_replies_in_progress(
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
        # On a CPU, vLLM ends if it scores a prompt beside replies. The probe scores no prompts.
        playing.result()
    assert 0 in versions and engine.metrics()["restores"] == 0
    assert mismatch(play_groups(policies), policies) < 1e-4


def test_a_reloaded_whole_untied_model_has_the_trainers_log_probabilities(
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


def test_a_tied_output_head_that_was_not_reloaded_stops_the_run(make_team, real, nudge):
    policies = make_team("shared", tied=True)
    engine = real(policies)
    engine.sync()
    nudge(policies)
    with pytest.raises(ServerError, match="was loaded for solver_0"):
        engine.sync()
