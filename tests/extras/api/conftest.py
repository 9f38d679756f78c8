"""Small models, and retries of the openai package without its waits of half a second and more."""

from __future__ import annotations

import pytest
from small_models import *  # noqa: F403


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """Begin the library's doubling waits at 10 ms."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
