"""Files of the interpreter are found, copied, and kept in memory."""

from __future__ import annotations

import os
import subprocess
import time

from laconic.envs.sandbox import runtime as module
from laconic.envs.sandbox.runtime import INTERPRETER, ResidentFiles, Runtime, runtime


def test_what_is_needed_is_the_interpreter_its_library_and_shared_libraries():
    needed = runtime()
    names = {os.path.basename(path) for path in needed.files}
    assert needed.files[0] == INTERPRETER and os.__file__ in needed.files
    assert any(name.startswith("libc.so") or name.startswith("ld-") for name in names)
    assert not [path for path in needed.files if "/site-packages/" in path or "/test/" in path]
    assert all(map(os.path.isfile, needed.files)) and all(map(os.path.islink, needed.links))


def test_work_is_done_where_no_file_of_the_interpreter_is():
    assert Runtime((), ("/usr/bin/python",), ()).work == "/tmp"
    assert Runtime((), ("/tmp/bin/python", "/usr/lib/x"), ()).work == "/var/tmp"
    assert Runtime((), ("/tmp/bin/python", "/var/tmp/x"), ()).work == "/laconic"
    assert Runtime((), ("/tmpfiles/python",), ()).work == "/tmp"


def test_a_copy_is_complete_and_its_compiled_modules_are_valid(tmp_path):
    runtime().copy(str(tmp_path))
    for path in runtime().files:
        copy, original = os.stat(f"{tmp_path}{path}"), os.stat(path)
        assert (copy.st_size, copy.st_mtime_ns) == (original.st_size, original.st_mtime_ns)
    command = [f"{tmp_path}{INTERPRETER}", "-I", "-S", "-v", "-c", "import json"]
    output = subprocess.run(command, env={}, capture_output=True, text=True, check=True).stderr
    assert f"code object from '{tmp_path}" in output and "bytecode is stale" not in output


def _files(folder) -> Runtime:
    paths = []
    for number in range(3):
        path = folder / str(number)
        path.write_bytes(b"x" * 10_000)
        os.utime(path, (1, 1))  # Last read and changed long ago.
        paths.append(str(path))
    return Runtime((str(folder),), (*paths, str(folder / "missing")), ())


def test_files_are_read_whenever_a_file_system_would_note_it(tmp_path, monkeypatch):
    files = _files(tmp_path)
    resident = ResidentFiles(files)
    resident.touch()
    # Whether reading was noted depends on how the disk is mounted; another read changes nothing.
    noted = [os.stat(path).st_atime_ns for path in files.files[:3]]
    for path in files.files[:3]:
        with open(path, "rb") as file:
            file.read()
    assert [os.stat(path).st_atime_ns for path in files.files[:3]] == noted
    before = resident._maps
    resident.touch()
    assert resident._maps is before and len(before) == 3
    tomorrow = time.time() + module._DAY
    monkeypatch.setattr(time, "time", lambda: tomorrow)
    resident.touch()
    assert resident._maps is not before and len(resident._maps) == 3
