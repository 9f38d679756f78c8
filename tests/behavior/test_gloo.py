"""Two real processes (gloo) take the step that one takes on the same groups."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).with_name("processes_parity.py")
METHODS = ("gspo", "magrpo")
"""One with a policy for all agents, and one with a policy for each, whose replies share rows."""

ALONE = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
FSDP = {
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_RESHARD_AFTER_FORWARD": "true",
    "FSDP_CPU_RAM_EFFICIENT_LOADING": "false",
}


@pytest.fixture(scope="module", params=["whole weights", "weights in parts"])
def compared(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    """Learner -> how far two processes were from one, as `processes_parity.py` says it.

    Those with weights in parts make log-probabilities from chunks of logits.
    """
    parts = request.param == "weights in parts"
    settings = ROOT / "experiments" / "launch" / "cpu.yaml"
    launch = [Path(sys.executable).with_name("accelerate"), "launch", "--config_file", settings]
    # Port 0 takes one that is free.
    count = ["--num_processes", "2", "--main_process_port", "0"]
    chunk = ["--chunk", "20000"] if parts else []
    completed = subprocess.run(
        [*launch, *count, SCRIPT, "--json", *chunk, *METHODS],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **(FSDP if parts else {}), **ALONE},
        timeout=300,
    )
    assert completed.returncode == 0, completed.stderr
    rows = [json.loads(line) for line in completed.stdout.splitlines() if line.startswith("{")]
    return {row["learner"]: row for row in rows}


@pytest.mark.parametrize("method", METHODS)
def test_two_processes_that_share_the_work_take_the_step_of_one(compared, method):
    row = compared[method]
    assert (row["processes"], row["backend"]) == (2, "gloo")
    # 3 groups of 4 episodes with 4 agents.
    assert row["sequences"] == 48
    assert row["loss of all"] == pytest.approx(row["loss of one"], rel=0, abs=1e-6)
    assert row["gradients"] < 1e-5
    # What could be far off is far above what may be off.
    assert row["change"] > 1e-4
    assert row["weights"] < 1e-6
