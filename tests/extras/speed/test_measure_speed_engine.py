"""An engine is timed on conversations of a training, with the update after them."""

from __future__ import annotations

import json

import pytest

from laconic.extras.speed.measure_speed import rates


def test_an_engine_is_timed_on_whole_groups_and_the_step_after_them(run, policy_folder, tmp_path):
    outcome = run(
        "measure_speed",
        f"agent.model={policy_folder}",
        "agent.sampling.max_reply_tokens=8",
        "env.tasks=8",
        # Four agents: 12 conversations are no whole groups of two episodes, 16 are.
        "measure.conversations=12",
        "train.group_size=2",
        "threads=1",
        f"hydra.run.dir={tmp_path}/run",
    )
    assert outcome.code == 0, outcome.err
    figures = json.loads((tmp_path / "run" / "speed.json").read_text())
    assert figures["conversations"] == 16
    assert figures["sampled_tokens_per_second"] == pytest.approx(
        figures["sampled_tokens"] / figures["rollout_seconds"]
    )
    assert figures["step_cpu_seconds"] > figures["rollout_cpu_seconds"] > 0
    assert "sampled tokens per cpu second" in outcome.out


def test_the_processor_time_of_a_foreign_server_is_left_out():
    measures = {"sampled_tokens": 30.0, "rollout_seconds": 6.0, "update_seconds": 2.0}
    measures["sync_seconds"] = 0.5
    # 30 / 6 and 6 + 2 + 0.5.
    assert rates(measures) == {"sampled_tokens_per_second": 5.0, "step_seconds": 8.5}
    measures |= {f"{part}_cpu_seconds": 1.0 for part in ("rollout", "update", "sync")}
    assert rates(measures)["sampled_tokens_per_cpu_second"] == 30.0
    assert rates(measures)["step_cpu_seconds"] == 3.0
