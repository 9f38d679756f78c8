"""A process moves to a root in memory, and to one of its own, and leaves others where they are."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import pytest

from laconic.envs.sandbox import namespaces, wardens
from laconic.envs.sandbox.runtime import runtime

SETUP = """
import errno, json, os
from laconic.envs.sandbox import namespaces
from laconic.envs.sandbox.runtime import runtime
from laconic.envs.sandbox.namespaces import ROOT

def outcome(call, *arguments):
    try:
        call(*arguments)
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]

def write(path, text):
    with open(path, "w") as file:
        file.write(text)
"""


@pytest.fixture
def run_alone():
    """Return a function that runs code in a process of its own and reads the JSON it prints."""
    if wardens.root() is None:
        pytest.skip("nothing can be mounted here")

    def run(code: str):
        # As a warden starts: a process with more than one thread cannot join namespaces.
        command = [sys.executable, "-I", "-S", "-c", wardens._START + SETUP + code]
        ran = subprocess.run(
            [*command, wardens._FOLDER], env={}, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    return run


def test_the_root_in_memory_holds_the_runtime_is_read_only_and_seen_by_its_maker_alone(run_alone):
    before = sorted(os.listdir(namespaces.ROOT))
    records = run_alone("""
namespaces.make_root(runtime())
print(json.dumps({
    "missing": [path for path in runtime().files if not os.path.exists(ROOT + path)],
    "work": os.listdir(ROOT + runtime().work),
    "null": outcome(open, ROOT + namespaces.NULL, "rb"),
    "written": outcome(write, ROOT + "/file", "text"),
    "passwords": os.path.exists(ROOT + "/etc/passwd"),
}))
""")
    assert records == {
        "missing": [],
        "work": [],
        "null": "done",
        "written": errno.errorcode[errno.EROFS],
        "passwords": False,
    }
    assert sorted(os.listdir(namespaces.ROOT)) == before


def test_a_process_that_enters_the_root_sees_it_alone_and_has_a_folder_with_limits(run_alone):
    # The folder holds one page and two entries, itself among them.
    records = run_alone("""
namespaces.make_root(runtime())
namespaces.enter_root(runtime().work, 4096, 2)
print(json.dumps({
    "folder": [os.getcwd(), os.listdir(".")],
    "source": os.path.exists(namespaces.__file__),
    "root": outcome(write, "/file", "text"),
    "page": outcome(write, "file", "x" * 4096),
    "next page": outcome(write, "file", "x" * 4097),
    "next file": outcome(write, "other", ""),
}))
""")
    full = errno.errorcode[errno.ENOSPC]
    assert records == {
        "folder": [runtime().work, []],
        "source": False,
        "root": errno.errorcode[errno.EROFS],
        "page": "done",
        "next page": full,
        "next file": full,
    }


def test_a_forked_first_process_has_number_one_and_its_parent_knows_another(run_alone):
    report = run_alone("""
namespaces.make_root(runtime())
reading, writing = os.pipe()
os.set_inheritable(writing, True)
child = namespaces.fork_first_process()
if child == 0:
    code = f"import os; os.write({writing}, str(os.getpid()).encode())"
    os.execv(sys.executable, [sys.executable, "-c", code])
ended, status = os.waitpid(child, 0)
print(json.dumps([int(os.read(reading, 9)), ended == child, status, child > 1]))
""")
    assert report == [1, True, 0, True]


def test_handles_are_those_of_the_namespaces_and_a_joined_process_is_in_them(run_alone):
    root = wardens.root()
    for kind, handle in zip(namespaces.KINDS, namespaces.handles(os.getpid()), strict=True):
        own = os.stat(f"/proc/self/ns/{kind}")
        assert os.path.samestat(own, os.fstat(handle))
        os.close(handle)
    # Reached by way of this process, whose handles they are.
    paths = [f"/proc/{os.getpid()}/fd/{handle}" for handle in root.handles]
    report = run_alone(f"""
handles = [os.open(path, os.O_RDONLY) for path in {paths}]
before = os.path.exists(ROOT + runtime().files[0])
namespaces.join(handles)
after = os.path.exists(ROOT + runtime().files[0])
# It is in them already, which is no error.
namespaces.join(namespaces.handles(os.getpid()))
print(json.dumps([before, after]))
""")
    assert report == [False, True]


def test_what_the_kernel_refuses_is_said_with_its_reason(tmp_path):
    # A file is no namespace.
    (tmp_path / "file").write_text("")
    handle = os.open(tmp_path / "file", os.O_RDONLY)
    with pytest.raises(OSError, match="setns: ") as raised:
        namespaces.join([handle, handle])
    os.close(handle)
    assert raised.value.errno == errno.EINVAL
