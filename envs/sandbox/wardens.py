"""The caller's side: a warden per core (`envs.sandbox.warden`), started when first needed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from laconic.envs.sandbox.processes import HelperProcess, ProcessPool, cores

GRACE = 10.0
"""Seconds past a program's limit after which its warden is given up."""

_START = """\
import sys
for name in ("laconic", "laconic.envs", "laconic.envs.sandbox"):
    package = sys.modules[name] = type(sys)(name)
    package.__path__ = [sys.argv[1] + name[len("laconic"):].replace(".", "/")]
from laconic.envs.sandbox.warden import main
main()
"""
"""Imports the warden without the packages' own starts, which import much more."""


class WardenError(Exception):
    """A warden ended or did not answer."""


def start() -> HelperProcess:
    """Start a warden with nothing of the environment but where temporary files go."""
    folder = str(Path(__file__).resolve().parents[2])
    kept = {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}
    return HelperProcess([sys.executable, "-I", "-S", "-c", _START, folder], kept)


def grade(job: Mapping[str, Any]) -> dict[str, Any]:
    """Have a program graded, once a warden is free.

    Args:
        job: the fields of a `Program`, its `limits` and `level`.

    Raises:
        WardenError: no verdict came in time.
    """
    seconds = job["limits"]["seconds"] * job["limits"].get("times", 1.0) + GRACE
    try:
        with WARDENS.lend() as warden:
            return dict(json.loads(warden.ask(json.dumps(job), seconds)))
    except (OSError, ValueError) as error:
        raise WardenError(str(error)) from error


WARDENS = ProcessPool(start, cores())
"""The wardens of this program."""
