"""A server that a run starts for itself, and that ends with the run, however that comes about."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from laconic.envs.errors import SettingError
from laconic.learners.engines import keeper
from laconic.learners.errors import ServerError

_SHOWN = 15
"""Last lines of a log that a message shows."""


class Process:
    """A running program below a keeper (`learners.engines.keeper`)."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        """Start it.

        Args:
            words: the program and its arguments.
            environment: what it finds in its environment besides what is in ours.
            log: takes what it prints; begun anew.

        Raises:
            SettingError: there is no such program, or the log cannot be written.
        """
        self.words, self.log = tuple(words), log
        _check_program(words[0])
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("wb") as out:
                self._keeper = subprocess.Popen(
                    [sys.executable, keeper.__file__, *words],
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **environment},
                    # A Ctrl-C at a terminal is for the run, which then ends the server itself.
                    start_new_session=True,
                )
        except OSError as error:
            raise SettingError(f"engine.start=true could not start a server: {error}") from error

    def check(self) -> None:
        """Refuse a program that has ended.

        Raises:
            ServerError: with the last lines of its log.
        """
        if (code := self._keeper.poll()) is not None:
            raise ServerError(
                f"the server that engine.start=true started ended with code {code}; the last lines"
                f" of {self.log}:\n{self.tail()}"
            )

    def tail(self) -> str:
        """The last lines of the log."""
        lines = self.log.read_text("utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_SHOWN:])

    def close(self) -> None:
        """End it and all that it started."""
        if self._keeper.stdin is not None:
            self._keeper.stdin.close()
        try:
            self._keeper.wait(timeout=keeper.GRACE + 5)
        except subprocess.TimeoutExpired:
            self._keeper.kill()


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _check_program(program: str) -> None:
    from shutil import which

    if which(program) is None:
        raise SettingError(
            f"engine.program={program!r} is no command here; give that of the environment in which"
            " the server is installed (engine.program=<environment>/bin/vllm), or start one"
            " yourself and pass engine.url"
        )
