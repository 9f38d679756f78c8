"""The filter, step by step for both processors, and marks that it prevents."""

from __future__ import annotations

import errno
import json
import os
import struct
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from marks import SET_FLAGS, copies, marks

from laconic.envs import sandbox
from laconic.envs.sandbox import Limits, Program, jail, run_at, syscalls
from laconic.envs.sandbox.interpreters import Workspace, start_program

ALLOWED, REFUSED, KILLED = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
SUCCEEDS = 0x00050000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def decision(
    machine: str, number: int, *arguments: int, own_pid: int | None = 7, on_disk: bool = True
) -> int:
    """Return the filter's verdict on a system call, by running its instructions one by one."""
    filled = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<IIQ6Q", number, ARCHITECTURES[machine], 0, *filled)
    instructions = syscalls.refusals(machine, own_pid, on_disk=on_disk)
    program = list(struct.iter_unpack("HBBI", instructions))
    at = loaded = 0
    while True:
        code, if_true, if_false, value = program[at]
        if code == 0x06:
            return value
        at += 1
        if code == 0x20:
            loaded = struct.unpack_from("<I", data, value)[0]
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}
            at += if_true if holds[code] else if_false


@pytest.mark.parametrize(
    ("name", "x86_64", "aarch64"),
    [
        ("setxattr", 188, 5),
        ("lsetxattr", 189, 6),
        ("fsetxattr", 190, 7),
        ("setxattrat", 463, 463),
        ("removexattr", 197, 14),
        ("lremovexattr", 198, 15),
        ("fremovexattr", 199, 16),
        ("removexattrat", 466, 466),
        ("file_setattr", 469, 469),
        ("truncate", 76, 45),
        ("socket", 41, 198),
        ("ptrace", 101, 117),
        ("shmat", 30, 196),
        ("shmctl", 31, 195),
        ("shmdt", 67, 197),
        ("semop", 65, 193),
        ("semtimedop", 220, 192),
        ("semctl", 66, 191),
        ("msgsnd", 69, 189),
        ("msgrcv", 70, 188),
        ("msgctl", 71, 187),
        ("mq_unlink", 241, 181),
        ("fadvise64", 221, 223),
        ("readahead", 187, 213),
        ("mincore", 27, 232),
        ("cachestat", 451, 451),
        ("preadv2", 327, 286),
        ("getrusage", 98, 165),
        ("inotify_init", 253, None),
        ("inotify_init1", 294, 26),
        ("fanotify_init", 300, 262),
        ("fallocate", 285, 47),
    ],
)
def test_calls_that_reach_others_or_leave_something_are_refused(name, x86_64, aarch64):
    assert decision("x86_64", x86_64) == REFUSED
    if aarch64 is not None:
        assert decision("aarch64", aarch64) == REFUSED


@pytest.mark.parametrize(
    ("name", "x86_64", "aarch64"),
    [
        ("chmod", 90, None),
        ("fchmod", 91, 52),
        ("fchmodat", 268, 53),
        ("fchmodat2", 452, 452),
        ("chown", 92, None),
        ("fchown", 93, 55),
        ("lchown", 94, None),
        ("fchownat", 260, 54),
        ("utime", 132, None),
        ("utimes", 235, None),
        ("futimesat", 261, None),
        ("utimensat", 280, 88),
        ("flock", 73, 32),
    ],
)
def test_marks_and_locks_succeed_without_being_made(name, x86_64, aarch64):
    assert decision("x86_64", x86_64) == SUCCEEDS
    if aarch64 is not None:
        assert decision("aarch64", aarch64) == SUCCEEDS


def test_files_in_memory_may_be_cut_and_reads_of_them_counted():
    for machine, truncate, getrusage in (("x86_64", 76, 98), ("aarch64", 45, 165)):
        assert decision(machine, truncate, on_disk=False) == ALLOWED
        assert decision(machine, getrusage, on_disk=False) == ALLOWED


@pytest.mark.parametrize(("machine", "madvise"), [("x86_64", 28), ("aarch64", 233)])
def test_hints_about_memory_concern_the_process_alone(machine, madvise):
    for hint in (0, 1, 2, 4, 8, 14, 15):
        assert decision(machine, madvise, 0, 4096, hint) == ALLOWED
    # To read ahead, to compare with memory of others, to drop or fill the page cache.
    for hint in (3, 9, 12, 20, 21, 22, 23, 25, 100, 101):
        assert decision(machine, madvise, 0, 4096, hint) == REFUSED


@pytest.mark.parametrize(("machine", "ioctl", "command"), [("x86_64", 16, 72), ("aarch64", 29, 25)])
def test_of_ioctl_and_fcntl_only_harmless_requests_are_left(machine, ioctl, command):
    for request in (0x5401, 0x541B, 0x5421, 0x5450, 0x5451):
        assert decision(machine, ioctl, 1, request) == ALLOWED
    # To set flags, project and version of a file, to clone it, to push input to a terminal.
    for request in (SET_FLAGS, 0x401C5820, 0x40087602, 0x40049409, 0x5412):
        assert decision(machine, ioctl, 1, request) == REFUSED
    for request in (0, 1, 2, 3, 4, 1030):
        assert decision(machine, command, 1, request) == ALLOWED
    for request in (6, 7, 37, 38):  # Locks, by which two programs could talk.
        assert decision(machine, command, 1, request) == SUCCEEDS
    for request in (5, 8, 15, 36, 1024, 1026, 1036, 1038):
        assert decision(machine, command, 1, request) == REFUSED


def test_reading_writing_threads_and_the_own_process_are_left():
    for machine, read, clone, kill in (("x86_64", 0, 56, 62), ("aarch64", 63, 220, 129)):
        assert decision(machine, read) == ALLOWED
        assert decision(machine, clone, 0x10000) == ALLOWED
        assert decision(machine, clone, 0) == REFUSED
        assert decision(machine, kill, 7) == ALLOWED
        assert decision(machine, kill, 8) == REFUSED
        assert decision(machine, kill, 8, own_pid=None) == ALLOWED
    assert decision("x86_64", 0x40000000 + 90) == REFUSED
    assert syscalls.refusals("riscv64", None) == b""


def test_another_architecture_is_killed():
    program = syscalls.refusals("x86_64", None)
    steps = list(struct.iter_unpack("HBBI", program))
    assert steps[:3] == [(0x20, 0, 0, 4), (0x15, 1, 0, 0xC000003E), (0x06, 0, 0, KILLED)]


ATTACK = """
import os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
done = []
def attempt(name, act):
    try:
        result = act()
    except Exception:
        return
    if result not in (-1, b""):
        done.append(name)
def mark(path):
    attempt("chmod", lambda: os.chmod(path, 0o640))
    attempt("chown", lambda: os.chown(path, os.getuid(), os.getgid()))
    attempt("utime", lambda: os.utime(path, (1, 1)))
    attempt("setxattr", lambda: os.setxattr(path, "user.mark", b"1"))
    attempt("removexattr", lambda: os.removexattr(path, "user.kept"))
    attempt("truncate", lambda: os.truncate(path, 0))
    try:
        number = os.open(path, os.O_RDONLY)
    except OSError:
        return
    attempt("fchmod", lambda: os.fchmod(number, 0o604))
    attempt("futime", lambda: os.utime(number))
    flags = ctypes.c_long(0x40)
    attempt("flags", lambda: libc.ioctl(number, 0x40086602, ctypes.byref(flags)))
    hint = ctypes.c_uint64(2)
    attempt("hint", lambda: libc.fcntl(number, 1036, ctypes.byref(hint)))
def f(paths):
    for path in paths:
        mark(path)
    return done
"""
WITHOUT_EFFECT = {"chmod", "chown", "utime", "fchmod", "futime"}
"""Attempts that raise nothing, though nothing comes of them."""
SHUT_IN = ATTACK + "\nimport json, sys\nos.write(4, json.dumps(f(sys.argv[1:])).encode())\n"


def attack_as_a_program(paths: list[Path], folder: Path, patch: pytest.MonkeyPatch) -> list[str]:
    """Return the result of an attack, run as a program without bubblewrap.

    It may read the files, as it may read the interpreter's own; so they can be copies.
    """
    readable, names = [*jail.readable(), str(paths[0].parent)], [str(path) for path in paths]
    patch.setattr(jail, "readable", lambda: readable)
    command = [jail.INTERPRETER, "-I", "-S", "-B", "-c", SHUT_IN, *names]
    patch.setattr(jail, "python", lambda: command)
    (requests, asks), (answers, answered) = os.pipe(), os.pipe()
    limits = asdict(Limits(seconds=30, cpu_seconds=20, processes=10_000))
    job = {"level": "process", "limits": limits}
    place = Workspace(False, "", None)
    child = start_program(job, place, str(folder), requests=requests, replies=answered)
    for end in (requests, asks, answered):
        os.close(end)
    with open(answers, "rb") as file:
        output = file.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return json.loads(output)


@pytest.mark.skipif(not syscalls.machine(), reason="the filter does not know this processor")
def test_no_mark_outlasts_a_program_on_any_file_that_it_can_read(tmp_path, monkeypatch):
    paths, own = copies(tmp_path / "copies"), tmp_path / "own"
    own.mkdir()
    before = [marks(path) for path in paths]
    completed = attack_as_a_program(paths, own, monkeypatch)
    assert [marks(path) for path in paths] == before
    assert set(completed) <= WITHOUT_EFFECT
    assert paths[0].read_text() == "kept"


def test_the_attack_does_mark_files_where_nothing_is_refused(tmp_path):
    paths = copies(tmp_path / "copies")
    before = [marks(path) for path in paths]
    names: dict[str, Any] = {}
    exec(ATTACK, names)
    assert {"chmod", "chown", "utime", "truncate", "fchmod", "futime"} <= set(
        names["f"](list(map(str, paths)))
    )
    assert all(marks(path) != mark for path, mark in zip(paths, before, strict=True))


@pytest.mark.parametrize("level", ["bubblewrap", "process"])
def test_no_mark_outlasts_a_program_on_a_file_outside(tmp_path, level):
    if level == "bubblewrap" and sandbox.level() != "bubblewrap":
        pytest.skip("there is no bubblewrap here")
    if level == "process" and not syscalls.machine():
        pytest.skip("the filter does not know this processor")
    paths = copies(tmp_path / "copies")
    before = [marks(path) for path in paths]
    test = f"assert set(f({list(map(str, paths))!r})) <= {WITHOUT_EFFECT!r}"
    verdict = run_at(level, Program(ATTACK, (test,), ("f",)), Limits(seconds=30, cpu_seconds=20))
    assert [marks(path) for path in paths] == before
    assert verdict.passed, verdict


def test_programs_that_use_files_of_their_own_still_pass():
    code = """
import tempfile, os, json
def f(value):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = os.path.join(folder, "value.json")
        with open(path, "w") as file:
            json.dump(value, file)
        with open(path, "r+") as file:
            found = json.load(file)
            file.truncate(0)
        return found, os.path.getsize(path), os.isatty(0)
"""
    program = Program(code, ("assert f([1]) == ([1], 0, False)",), ("f",))
    verdict = run_at("process", program, Limits(seconds=30, cpu_seconds=20))
    assert verdict.passed, verdict
