"""Restrictions that a Linux process puts on itself, permanently and without privileges.

System calls that reach other processes, start new ones or open sockets (seccomp), files outside
a list (Landlock), capabilities of root, and the usual resource limits. It needs neither bubblewrap
nor namespaces. `available` lists those that the kernel and processor support, and the sandbox
reports the others. Sources: the kernel's `seccomp_filter.rst` and `landlock.rst`.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys
from collections.abc import Mapping, Sequence

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 24, 36, 38
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8

_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None, use_errno=True) if _LINUX else None


def limit(limits: Mapping[str, float], memory_mb: float) -> None:
    """Set the resource limits of this process and its children; limits are never raised.

    Args:
        limits: `cpu_seconds`, `file_kb`, `processes`.
        memory_mb: address space.
    """
    cpu = max(1, int(-(-limits["cpu_seconds"] // 1)))
    amounts = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: cpu,
        resource.RLIMIT_FSIZE: int(limits["file_kb"] * 1024),
        resource.RLIMIT_NOFILE: 32,
        resource.RLIMIT_AS: int(memory_mb * 2**20),
        resource.RLIMIT_NPROC: int(limits["processes"]),
    }
    for which, amount in amounts.items():
        _, hard = resource.getrlimit(which)
        least = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        try:
            resource.setrlimit(which, (least, least))
        except (OSError, ValueError):
            # macOS refuses some, e.g. the address space.
            if _LINUX:
                raise


def tasks_of_user() -> int:
    """Count the threads of this user, all of which a limit on processes counts."""
    count = 0
    for name in os.listdir("/proc") if _LINUX else ():
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                count += os.stat(f"/proc/{name}/task").st_nlink - 2
        except OSError:
            continue
    return count


def adopt_orphans() -> None:
    """Become the parent of whatever descendants leave behind."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def close_to_others() -> None:
    """Keep other processes of this user from reading this one's memory, arguments and files."""
    _prctl(_PR_SET_DUMPABLE, 0)


def die_with_parent() -> None:
    """Ask to be killed when the parent is."""
    _prctl(_PR_SET_PDEATHSIG, 9)


def drop_capabilities() -> None:
    """Drop root's capabilities for programs that this process executes."""
    if _LINUX and os.geteuid() == 0:
        for capability in range(64):
            _prctl(_PR_CAPBSET_DROP, capability)


def allow_no_new_privileges() -> None:
    """Promise the kernel never to gain rights; seccomp and Landlock require it."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _prctl(option: int, value: int) -> None:
    if _LIBC is not None:
        _LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def landlock_version() -> int:
    """Return the version of Landlock in this kernel; 0 for none."""
    if _LIBC is None:
        return 0
    return max(0, int(_LIBC.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)))


def restrict_files(
    readable: Sequence[str], writable: Sequence[str], listed: Sequence[str] = ()
) -> None:
    """Restrict this process for good to these files, and to no TCP if the kernel supports it.

    Args:
        readable: folders and files to read and execute.
        writable: folders and files to do anything with.
        listed: folders whose names can be listed, with those of the folders within them.

    Raises:
        OSError: the kernel refused; the process must not go on.
    """
    version, libc = landlock_version(), _LIBC
    if libc is None or version == 0:
        return
    every = sum(1 << bit for bit in range(13))
    every |= sum(1 << bit for bit, since in ((13, 2), (14, 3), (15, 5)) if version >= since)
    # Files; then TCP to bind and to connect; then abstract sockets and signals.
    fields = (every, 3, 3)[: 1 if version < 4 else 2 if version < 6 else 3]
    ruleset = _checked(
        libc.syscall(
            _LANDLOCK_CREATE,
            struct.pack(f"={len(fields)}Q", *fields),
            ctypes.c_size_t(8 * len(fields)),
            0,
        )
    )
    granted = (
        (readable, _EXECUTE | _READ_FILE | _READ_DIR),
        (writable, every),
        (listed, _READ_DIR),
    )
    for paths, rights in granted:
        for path in filter(os.path.exists, paths):
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            if not os.path.isdir(path):
                rights_here = rights & (_EXECUTE | _WRITE_FILE | _READ_FILE)
            else:
                rights_here = rights
            rule = struct.pack("=Qi", rights_here, handle)
            _checked(libc.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0))
            os.close(handle)
    _checked(libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0))
    os.close(ruleset)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock refused")
    return result
