"""Made-up runs, and a game that can be worked out on paper; see `tests/support`."""

import pytest
from made_runs import build_run  # noqa: F401
from relay_game import *  # noqa: F403


@pytest.fixture(scope="session", autouse=True)
def _quick(coarse_pictures: None) -> None:
    """Draw coarse pictures."""
