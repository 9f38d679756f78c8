from __future__ import annotations

import threading
import time

import pytest

from laconic.experiments.session import slow_parts
from laconic.experiments.session.slow_parts import report_if_slow


def test_what_takes_long_is_named_and_named_again(capsys, monkeypatch):
    monkeypatch.setattr(slow_parts, "EVERY_SECONDS", 0.05)
    with report_if_slow("making tasks", first=0.05):
        time.sleep(0.5)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2 and all(line.startswith("making tasks: ") for line in lines)


def test_of_what_is_soon_done_nothing_is_said(capsys):
    with pytest.raises(ValueError), report_if_slow("making tasks", first=0.2):
        raise ValueError
    time.sleep(0.4)
    assert capsys.readouterr().out == ""
    assert threading.active_count() < 20
