"""The seccomp filter, which refuses system calls of a program under test.

The filter lists refused calls, because the calls that Python needs vary between versions. It
refuses calls that reach or start another process (threads are allowed), open a socket, show the
page cache or free memory, or leave objects behind outside the file system. Marks on files and
locks, which right programs may use, do nothing and report success. The numbers are those of the
kernel's tables for x86-64 and arm64.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Mapping

_LOAD, _EQUAL, _AT_LEAST, _HAS_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_REFUSE, _SUCCEED = _ERRNO | errno.EPERM, _ERRNO
"""Returning an error; returning 0 instead of doing anything."""
_CLONE_THREAD = 0x10000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_FIRST_ARGUMENT = 16
"""Offset of the arguments in a filter's input; the number is at 0, the architecture at 4."""

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

# Name: number on x86-64, on arm64 (-1: there is none).
_REFUSED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "socket": (41, 198),
    "fork": (57, -1),
    "vfork": (58, -1),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "io_uring_setup": (425, 425),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Objects that outlast a process, its own and those of others.
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183),
    "mq_notify": (244, 184),
    "mq_getsetattr": (245, 185),
    "memfd_create": (319, 279),
    # Reading and changing the page cache, and the free memory of the machine.
    "fadvise64": (221, 223),
    "readahead": (187, 213),
    "mincore": (27, 232),
    "cachestat": (451, 451),
    "preadv2": (327, 286),
    "sync": (162, 81),
    "syncfs": (306, 267),
    "sync_file_range": (277, 84),
    "sysinfo": (99, 179),
    # What happens to files of others, and room on a disk beyond the limit on a file's size.
    "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "fallocate": (285, 47),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "open_tree_attr": (467, 467),
    "file_setattr": (469, 469),
}
# Refused if a program reads the interpreter's own files. Landlock covers `truncate` from its third
# version on; `getrusage` counts bytes read from disk.
_REFUSED_ON_DISK = {"truncate": (76, 45), "getrusage": (98, 165)}
# Calls that do nothing and say that they succeeded: marks that Landlock does not cover on files
# that the user owns, and locks, by which two programs could talk. Copying a file makes the former,
# opening a database the latter.
_WITHOUT_EFFECT = {
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, -1),
    "fchown": (93, 55),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "utime": (132, -1),
    "utimes": (235, -1),
    "futimesat": (261, -1),
    "utimensat": (280, 88),
    "flock": (73, 32),
}
_CLONE, _CLONE3, _PRLIMIT, _FCNTL, _PRCTL = (56, 220), (435, 435), (302, 261), (72, 25), (157, 167)
_IOCTL, _MADVISE = (16, 29), (28, 233)
_SIGNALS = {"kill": (62, 129), "tgkill": (234, 131)}
_OWN_LIMITS = 0
"""`prlimit` of process 0 means the caller."""
_FCNTL_REFUSED = (5, 8, 15, 36, 1024, 1026, 1036, 1038)
"""`fcntl` commands that ask for the owner of a lock, choose the receiver of a file's signals, take
a lease, watch a folder, or mark a file with a write hint."""
_FCNTL_WITHOUT_EFFECT = (6, 7, 37, 38)
"""`fcntl` commands that lock a part of a file."""
_MADVISE_ALLOWED = (0, 1, 2, 4, 8, 10, 11, 14, 15, 16, 17, 18, 19, 102, 103)
"""`madvise` hints that concern this process only: reading and freeing of memory, huge pages,
content of children and core files, guards. Others read or drop pages of files, or reveal whether
another process has memory of the same content."""
_IOCTL_ALLOWED = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""`ioctl` requests that only ask or concern the descriptor alone: TCGETS, TIOCGWINSZ, FIONREAD,
FIONBIO, FIONCLEX, FIOCLEX. Others set a file's flags, which stay."""
_FAMILY = (1, 36)
"""`prctl` options: the signal at the parent's death, and adopting orphans."""


def machine() -> str:
    """Return the processor if the filter knows its calls and the kernel has filters, or ""."""
    name = platform.machine()
    is_listed = sys.platform == "linux" and struct.calcsize("P") == 8 and name in _ARCHITECTURES
    return name if is_listed and _kernel_filters() else ""


def _kernel_filters() -> bool:
    """Return whether the kernel has filters: a null filter is then EFAULT, and otherwise EINVAL."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    return ctypes.get_errno() == errno.EFAULT


def refusals(machine: str, own_pid: int | None, *, on_disk: bool = True) -> bytes:
    """Return the filter as an array of BPF instructions; empty where the processor is not known.

    Args:
        machine: `x86_64` or `aarch64`.
        own_pid: the only process that may be sent signals; None where a process namespace sees to
            that.
        on_disk: whether the program can reach files on disk.
    """
    if machine not in _ARCHITECTURES:
        return b""
    architecture, column = _ARCHITECTURES[machine]
    program = [
        _step(_LOAD, 4),
        _step(_EQUAL, architecture, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, 0),
    ]
    if machine == "x86_64":  # The x32 calls, a second door to the same rooms.
        program += [_step(_AT_LEAST, 0x40000000, 0, 1), _step(_RETURN, _REFUSE)]
    refused = _REFUSED | (_REFUSED_ON_DISK if on_disk else {})
    for calls, action in ((refused, _REFUSE), (_WITHOUT_EFFECT, _SUCCEED)):
        for numbers in calls.values():
            if numbers[column] >= 0:
                program += [_step(_EQUAL, numbers[column], 0, 1), _step(_RETURN, action)]
    # glibc falls back to clone, whose flags a filter can see.
    missing = _step(_RETURN, _ERRNO | errno.ENOSYS)
    program += [_step(_EQUAL, _CLONE3[column], 0, 1), missing]
    program += _when(_CLONE[column], 0, {(_CLONE_THREAD,): _ALLOW}, _REFUSE, _HAS_BITS)
    program += _when(_PRLIMIT[column], 0, {(_OWN_LIMITS,): _ALLOW}, _REFUSE)
    locks = {_FCNTL_REFUSED: _REFUSE, _FCNTL_WITHOUT_EFFECT: _SUCCEED}
    program += _when(_FCNTL[column], 1, locks, _ALLOW)
    program += _when(_IOCTL[column], 1, {_IOCTL_ALLOWED: _ALLOW}, _REFUSE)
    program += _when(_MADVISE[column], 2, {_MADVISE_ALLOWED: _ALLOW}, _REFUSE)
    program += _when(_PRCTL[column], 0, {_FAMILY: _REFUSE}, _ALLOW)
    if own_pid is not None:
        for numbers in _SIGNALS.values():
            program += _when(numbers[column], 0, {(own_pid,): _ALLOW}, _REFUSE)
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def install(program: bytes) -> None:
    """Put this process under a filter, for good; nothing for an empty one.

    Raises:
        OSError: the kernel refused; the process must not go on.
    """
    if not program:
        return
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, header, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp refused")


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _when(
    number: int,
    argument: int,
    actions: Mapping[tuple[int, ...], int],
    otherwise: int,
    test: int = _EQUAL,
) -> list[bytes]:
    """Decide about a call by one argument: an action for some values, another otherwise."""
    steps = [_step(_LOAD, _FIRST_ARGUMENT + 8 * argument)]
    for values, action in actions.items():
        for value in values:
            steps += [_step(test, value, 0, 1), _step(_RETURN, action)]
    steps.append(_step(_RETURN, otherwise))
    return [_step(_EQUAL, number, 0, len(steps)), *steps]
