"""Files that others have written are read without following links, waiting, or running out."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.untrusted_files import (
    MAX_DEPTH,
    find_unsafe_path,
    open_regular,
    opened_folder,
    parse_json,
    read_text,
    read_yaml,
    write,
)


def _elsewhere(path):
    (path.parent / "elsewhere").write_text("secret: 1\n")
    path.symlink_to(path.parent / "elsewhere")


ENTRIES = {
    "a link to a file": _elsewhere,
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a pipe that nobody writes to": os.mkfifo,
    "a folder": os.mkdir,
    "nothing": lambda path: None,
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_only_a_regular_file_is_read(tmp_path, kind):
    path = tmp_path / "file.yaml"
    ENTRIES[kind](path)
    for read in (read_text, open_regular):
        with pytest.raises(OSError):
            read(path)
    with pytest.raises(SettingError, match=r"file\.yaml' cannot be read: "):
        read_yaml(path)


def test_a_file_is_read_up_to_its_limit_and_no_further(tmp_path):
    (tmp_path / "file").write_bytes(b"12345\xff")
    assert read_text(tmp_path / "file", 6) == "12345\ufffd"
    with pytest.raises(OSError, match="larger than 5 bytes"):
        read_text(tmp_path / "file", 5)
    # A sparse file of a terabyte takes no space, and its size is known without reading.
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(2**40)
    with pytest.raises(OSError, match="larger than"):
        open_regular(tmp_path / "sparse")


LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LAUGHS, "has an alias"),
        ("a: &a {b: 1}\nc: *a\n", "has an alias"),
        ("a: &a\n  b: *a\n", "has an alias"),
        ("<<: *a\n", "alias"),
        ("[" * 100_000, "is nested too deeply|is no yaml"),
        ("{a: " * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "nested too deeply"),
        ("\n".join(" " * n + "a:" for n in range(500)) + " 1", "nested too deeply"),
        ("a: \x00", "is no yaml"),
        ("!!python/object/apply:os.system [true]", "is no yaml"),
        ("a: b: c", "is no yaml"),
    ],
)
def test_yaml_that_would_not_end_or_is_none_is_refused_in_one_line(tmp_path, text, words):
    (tmp_path / "file.yaml").write_text(text)
    with pytest.raises(SettingError, match=words) as refused:
        read_yaml(tmp_path / "file.yaml")
    assert "\n" not in str(refused.value)


def test_yaml_is_read_with_its_references_as_they_are_written(tmp_path):
    (tmp_path / "file.yaml").write_text("a: ${oc.env:HOME}\nb: [1, 2.5e-3, null, 'x: y']\n")
    assert read_yaml(tmp_path / "file.yaml") == {
        "a": "${oc.env:HOME}",
        "b": [1, 0.0025, None, "x: y"],
    }


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
        "1" * 5000,
        "[",
        "",
    ],
)
def test_json_that_is_none_or_nested_without_end_is_one_kind_of_error(text):
    with pytest.raises(ValueError):
        parse_json(text)


def test_json_of_some_depth_is_read():
    text = '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH
    value, depth = parse_json(text), 0
    while isinstance(value, dict):
        value, depth = value["a"], depth + 1
    assert (value, depth) == (1, MAX_DEPTH)


def test_a_folder_that_leads_nowhere_else_has_nothing_strange(tmp_path):
    (tmp_path / "run" / "policy").mkdir(parents=True)
    (tmp_path / "run" / "policy" / "weights").write_text("x")
    # As trackers leave them: the newest run of several.
    (tmp_path / "run" / "latest").symlink_to("policy")
    (tmp_path / "run" / "first").symlink_to(tmp_path / "run" / "policy" / "weights")
    (tmp_path / "named").symlink_to(tmp_path / "run")
    assert find_unsafe_path(tmp_path / "run") is None
    assert find_unsafe_path(tmp_path / "named") is None
    assert find_unsafe_path(tmp_path / "missing") is None


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "/dev/zero", "/no/such", "../..", "..", "../../run-2"]
)
def test_a_link_that_leads_out_of_a_folder_is_named(tmp_path, target):
    # Its name begins like the folder's, and it lies beside it.
    (tmp_path / "run-2").mkdir()
    inner = tmp_path / "run" / "policy"
    inner.mkdir(parents=True)
    (inner / "entry").symlink_to(target)
    strange = find_unsafe_path(tmp_path / "run")
    assert strange is not None
    assert strange == f"'policy/entry' is a link to {os.path.realpath(inner / target)!r}"


def test_a_pipe_in_a_folder_is_named(tmp_path):
    os.mkfifo(tmp_path / "metrics.jsonl")
    assert find_unsafe_path(tmp_path) == "'metrics.jsonl' is no regular file"


def test_what_a_killed_process_left_is_swept_at_the_first_write(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    names = [f".status.json.{gone.pid}.tmp", f".probe.{gone.pid}.tmp"]
    kept = [f".status.json.{os.getppid()}.tmp", f"status.json.{gone.pid}.tmp", ".x.tmp"]
    for name in (*names, *kept):
        (tmp_path / name).touch()
    with opened_folder(tmp_path.parent, tmp_path.name) as folder:
        write(folder, "other.json", b"{}")
    assert {path.name for path in tmp_path.iterdir()} == {*kept, "other.json"}
