"""Small models for all tests of learners; see `tests/support/small_models.py`."""

from __future__ import annotations

import pytest
from small_models import *  # noqa: F403
from small_models import ARCHITECTURES, LIKE_OTHERS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `architecture` runs once for each."""
    if "architecture" in metafunc.fixturenames:
        slow = [pytest.param(name, marks=pytest.mark.slow) for name in LIKE_OTHERS]
        metafunc.parametrize(
            "architecture", [name for name in ARCHITECTURES if name not in LIKE_OTHERS] + slow
        )
