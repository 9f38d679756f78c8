"""Everything the learner's side raises on purpose beyond `envs.errors`, one class per failure.

The policy: a setting or a name that is wrong raises the classes of `envs.errors`; what the machine
refuses while a run is saved, or a server that is asked, raises one of these, says what was needed,
where, and what to do, and leaves what was saved before untouched. Every class is also the built-in
error a caller expects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


class ServerError(RuntimeError):
    """A model server gave no usable answer; what it gave to other requests is kept."""


class Refused(ServerError):
    """A server understood a request and would not answer it."""

    def __init__(self, url: str, status: int, text: str) -> None:
        """Keep the status, and what the server said of it."""
        super().__init__(f"{url} answered {status}: {text[:400]}")
        self.status, self.text = status, text


class Lost(ServerError):
    """A connection ended before the answer, or no answer came in time."""


class UnknownAdapter(ServerError):
    """A server does not have the adapter that was to speak; it may have been restarted."""


class ProcessError(RuntimeError):
    """Another of the processes that work together failed at its share; it says why."""


class CheckpointError(OSError):
    """A checkpoint cannot be written or read; earlier ones are untouched."""


class NumericalError(FloatingPointError):
    """A model computes what is no number."""


class OutOfMemoryError(RuntimeError):
    """A pass of a model needs more memory than there is; a setting can lower that."""


@contextmanager
def memory_set_by(setting: str) -> Iterator[None]:
    """Name the setting that lowers the memory of what is computed within.

    Args:
        setting: the config key in full.

    Raises:
        OutOfMemoryError: memory ran out, on a GPU or on the machine.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not _ALLOCATION.search(str(error)):
            raise
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise OutOfMemoryError(
            f"memory ran out: {reason[:200]}; lower {setting}, or take a smaller model"
        ) from error


_ALLOCATION = re.compile(r"out of memory|allocate memory|not enough memory", re.IGNORECASE)
"""What torch says when an allocation fails; on processors it is a plain RuntimeError."""
