"""Gymnasium's checker, its wrappers and its vector environments, on one agent's view."""

from __future__ import annotations

from typing import Any

import pytest

gymnasium = pytest.importorskip("gymnasium")

pytestmark = pytest.mark.judge
CLIENT = ("Gymnasium", "gymnasium")


def test_gymnasium_is_there(record: Any) -> None:
    record(face="DiscreteMessages signal", check="nothing yet", outcome="passes")
