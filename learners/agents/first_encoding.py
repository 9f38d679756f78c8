"""First encoding of a stranger's tokenizer, in a process with limits of time and memory.

A tokenizer file holds rules and patterns. A few rules can make gigabytes of a word, and a pattern
can take longer than anyone waits. Nothing in this process could stop either. This module is also
the program that encodes: `first_encoding.py <tokenizer.json>` writes what is wrong, or nothing.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_SECONDS = 20
"""Maximum processor time; a tokenizer of 150,000 entries takes 0.4 s, nearly all to be read."""
MAX_BYTES = 2**31
"""Maximum bytes that the process may map; a tokenizer of 150,000 entries maps 75 MB."""
_WALL_SECONDS = 300.0
"""Maximum wall time; long, for busy machines."""
_MAX_GROWTH = 20
"""Maximum tokens per character of the text. A byte is a token at most, and NFKC makes 18
characters of one."""
_RUNS = "".join(chr(code) * 48 for code in range(32, 127))
# A pattern that tries every way to cut a run is slow where another character follows than the one
# it looks for, and where that one comes later. So runs stand in both orders, before all characters.
TEXT = (
    "You are a helpful assistant. The quick brown fox jumps over the lazy dog, and why?\n"
    f"{_RUNS}\n{_RUNS[::-1]}\n{_RUNS[::48]}\n{''.join(map(chr, range(161, 0x600)))}"
)
"""Text that is encoded: words, runs of each character of ASCII, and four further scripts."""


_FAULTS: dict[bytes, str | None] = {}
"""Fault of each tokenizer that was tried, by the digest of its file."""


def find_fault(file: Path) -> str | None:
    """Return why a tokenizer cannot encode a short text, or None.

    Raises:
        OSError: the file cannot be read.
    """
    content = hashlib.sha256(file.read_bytes()).digest()
    if content not in _FAULTS:
        _FAULTS[content] = _encode_aside(file)
    return _FAULTS[content]


def _encode_aside(file: Path) -> str | None:
    single = {"RAYON_NUM_THREADS": "1", "RUST_BACKTRACE": "0"}
    try:
        ended = subprocess.run(
            [sys.executable, "-P", __file__, str(file)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, **single},
            timeout=_WALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"takes more than {_WALL_SECONDS:g} s to encode a short text"
    if ended.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"takes more than {MAX_SECONDS} s to encode a short text"
    if ended.returncode == -signal.SIGABRT:
        return f"takes more than {MAX_BYTES >> 30} GiB to encode a short text"
    return ended.stdout.decode(errors="replace").strip() or None


@contextmanager
def panics_raised() -> Iterator[None]:
    """Raise panics of libraries in Rust as setting errors; by themselves they are no `Exception`.

    Such a library reads tokenizers and weights. The class of a panic cannot be imported.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__module__ != "pyo3_runtime":
            raise
        from laconic.envs.errors import SettingError

        reason = " ".join(str(error).split())[:300]
        raise SettingError(
            f"the tokenizer or the weights of agent.model stop a library: {reason}; give another"
            " model"
        ) from error


def main() -> None:
    """Encode the text with the tokenizer of a file, and write what is wrong."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS + 1))
    # Under these limits.
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(sys.argv[1])
    except Exception:
        # Not of this form; transformers says so, or converts it.
        return
    try:
        count = len(tokenizer.encode(TEXT).ids)
    except BaseException as error:
        print(f"cannot encode a short text ({' '.join(str(error).split())[:300]})")
        return
    if count > _MAX_GROWTH * len(TEXT):
        print(f"makes {count:,} tokens of {len(TEXT):,} characters")


if __name__ == "__main__":
    main()
