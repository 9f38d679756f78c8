"""The commands that shut an interpreter in, and what it finds inside."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from laconic.envs.sandbox import jail


def test_the_interpreter_is_isolated_and_needs_nothing_but_the_libraries():
    command = jail.python()
    assert command[:4] == [jail.INTERPRETER, "-I", "-S", "-B"]
    assert os.path.isfile(jail.INTERPRETER)
    said = subprocess.run(
        [*command[:4], "-c", "import os, json; print(os.__file__)"],
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    file = said.stdout.strip()
    assert any(file.startswith(folder + "/") for folder in jail.libraries())


def test_libraries_exist_and_no_one_lies_in_another():
    found = jail.libraries()
    assert all(map(os.path.exists, found))
    assert not [a for a in found for b in found if a != b and a.startswith(b + "/")]
    # The project, its packages and the user's files are no part of them by themselves.
    assert os.path.expanduser("~") not in found and "/" not in found


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")
def test_bubblewrap_is_asked_for_no_network_no_processes_and_no_rights(monkeypatch):
    monkeypatch.setattr(jail, "_knows_size", lambda: True)
    command = jail.bubblewrap({"file_kb": 2}, filtered=True)
    for option in ("--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent"):
        assert option in command
    assert command[command.index("--cap-drop") + 1] == "ALL"
    assert command[command.index("--size") + 1] == "2048"
    assert command[-2:] == ["--seccomp", str(jail.FILTER)]
    bound = [command[at + 1] for at, word in enumerate(command) if word == "--ro-bind"]
    assert set(bound) <= set(jail.libraries()) and "--bind" not in command
    monkeypatch.setattr(jail, "_knows_size", lambda: False)
    assert "--size" not in jail.bubblewrap({"file_kb": 2}, filtered=False)
