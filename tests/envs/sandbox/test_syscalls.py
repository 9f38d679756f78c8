"""The filter, step by step on both processors, and what it keeps programs from marking."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sysconfig
from pathlib import Path

import pytest

from laconic.envs.sandbox import Limits, Program, run_at, syscalls

ALLOWED, REFUSED, KILLED = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
GET_FLAGS, SET_FLAGS = 0x80086601, 0x40086602


def decision(machine: str, number: int, *arguments: int, own_pid: int | None = 7) -> int:
    """What the filter says of a system call: its instructions, run one by one."""
    filled = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    seen = struct.pack("<IIQ6Q", number, ARCHITECTURES[machine], 0, *filled)
    program = list(struct.iter_unpack("HBBI", syscalls.refusals(machine, own_pid)))
    at = loaded = 0
    while True:
        code, if_true, if_false, value = program[at]
        if code == 0x06:
            return value
        at += 1
        if code == 0x20:
            loaded = struct.unpack_from("<I", seen, value)[0]
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}
            at += if_true if holds[code] else if_false


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
    ],
)
def test_calls_that_leave_a_mark_are_refused(name, x86_64, aarch64):
    assert decision("x86_64", x86_64) == REFUSED
    if aarch64 is not None:
        assert decision("aarch64", aarch64) == REFUSED


@pytest.mark.parametrize(("machine", "ioctl", "command"), [("x86_64", 16, 72), ("aarch64", 29, 25)])
def test_of_ioctl_and_fcntl_only_harmless_requests_are_left(machine, ioctl, command):
    for request in (0x5401, 0x541B, 0x5421, 0x5450, 0x5451):
        assert decision(machine, ioctl, 1, request) == ALLOWED
    # To set flags, project and version of a file, to clone it, to push input to a terminal.
    for request in (SET_FLAGS, 0x401C5820, 0x40087602, 0x40049409, 0x5412):
        assert decision(machine, ioctl, 1, request) == REFUSED
    for request in (0, 1, 2, 3, 4, 1030):
        assert decision(machine, command, 1, request) == ALLOWED
    for request in (8, 15, 1024, 1036, 1038):
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
def attempt(act):
    try:
        result = act()
        if result not in (None, -1, b""):
            done.append(repr(result))
        elif result is None:
            done.append("done")
    except Exception:
        pass
def mark(path):
    attempt(lambda: os.chmod(path, 0o666))
    attempt(lambda: os.chown(path, os.getuid(), os.getgid()))
    attempt(lambda: os.utime(path, (1, 1)))
    attempt(lambda: os.setxattr(path, "user.mark", b"1"))
    attempt(lambda: os.removexattr(path, "user.kept"))
    attempt(lambda: os.truncate(path, 0))
    try:
        number = os.open(path, os.O_RDONLY)
    except OSError:
        return
    attempt(lambda: os.fchmod(number, 0o666))
    attempt(lambda: os.utime(number))
    flags = ctypes.c_long(0x40)
    attempt(lambda: None if libc.ioctl(number, 0x40086602, ctypes.byref(flags)) == 0 else -1)
    hint = ctypes.c_uint64(2)
    attempt(lambda: None if libc.fcntl(number, 1036, ctypes.byref(hint)) == 0 else -1)
def f(paths):
    for path in paths:
        mark(path)
    return done
"""


def marks(path: str) -> tuple[object, ...]:
    """Everything about a file but its contents and when it was read last."""
    found = os.stat(path)
    kept = (found.st_mode, found.st_uid, found.st_gid, found.st_size)
    flags = bytearray(8)
    try:
        attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    except OSError:
        attributes = {}
    with open(path, "rb") as file:
        try:
            fcntl.ioctl(file, GET_FLAGS, flags)
        except OSError:
            pass
    # Every change of the rest sets the time of change.
    return *kept, found.st_mtime_ns, found.st_ctime_ns, attributes, bytes(flags)


@pytest.mark.skipif(not syscalls.machine(), reason="the filter does not know this processor")
def test_no_mark_outlasts_a_program_on_any_file(tmp_path: Path):
    victim = tmp_path / "victim.txt"
    victim.write_text("kept")
    library = str(Path(sysconfig.get_path("stdlib")) / "os.py")
    paths = [str(victim), library, os.devnull]
    before = [marks(path) for path in paths]
    program = Program(ATTACK, (f"assert f({paths!r}) == [], f({paths!r})",), ("f",))
    verdict = run_at("process", program, Limits(seconds=30, cpu_seconds=20))
    assert [marks(path) for path in paths] == before
    assert verdict.passed, verdict
    assert victim.read_text() == "kept"


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
