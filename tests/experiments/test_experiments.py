"""Threads of a program wait for each other without spinning, unless the user wants them to."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from places import ROOT

IMPORTS = (
    "import laconic; laconic.compose",
    "import laconic.experiments.command_line.console",
    "import laconic.experiments.train",
)
"""What a user runs first: Python, the command, and `python -m`."""
CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', {0!r}], check=True)"
TELL = "import os; print(os.environ.get('OMP_WAIT_POLICY'))"


@pytest.mark.parametrize("first", IMPORTS)
@pytest.mark.parametrize(("typed", "policy"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_wait_passively_here_and_in_children(first, typed, policy):
    environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
    environment |= {"PYTHONPATH": str(ROOT / "src")}
    environment |= {} if typed is None else {"OMP_WAIT_POLICY": typed}
    code = f"{first}\n{CHILD.format(TELL)}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout == f"{policy}\n"
