"""First encoding and decoding by a stranger's tokenizer, in a process of limited time and memory.

A tokenizer file holds rules and patterns. A few rules can make gigabytes of a word, or a text of
millions of characters of one token, and a pattern can take longer than anyone waits. Nothing in
this process could stop them. This module is also the program that encodes, and decodes again:
`first_encoding.py <tokenizer.json>` writes what is wrong, or nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MAX_SECONDS = 20
"""Maximum processor time; a tokenizer of 150,000 entries takes 0.4 s, nearly all to be read."""
MAX_BYTES = 2**31
"""Maximum bytes that the process may map; a tokenizer of 150,000 entries maps 75 MB."""
_WALL_SECONDS = 300.0
"""Maximum wall time; long, for busy machines."""
_MAX_GROWTH = 20
"""Maximum tokens per character of the text. A byte is a token at most, and NFKC makes 18
characters of one."""
_MAX_DECODED = 4
"""Maximum characters that the rules of a decoder make of one. A rule of a model's own puts a space
in place of a mark, which is 1; a pattern in the mark's place counts as 2, and two of them as 4."""
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
    """Return why a tokenizer cannot encode a short text, or decode its tokens; None if it can.

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


def decoded_size(decoder: Mapping[str, Any]) -> float:
    """Return how many characters the rules of a decoder make of one, at most.

    Only the rule `Replace` writes text of its own. Decoding all tokens would not show the bound: a
    rule behind `Fuse` may wait for two tokens side by side that stand so in no text of ours.

    Args:
        decoder: entry `decoder` of a tokenizer file; empty for none.
    """
    size = math.prod(map(decoded_size, decoder.get("decoders", ())))
    if decoder.get("type") == "Replace":
        content, found = len(decoder["content"]), len(decoder["pattern"].get("String", ""))
        # A pattern may also match between all characters.
        size *= max(1.0, content / found) if found else 1 + content
    return size


def main() -> None:
    """Encode the text with the tokenizer of a file, decode all, and write what is wrong."""
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
        ids = tokenizer.encode(TEXT).ids
    except BaseException as error:
        print(f"cannot encode a short text ({' '.join(str(error).split())[:300]})")
        return
    count = len(ids)
    if count > _MAX_GROWTH * len(TEXT):
        print(f"makes {count:,} tokens of {len(TEXT):,} characters")
        return
    try:
        size = decoded_size(
            json.loads(tokenizer.decoder.__getstate__()) if tokenizer.decoder else {}
        )
        if size > _MAX_DECODED:
            print(f"has a decoder whose rules make up to {size:,.0f} characters of one")
            return
        # A rule may be slow on entries that the text does not have.
        for each in (ids, list(range(tokenizer.get_vocab_size()))):
            tokenizer.decode(each, skip_special_tokens=False)
    except BaseException as error:
        print(f"cannot decode its tokens ({' '.join(str(error).split())[:300]})")


if __name__ == "__main__":
    main()
