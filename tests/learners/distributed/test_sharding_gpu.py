"""Two GPUs, each with whole weights or with a part of them (FSDP2), take the step of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from places import ROOT

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs"),
]


@pytest.mark.parametrize("settings", ["gpus", "fsdp"])
def test_two_gpus_take_the_step_of_one(settings):
    file = ROOT / "experiments" / "launch" / f"{settings}.yaml"
    launch = [Path(sys.executable).with_name("accelerate"), "launch", "--config_file", file]
    # Port 0 takes one that is free.
    count = ["--num_processes", "2", "--main_process_port", "0"]
    script = ROOT / "tests" / "behavior" / "processes_parity.py"
    completed = subprocess.run(
        [*launch, *count, script, "--json", "gspo", "magrpo"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        timeout=600,
    )
    assert completed.returncode == 0, completed.stderr
    rows = [json.loads(line) for line in completed.stdout.splitlines() if line.startswith("{")]
    assert [row["learner"] for row in rows] == ["gspo", "magrpo"]
    for row in rows:
        assert (row["processes"], row["backend"].split(":")[-1]) == (2, "nccl")
        assert row["loss of all"] == pytest.approx(row["loss of one"], rel=0, abs=1e-5)
        assert row["gradients"] < 1e-4 < row["change"]
        assert row["weights"] < 1e-5
