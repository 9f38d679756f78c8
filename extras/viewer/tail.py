"""Reads a JSON Lines file that another process is writing, each row once.

The last line may be half-written: it is read when its end has come. A run that is resumed replaces
the file by a shorter one; then everything is read again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from laconic.learners.rollout.strange_files import open_regular, parse_json


class Tail:
    """The rows of a file that were not read yet."""

    def __init__(self, path: Path) -> None:
        """Begin before the first row; the file need not exist yet."""
        self._path = path
        self._inode = -1
        self._offset = 0

    def read(self) -> tuple[list[dict[str, Any]], bool]:
        """The rows that came since the last call, and whether they are all there are.

        The second is true where the file was replaced or cut: what was read before is void. Lines
        that are no JSON object are left out. A file that cannot be opened has no rows.
        """
        try:
            with open_regular(self._path) as file:
                inode, size = _identity(file.fileno())
                anew = inode != self._inode or size < self._offset
                self._inode, start = inode, 0 if anew else self._offset
                file.seek(start)
                # A line that has no end yet is read next time.
                whole = file.read().rpartition(b"\n")[0]
        except OSError:
            return [], False
        self._offset = start + len(whole) + 1 if whole else start
        return [row for line in whole.split(b"\n") if (row := _row(line)) is not None], anew


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_ino, found.st_size


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = parse_json(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
