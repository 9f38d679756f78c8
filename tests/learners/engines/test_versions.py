"""Weights on disk are complete or absent, each version under a name that is never used again."""

from __future__ import annotations

import pytest

from laconic.learners.engines.versions import WeightVersions, fingerprint
from laconic.learners.errors import CheckpointError


def save(folder):
    (folder / "weights").write_text("some", "utf-8")


def test_a_version_has_a_fresh_name_and_folder(tmp_path):
    versions = WeightVersions(tmp_path, run_id="ab")
    versions.write(12, "solver_0", save)
    assert versions.name("solver_0", 12) == "ab/solver_0/v00012"
    assert (tmp_path / "ab/solver_0/v00012/weights").is_file()
    assert WeightVersions(tmp_path).run_id != WeightVersions(tmp_path).run_id


def test_an_agent_of_any_name_stays_in_the_folder(tmp_path):
    versions = WeightVersions(tmp_path / "engine", run_id="ab")
    versions.write(versions.next_version(), "../../a/b", save)
    name = "ab/%2E.%2F..%2Fa%2Fb/v00000"
    assert versions.name("../../a/b", 0) == name
    assert list(versions.on_disk(["../../a/b"])) == [name]
    assert [path.name for path in tmp_path.iterdir()] == ["engine"]
    assert versions.remove_old(["../../a/b"]) == [name]


def test_old_versions_are_removed_and_live_ones_stay(tmp_path):
    versions = WeightVersions(tmp_path, window=2)
    for _ in range(4):
        version = versions.next_version()
        for agent in ("a", "b"):
            versions.write(version, agent, save)
        versions.loaded.append(version)
        removed = versions.remove_old(["a", "b"])
    assert versions.live == [2, 3] and versions.newest == 3
    assert removed == [versions.name("a", 1), versions.name("b", 1)]
    folder = versions.path("a", 0).parent
    assert sorted(path.name for path in folder.iterdir()) == ["v00002", "v00003"]


def test_the_number_of_a_failed_sync_is_not_used_again(tmp_path):
    versions = WeightVersions(tmp_path)
    first = versions.next_version()
    assert versions.newest == -1 and versions.next_version() == first + 1


def test_an_incomplete_version_never_stands_in_its_place(tmp_path):
    versions = WeightVersions(tmp_path)

    def break_off(folder):
        save(folder)
        raise OSError(28, "No space left on device")

    with pytest.raises(CheckpointError, match="No space left"):
        versions.write(0, "a", break_off)
    assert list(versions.path("a", 0).parent.iterdir()) == []
    versions.clear()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sharing", ["lora", "shared"])
def test_a_fingerprint_changes_with_any_trained_weight(make_team, nudge, sharing):
    policies = make_team(sharing)
    before = fingerprint(policies["solver_0"])
    assert fingerprint(policies["solver_0"]) == before
    nudge(policies, 1e-6)
    assert fingerprint(policies["solver_0"]) != before
