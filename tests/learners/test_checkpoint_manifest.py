"""The manifest of a checkpoint is compared with its files."""

from __future__ import annotations

import hashlib
import json
import os

import pytest

import laconic
from laconic.envs.errors import SettingError
from laconic.learners.checkpoint import _step_of, find_damage, latest, save


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
    assert _step_of(tmp_path / "step_00000012") == _step_of(tmp_path / "step_00000012.old") == 12
    assert _step_of(tmp_path / ".step_00000012.7.tmp") == _step_of(tmp_path / "step_12") == -1


def test_a_manifest_has_the_size_and_digest_of_each_file(tmp_path):
    path = save(tmp_path, 3, {})
    data = (path / "state.pt").read_bytes()
    assert json.loads((path / "manifest.json").read_text()) == {
        "version": laconic.__version__,
        "step": 3,
        "files": {
            "state.pt": {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()},
        },
    }


def _named(path, name, size=0):
    """Have the manifest of a checkpoint name another file of that size."""
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["files"][name] = {"bytes": size, "sha256": hashlib.sha256(b"").hexdigest()}
    (path / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("name", ["/dev/zero", "../../secret", "a/../../secret", "/etc/passwd"])
def test_a_manifest_that_names_a_file_elsewhere_is_damage(tmp_path, name):
    # The device has a size of 0, and would be read without end.
    path = save(tmp_path / "checkpoints", 1, {})
    (tmp_path / "secret").write_text("")
    _named(path, name)
    assert find_damage(path) == f"the manifest names {name!r}, which lies elsewhere"
    assert latest(tmp_path / "checkpoints") is None


def test_a_link_or_a_pipe_in_a_checkpoint_is_damage(tmp_path):
    path = save(tmp_path / "checkpoints", 1, {})
    for name, make, words in (
        ("state.pt", lambda path: path.symlink_to("/dev/zero"), "is a link to '/dev/zero'"),
        ("state.pt", os.mkfifo, "is no regular file"),
        ("manifest.json", os.mkfifo, "cannot be read (no regular file)"),
        ("manifest.json", lambda path: path.symlink_to("/dev/zero"), "a link is not followed"),
    ):
        whole = (path / name).read_bytes()
        (path / name).unlink()
        make(path / name)
        assert words in str(find_damage(path))
        (path / name).unlink()
        (path / name).write_bytes(whole)
        assert find_damage(path) is None


def test_checkpoints_are_not_written_through_a_link(tmp_path):
    (tmp_path / "precious" / "step_00000001").mkdir(parents=True)
    (tmp_path / "checkpoints").symlink_to(tmp_path / "precious")
    with pytest.raises(SettingError, match="not written through the link"):
        save(tmp_path / "checkpoints", 2, {}, keep=1)
    assert [path.name for path in (tmp_path / "precious").iterdir()] == ["step_00000001"]
