"""Threads of a program wait without spinning, unless the user chooses otherwise."""

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
"""Code that a user runs first: Python, the command, and `python -m`."""
PROGRAM = """
import os, subprocess, sys
TELL = "import os; print(os.environ.get('OMP_WAIT_POLICY'))"


def tell():
    subprocess.run([sys.executable, "-c", TELL], check=True)
    os._exit(0)


class BeforeTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            tell()


sys.meta_path.insert(0, BeforeTorch())
{0}
tell()
"""
"""Tells what a child would find, at the latest when torch, which reads it once, is imported."""


@pytest.mark.parametrize(
    ("first", "typed", "policy"),
    [*((first, None, "PASSIVE") for first in IMPORTS), (IMPORTS[1], "ACTIVE", "ACTIVE")],
)
def test_threads_wait_passively_here_and_in_children(first, typed, policy):
    environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
    environment |= {"PYTHONPATH": str(ROOT / "src")}
    environment |= {} if typed is None else {"OMP_WAIT_POLICY": typed}
    completed = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(first)],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert completed.stdout == f"{policy}\n"
