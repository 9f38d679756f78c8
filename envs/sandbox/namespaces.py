"""Mount namespaces: a root in memory for programs, made once and joined by every warden.

Whatever a program reads there is in memory already and is not marked as read, so that reading
leaves nothing that a later program could notice. It takes root, or user namespaces that an ordinary
user may make. Sources: `mount_namespaces(7)`, `user_namespaces(7)`, `tmpfs(5)`.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from collections.abc import Sequence

from laconic.envs.sandbox.runtime import Runtime

ROOT = "/sys"
"""Folder on which the root in memory is mounted, in the wardens' namespace alone. Every Linux has
it, and no interpreter is installed in it."""
NULL = "/dev/null"
KINDS = ("user", "mnt")
"""Kinds of the namespaces that a warden joins, in this order."""
_NEW_MOUNTS, _NEW_PROCESSES, _NEW_USER, _NEW_IPC = 0x20000, 0x20000000, 0x10000000, 0x08000000
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXECUTION, _NO_ACCESS_TIMES = 1, 2, 4, 8, 1024
_REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 32, 4096, 16384, 1 << 18
_CHILD_SIGNAL = int(signal.SIGCHLD)
_CLONE = {"x86_64": 56, "aarch64": 220}
"""Numbers of the call that forks, by processor."""
_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None, use_errno=True) if _LINUX else None
_PYTHON_LIBC = ctypes.PyDLL(None, use_errno=True) if _LINUX else None
"""The same library for calls during which Python's lock is held."""


def make_root(runtime: Runtime) -> None:
    """Move this process to a mount namespace of its own that has a root in memory.

    Args:
        runtime: the files that the root gets, beside an empty folder for programs to work in.

    Raises:
        OSError: the kernel does not allow it.
    """
    _enter_new_namespaces()
    _mount("none", "/", "", _RECURSIVE | _PRIVATE)
    flags = _NO_SETUID | _NO_DEVICES | _NO_ACCESS_TIMES
    _mount("tmpfs", ROOT, "tmpfs", flags, "mode=755")
    runtime.copy(ROOT)
    os.makedirs(ROOT + runtime.work)
    os.makedirs(ROOT + os.path.dirname(NULL), exist_ok=True)
    with open(ROOT + NULL, "w"):
        pass
    _mount(NULL, ROOT + NULL, "", _BIND)
    # An ordinary user has to keep the flags that the mount has.
    present = os.statvfs(NULL).f_flag & (flags | _NO_EXECUTION)
    _mount("", ROOT + NULL, "", _REMOUNT | _BIND | _READ_ONLY | present)
    _mount("", ROOT, "", _REMOUNT | _READ_ONLY | flags)


def _enter_new_namespaces() -> None:
    user, group = os.geteuid(), os.getegid()
    try:
        _unshare(_NEW_MOUNTS)
        return
    except PermissionError:
        _unshare(_NEW_USER | _NEW_MOUNTS)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def handles(pid: int) -> list[int]:
    """Open the namespaces of a process, which live as long as a handle of them is open."""
    return [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in KINDS]


def join(namespaces: Sequence[int]) -> None:
    """Move this process, which has a single thread, to the given namespaces.

    A process cannot join a namespace of users that it is in already, so this is left out.

    Raises:
        OSError: the kernel does not allow it.
    """
    for kind, handle in zip(KINDS, namespaces, strict=True):
        own = os.stat(f"/proc/self/ns/{kind}")
        if not os.path.samestat(own, os.fstat(handle)):
            _set_namespace(handle)


def fork_first_process() -> int:
    """Fork a process that is the first in a process namespace of its own.

    `os.fork` cannot make one without a process in between. The child has to execute a program soon,
    since Python does not learn that it was copied.

    Returns:
        0 in the child, and the child's number here.

    Raises:
        OSError: the kernel does not allow it.
    """
    if _PYTHON_LIBC is None or platform.machine() not in _CLONE:
        return os.fork()
    arguments = (_CLONE[platform.machine()], _NEW_PROCESSES | _CHILD_SIGNAL, 0, 0, 0, 0)
    child = int(_PYTHON_LIBC.syscall(*map(ctypes.c_ulong, arguments)))
    if child < 0:
        _checked("clone", child)
    return child


def enter_root(work: str, max_bytes: int, max_files: int) -> None:
    """Give this process the root in memory, and its own folder to work in.

    Args:
        work: work folder, which is mounted for this process only and vanishes with it.
        max_bytes: maximum size of all its files together, including deleted ones.
        max_files: maximum number of files and folders in it.

    Raises:
        OSError: the kernel refused; the process must not go on.
    """
    _unshare(_NEW_MOUNTS | _NEW_IPC)
    options = f"mode=700,size={max(1, max_bytes)},nr_inodes={max_files}"
    _mount("tmpfs", ROOT + work, "tmpfs", _NO_SETUID | _NO_DEVICES | _NO_ACCESS_TIMES, options)
    os.chroot(ROOT)
    os.chdir(work)


def _unshare(flags: int) -> None:
    _checked("unshare", None if _LIBC is None else _LIBC.unshare(flags))


def _set_namespace(handle: int) -> None:
    _checked("setns", None if _LIBC is None else _LIBC.setns(handle, 0))


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    words = (source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags))
    result = None if _LIBC is None else _LIBC.mount(*words, options.encode() or None)
    _checked(f"mount on {target}", result)


def _checked(what: str, result: int | None) -> None:
    if result is None:
        raise OSError("only Linux has namespaces")
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
