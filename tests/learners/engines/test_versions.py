"""Weights on disk: whole or not there, each version under a name that nothing else ever has."""

from __future__ import annotations

import pytest

from laconic.learners.engines.versions import Versions
from laconic.learners.errors import CheckpointError


def save(folder):
    (folder / "weights").write_text("some", "utf-8")


def test_a_version_has_a_name_and_a_folder_of_its_own(tmp_path):
    versions = Versions(tmp_path, life="ab")
    versions.write(12, "solver_0", save)
    assert versions.name("solver_0", 12) == "ab/solver_0/v00012"
    assert (tmp_path / "ab/solver_0/v00012/weights").is_file()
    assert Versions(tmp_path).life != Versions(tmp_path).life


def test_an_agent_of_any_name_stays_in_the_folder(tmp_path):
    versions = Versions(tmp_path / "engine", life="ab")
    versions.write(versions.take(), "../../a/b", save)
    assert versions.name("../../a/b", 0) == "ab/%2E.%2F..%2Fa%2Fb/v00000"
    assert versions.written(["../../a/b"]) == ["ab/%2E.%2F..%2Fa%2Fb/v00000"]
    assert [one.name for one in tmp_path.iterdir()] == ["engine"]
    assert versions.forget(["../../a/b"]) == ["ab/%2E.%2F..%2Fa%2Fb/v00000"]


def test_old_versions_go_and_the_window_stays(tmp_path):
    versions = Versions(tmp_path, kept=2)
    for _ in range(4):
        version = versions.take()
        for agent in ("a", "b"):
            versions.write(version, agent, save)
        versions.good.append(version)
        gone = versions.forget(["a", "b"])
    assert versions.window() == [2, 3] and versions.newest == 3
    assert gone == [versions.name("a", 1), versions.name("b", 1)]
    assert sorted(one.name for one in versions.place("a", 0).parent.iterdir()) == [
        "v00002",
        "v00003",
    ]


def test_a_number_whose_sync_failed_is_never_used_again(tmp_path):
    versions = Versions(tmp_path)
    first = versions.take()
    assert versions.newest == -1 and versions.take() == first + 1


def test_half_a_version_is_never_in_its_place(tmp_path):
    versions = Versions(tmp_path)

    def breaks(folder):
        save(folder)
        raise OSError(28, "No space left on device")

    with pytest.raises(CheckpointError, match="No space left"):
        versions.write(0, "a", breaks)
    assert list(versions.place("a", 0).parent.iterdir()) == []
    versions.clear()
    assert list(tmp_path.iterdir()) == []
