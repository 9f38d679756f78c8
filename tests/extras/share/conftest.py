"""Made-up runs and a stand-in for the hub; see `tests/support`."""

import pytest
from hub import hub  # noqa: F401
from made_runs import build_run  # noqa: F401


@pytest.fixture(scope="session", autouse=True)
def _quick(composed_once: None, coarse_pictures: None) -> None:
    """Compose a choice of configurations once, and draw coarse pictures."""
