"""A package of a user's own for the tests of programs, settings and trust."""

from __future__ import annotations

import pytest

from laconic.experiments.command_line.programs import config_folders
from laconic.packages import registered


@pytest.fixture
def register(monkeypatch, tmp_path):
    """Install a package of a user's own that registers something."""

    def call(group, name, value, files=()):
        for path, text in dict(files).items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        info = tmp_path / "other-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
        monkeypatch.syspath_prepend(tmp_path)
        forget()

    yield call
    forget()


def forget():
    """Look for packages again."""
    config_folders.cache_clear()
    registered.cache_clear()
