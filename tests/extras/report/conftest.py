"""A run to report on; see `tests/support/made_runs.py`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from made_runs import build_multirun, build_run, report, write_rows  # noqa: F401


@pytest.fixture(scope="session", autouse=True)
def _quick(composed_once: None, coarse_pictures: None) -> None:
    """Compose a choice of configurations once, and draw coarse pictures."""


@pytest.fixture
def run(tmp_path: Path, build_run: Callable[..., Path]) -> Path:  # noqa: F811
    return build_run(tmp_path / "run")
