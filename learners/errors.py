"""Errors of the learner's side beyond `envs.errors`, one class per failure.

A wrong setting or name raises the classes of `envs.errors`. These report a failure of the machine,
of a server or of another process, with its place and the remedy. Files saved earlier stay
untouched. Each class is also the built-in error that a caller expects.
"""

from __future__ import annotations

import re


class ServerError(RuntimeError):
    """A model server gave no usable answer; its answers to other requests are kept."""


class RequestRefusedError(ServerError):
    """A server answered a request with an error status."""

    def __init__(self, url: str, status: int, text: str) -> None:
        """Keep the status and the server's text."""
        super().__init__(f"{url} answered {status}: {text[:400]}")
        self.status, self.text = status, text


class ConnectionLostError(ServerError):
    """A connection ended before the answer, or no answer came in time."""


class UnknownAdapterError(ServerError):
    """A server does not have the requested adapter; it may have been restarted."""


class ProcessError(RuntimeError):
    """Another process failed at its share of the work; the message has its reason."""


class CheckpointError(OSError):
    """A checkpoint cannot be written or read; earlier ones are untouched."""


class NumericalError(FloatingPointError):
    """A model computed NaN or infinity."""


class OutOfMemoryError(RuntimeError):
    """A pass of a model needs more memory than there is; a setting can lower it."""


def refuse_memory(error: Exception, setting: str) -> None:
    """Raise an error that names the setting that lowers memory, if memory ran out.

    Args:
        error: error of a pass of a model; any other one is left alone.
        setting: config key in full.

    Raises:
        OutOfMemoryError: memory ran out, on a GPU or on the machine.
    """
    if isinstance(error, MemoryError) or _ALLOCATION.search(str(error)):
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise OutOfMemoryError(
            f"memory ran out: {reason[:200]}; lower {setting}, or take a smaller model"
        ) from error


_ALLOCATION = re.compile(r"out of memory|allocate memory|not enough memory", re.IGNORECASE)
"""Words of torch when an allocation fails; on processors the error is a plain RuntimeError."""
