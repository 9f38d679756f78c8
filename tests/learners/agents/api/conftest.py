"""Retries of the openai package without its waits of half a second and more."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """Begin the library's doubling waits at 10 ms."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
