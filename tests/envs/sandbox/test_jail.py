"""Commands that isolate an interpreter, and the files it sees inside."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from laconic.envs.sandbox import jail
from laconic.envs.sandbox.runtime import runtime


def test_the_interpreter_is_isolated_and_needs_nothing_but_the_libraries():
    command = jail.python()
    assert command[:4] == [jail.INTERPRETER, "-I", "-S", "-B"]
    assert os.path.isfile(jail.INTERPRETER)
    output = subprocess.run(
        [*command[:4], "-c", "import os, json; print(os.__file__)"],
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    file = output.stdout.strip()
    assert file in runtime().files


def test_readable_files_are_the_interpreters_alone():
    paths = jail.readable()
    assert all(map(os.path.exists, paths)) and jail.INTERPRETER in paths
    # The project, its packages and the user's files are no part of them.
    assert not {"/", "/usr/lib", os.path.expanduser("~"), runtime().folders[0]} & set(paths)
    assert not [path for path in paths if path.endswith(("site-packages", "dist-packages"))]


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")
def test_bubblewrap_is_asked_for_no_network_no_processes_and_no_rights(monkeypatch):
    monkeypatch.setattr(jail, "knows_size", lambda: True)
    command = jail.bubblewrap({"file_kb": 2}, "/tmp", filtered=True, in_memory=False)
    for option in ("--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent"):
        assert option in command
    assert command[command.index("--cap-drop") + 1] == "ALL"
    assert command[command.index("--size") + 1] == "2048"
    assert command[-2:] == ["--seccomp", str(jail.FILTER)]
    bound = [command[at + 1] for at, word in enumerate(command) if word == "--ro-bind"]
    assert set(bound) <= {*runtime().folders, *runtime().files} and "--bind" not in command
    monkeypatch.setattr(jail, "knows_size", lambda: False)
    command = jail.bubblewrap({"file_kb": 2}, "/tmp", filtered=False, in_memory=True)
    assert "--size" not in command and command.count("--ro-bind") == 1
