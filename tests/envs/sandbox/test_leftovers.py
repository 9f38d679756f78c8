"""Folders of any shape are measured and removed."""

from __future__ import annotations

import os
from pathlib import Path

from laconic.envs.sandbox.leftovers import MAX_ENTRIES, remove, too_many_files


def test_an_empty_folder_is_not_crowded_and_goes(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    assert not too_many_files(str(folder), 0)
    remove(str(folder))
    assert list(tmp_path.iterdir()) == []


def test_size_and_number_of_files_make_a_folder_crowded(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_bytes(bytes(5000))
    assert too_many_files(str(tmp_path), 4000) and not too_many_files(str(tmp_path), 100_000)
    for number in range(MAX_ENTRIES):
        (tmp_path / str(number)).touch()
    assert too_many_files(str(tmp_path), 1e9)


def test_no_depth_no_right_and_no_link_keeps_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    kept = tmp_path / "kept"
    kept.write_text("kept")
    here = os.open(folder, os.O_RDONLY)
    for number in range(1500):  # Deeper than a path may be long, and than Python may call itself.
        os.mkdir("deep", dir_fd=here)
        inner = os.open("deep", os.O_RDONLY, dir_fd=here)
        if number % 100 == 0:
            os.symlink(kept, "link", dir_fd=inner)
            os.mkdir("shut", 0, dir_fd=inner)
            os.chmod("deep", 0, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    folder.chmod(0)
    remove(str(folder))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert kept.read_text() == "kept"
