"""Access of a program to the machine, to other programs and to its own folder."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from laconic.envs import sandbox
from laconic.envs.sandbox import Limits, Program, Verdict, run_at, syscalls, wardens
from laconic.envs.sandbox.runtime import runtime
from laconic.envs.sandbox.wardens import WARDENS

LIMITS = Limits(seconds=60, cpu_seconds=20, idle_seconds=30)
LIBC = ctypes.CDLL(None, use_errno=True)
CREATE, REMOVE, PRIVATE = 0o1600, 0, 0
filtered = pytest.mark.skipif(
    not syscalls.machine(), reason="the filter does not know this machine"
)


def graded(level: str, code: str, test: str, limits: Limits = LIMITS) -> Verdict:
    return run_at(level, Program(code, (test,), ("f",)), limits)


@pytest.fixture
def queue():
    """Yield a message queue of this user with one message in it."""
    number = LIBC.msgget(PRIVATE, CREATE)
    message = ctypes.create_string_buffer(b"\x01" + b"\0" * 7 + b"right")
    assert LIBC.msgsnd(number, message, 5, 0) == 0
    yield number
    LIBC.msgctl(number, REMOVE, None)


@pytest.fixture
def memory():
    """Yield shared memory of this user."""
    number = LIBC.shmget(PRIVATE, ctypes.c_size_t(4096), CREATE)
    assert number >= 0
    yield number
    LIBC.shmctl(number, REMOVE, None)


TAKES = """
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_long
def f(queue, memory):
    taken = []
    if libc.msgrcv(queue, ctypes.create_string_buffer(64), 5, 0, 0o4000) >= 0:
        taken.append("message")
    if libc.shmat(memory, None, 0) != -1:
        taken.append("memory")
    if libc.msgctl(queue, 0, None) == 0 or libc.shmctl(memory, 0, None) == 0:
        taken.append("removed")
    return taken
"""


@filtered
def test_shared_memory_and_messages_of_others_are_out_of_reach(any_level, queue, memory):
    verdict = graded(any_level, TAKES, f"assert f({queue}, {memory}) == [], f({queue}, {memory})")
    assert verdict.passed, verdict
    received = ctypes.create_string_buffer(64)
    assert LIBC.msgrcv(queue, received, 5, 0, 0o4000) == 5 and received.raw[8:13] == b"right"


@pytest.mark.parametrize("level", ["bubblewrap", "process"])
def test_process_numbers_begin_anew_for_every_program(level):
    if level == "bubblewrap" and sandbox.level() != "bubblewrap":
        pytest.skip("there is no bubblewrap here")
    if wardens.root() is None:
        pytest.skip("nothing can be mounted here")
    code = """
import os, threading
def f():
    numbers = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: numbers.append(threading.get_native_id()))
        thread.start()
        thread.join()
    return os.getpid(), numbers
"""
    # Inside bubblewrap its own process is the first one.
    first = 2 if level == "bubblewrap" else 1
    expected = (first, [first + 1, first + 2, first + 3])
    verdicts = [graded(level, code, f"assert f() == {expected}") for _ in range(2)]
    assert all(verdict.passed for verdict in verdicts), verdicts


def _installed() -> tuple[str, str]:
    """Return a folder of packages that the interpreter has, and a module in it."""
    home = Path(runtime().folders[0])
    for folder in (
        home / "site-packages",
        home / "dist-packages",
        home.parent / "python3/dist-packages",
    ):
        for path in sorted(folder.glob("*/__init__.py")):
            return str(folder), path.parent.name
    pytest.skip("the interpreter has no packages")


def test_installed_packages_cannot_be_imported(any_level):
    folder, module = _installed()
    code = f"""
import sys
def f():
    sys.path.insert(0, {folder!r})
    try:
        return __import__({module!r}).__file__
    except (ImportError, PermissionError):
        return None
"""
    verdict = graded(any_level, code, "assert f() is None, f()")
    assert verdict.passed, verdict


@filtered
def test_folders_are_not_watched_and_no_room_is_taken_beyond_the_limit(any_level):
    code = """
import ctypes, os
def f():
    done = []
    if ctypes.CDLL(None).inotify_init() >= 0:
        done.append("inotify")
    try:
        with open("big", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 100_000)
        done.append("fallocate")
    except OSError:
        pass
    return done
"""
    verdict = graded(any_level, code, "assert f() == [], f()")
    assert verdict.passed, verdict


def test_deleted_files_that_are_open_count_as_well(any_level):
    code = """
import os, time
def f():
    kept = []
    for number in range(20):
        file = open(str(number), "wb", buffering=0)
        os.unlink(str(number))
        kept.append(file)
        for _ in range(8):
            if file.write(bytes(65536)) < 65536:
                raise OSError("full")
    time.sleep(0.5)
    return len(kept)
"""
    verdict = graded(any_level, code, "assert f() == 20", Limits(seconds=60, file_kb=1024))
    assert not verdict.passed and verdict.outcome == "error", verdict


def test_a_program_has_few_descriptors(any_level):
    code = """
import os
def f():
    count = 0
    try:
        while count < 1000:
            os.dup(0)
            count += 1
    except OSError:
        pass
    return count
"""
    assert graded(any_level, code, "assert 10 < f() < 32").passed


@filtered
def test_locks_say_nothing_of_other_programs(any_level):
    code = """
import fcntl, os
def f():
    # A second lock of the same file would fail if the first one had been taken.
    held = [open(os.__file__) for _ in range(2)]
    for file in held:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return len(held)
"""
    verdict = graded(any_level, code, "assert f() == 2")
    assert verdict.passed, verdict


def test_programs_that_copy_files_and_keep_databases_pass(any_level):
    code = """
import dbm.dumb, os, shelve, shutil, sqlite3, tempfile
def f(text):
    with open("one", "w") as file:
        file.write(text)
    shutil.copy("one", "two")
    shutil.copy2("one", "three")
    os.utime("three", (1, 1))
    with shelve.open("shelf") as shelf:
        shelf["text"] = open("two").read()
    with shelve.open("shelf") as shelf:
        kept = shelf["text"]
    with dbm.dumb.open("words", "c") as words:
        words["a"] = text
        kept += words["a"].decode()
    with sqlite3.connect("data.sqlite") as base:
        base.execute("create table words (word text)")
        base.execute("insert into words values (?)", (text,))
        kept += base.execute("select word from words").fetchone()[0]
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write(text)
        file.truncate(1)
        file.seek(0)
        return kept + file.read()
"""
    verdict = graded(any_level, code, "assert f('ab') == 'abababa'")
    assert verdict.passed, verdict


def test_without_landlock_a_root_in_memory_still_shows_no_other_files(monkeypatch):
    root = wardens.root()
    if root is None:
        pytest.skip("nothing can be mounted here")
    patch = "from laconic.envs.sandbox import guards\nguards.landlock_version = lambda: 0\n"
    start = wardens._START.replace("from laconic", patch + "from laconic")
    monkeypatch.setattr(wardens, "_START", start)
    WARDENS.close()
    here = os.path.abspath(__file__)
    code = f"""
import os
def f():
    return sorted(os.listdir("/")), os.path.exists({here!r}), os.path.exists("/etc/passwd")
"""
    verdict = graded("process", code, "assert f()[1:] == (False, False) and 'home' not in f()[0]")
    WARDENS.close()
    assert verdict.passed, verdict


ELSEWHERE = """
from laconic.envs import sandbox
from laconic.envs.sandbox import Limits
from laconic.envs.sandbox.runtime import runtime
program = sandbox.Program("def f():\\n    return 1", ("assert f() == 1",), ("f",))
for level in (sandbox.level(), "process"):
    verdict = sandbox.run_at(level, program, Limits(seconds=60, cpu_seconds=20))
    print(level, verdict.passed, runtime().files[0])
print(sandbox.conditions()["sandbox"])
"""


@pytest.fixture
def interpreter() -> Iterator[str]:
    """Yield a copy of this interpreter below the folder for temporary files, for every user."""
    folder = tempfile.mkdtemp(prefix="interpreter-", dir="/tmp")
    os.chmod(folder, 0o755)
    runtime().copy(folder)
    yield folder + runtime().files[0]
    shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")
@pytest.mark.parametrize("user", [None, 65534])
def test_an_interpreter_in_the_folder_for_temporary_files_and_any_user_have_the_same_level(
    interpreter, user
):
    if user and os.geteuid():
        pytest.skip("only root can be another user")
    paths = [os.path.abspath(path) for path in sys.path if os.path.isdir(path)]
    environment = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [interpreter, "-c", ELSEWHERE]
    options = {"user": user, "group": user, "extra_groups": []} if user else {}
    ran = subprocess.run(
        command, env=environment, cwd="/", capture_output=True, text=True, check=False, **options
    )
    if user and "No module named 'laconic'" in ran.stderr:
        pytest.skip("the project is not readable for others")
    levels = [f"{level} True {interpreter}" for level in (sandbox.level(), "process")]
    assert ran.stdout.splitlines() == [*levels, sandbox.conditions()["sandbox"]], ran.stderr
