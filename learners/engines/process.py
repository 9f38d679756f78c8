"""A server that a run starts and that ends with the run, even if the run is killed.

The server runs below a supervisor: `python -m laconic.learners.engines.process vllm serve ...`.
The run holds the other end of the supervisor's standard input and never writes to it. When that
end closes, at a normal end or by SIGKILL, the supervisor terminates the server's process group.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which

from laconic.envs.errors import SettingError
from laconic.learners.errors import ServerError

GRACE_SECONDS = 10.0
"""Seconds between SIGTERM and SIGKILL."""
_POLL_SECONDS = 0.2
_LOG_LINES = 15
"""Number of last lines of the log that an error message shows."""


class ServerProcess:
    """A server program below its supervisor."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        """Start the program.

        Args:
            words: program and arguments.
            environment: environment variables to add to those of this process.
            log: file for its output; overwritten.

        Raises:
            SettingError: the program does not exist, or the log cannot be written.
        """
        self.log = log
        if which(words[0]) is None:
            raise SettingError(
                f"engine.program={words[0]!r} is no command. Name that of the environment in which"
                " the server is installed (engine.program=<environment>/bin/vllm), or start a"
                " server yourself and set engine.url"
            )
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("wb") as out:
                self._supervisor = subprocess.Popen(
                    [sys.executable, "-P", "-m", __name__, *words],
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **environment},
                    # Ctrl-C in a terminal reaches the run, which then ends the server itself.
                    start_new_session=True,
                )
        except OSError as error:
            raise SettingError(f"engine.start=true could not start a server: {error}") from error

    def check(self) -> None:
        """Raise if the program has ended.

        Raises:
            ServerError: with the last lines of its log.
        """
        if (code := self._supervisor.poll()) is not None:
            lines = self.log.read_text("utf-8", errors="replace").splitlines()[-_LOG_LINES:]
            raise ServerError(
                f"the server of engine.start=true ended with exit code {code}. Last lines of"
                f" {self.log}:\n" + "\n".join(lines)
            )

    def close(self) -> None:
        """End the program and every process it started."""
        if self._supervisor.stdin is not None:
            self._supervisor.stdin.close()
        try:
            self._supervisor.wait(timeout=GRACE_SECONDS + 5)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()


def free_port() -> int:
    """Return a local port that is free now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def supervise(words: Sequence[str]) -> int:
    """Run a program until it ends or standard input closes; return its exit code."""
    program = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(_terminate(program)))
    while program.poll() is None:
        ready, _, _ = select.select([sys.stdin.fileno()], [], [], _POLL_SECONDS)
        if ready and not os.read(sys.stdin.fileno(), 1):
            break
    return _terminate(program)


def _terminate(program: subprocess.Popen[bytes]) -> int:
    """End the program's whole process group; return the program's exit code."""
    _signal_group(program, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while program.poll() is None and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS / 4)
    # Processes that it started and left behind.
    _signal_group(program, signal.SIGKILL)
    return program.wait()


def _signal_group(program: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(program.pid, number)
    except (ProcessLookupError, PermissionError):
        return


if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1:]))
