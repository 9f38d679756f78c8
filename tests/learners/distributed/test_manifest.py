"""What a checkpoint says of itself is held against its files."""

from __future__ import annotations

import hashlib
import json

import pytest

from laconic.learners.checkpoint import latest, save
from laconic.learners.distributed.manifest import find_damage, step_of, version, write


def test_every_file_that_a_manifest_names_is_verified(tmp_path):
    path = save(tmp_path, 1, {})
    (path / "config.json").write_text("{}")
    manifest = json.loads((path / "manifest.json").read_text())
    # Of two bytes, with the digest of "{}".
    digest = hashlib.sha256(b"{}").hexdigest()
    manifest["files"]["config.json"] = {"bytes": 2, "sha256": digest}
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert find_damage(path) is None
    (path / "config.json").write_text("[]")
    assert find_damage(path) == "the content of config.json has changed"


@pytest.mark.parametrize(
    "manifest", ["[]", "5", "null", "{", "[" * 100_000, '{"step": 1, "files": {"a": 5}}', "{}"]
)
def test_a_manifest_of_another_form_is_damage(tmp_path, manifest):
    path = save(tmp_path, 1, {})
    (path / "a").touch()
    (path / "manifest.json").write_text(manifest)
    assert find_damage(path).startswith("manifest.json is not a manifest")
    assert latest(tmp_path) is None


def test_a_step_is_read_off_the_name(tmp_path):
    assert step_of(tmp_path / "step_00000012") == step_of(tmp_path / "step_00000012.old") == 12
    assert step_of(tmp_path / ".step_00000012.7.tmp") == step_of(tmp_path / "step_12") == -1


def test_what_is_written_says_size_and_digest_of_each_file_and_needs_all(tmp_path):
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "one").write_bytes(b"{}")
    write(tmp_path, 3, ["shards/one"])
    digest = hashlib.sha256(b"{}").hexdigest()
    assert json.loads((tmp_path / "manifest.json").read_text()) == {
        "version": version(),
        "step": 3,
        "files": {"shards/one": {"bytes": 2, "sha256": digest}},
    }
    with pytest.raises(FileNotFoundError):
        write(tmp_path, 3, ["shards/one", "shards/two"])
