"""Mate-in-one positions that were searched for once, so that tasks are there at once.

The file holds the few-piece levels, whose positions come from `play.positions`; further positions,
and those of other levels, are searched for when they are asked for. To make the file again
(about a minute on one core):

    python -m laconic.envs.library.checkmate.shipped
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random

from laconic.envs.library.checkmate.play import content, positions
from laconic.envs.library.checkmate.python_chess import chess
from laconic.envs.task import Split

FILE = Path(__file__).with_name("positions.txt.gz")
COUNTS: dict[int, dict[Split, int]] = {
    1: {"train": 8000, "evaluation": 1000},
    2: {"train": 3000, "evaluation": 500},
    3: {"train": 3000, "evaluation": 500},
}
"""Level -> split -> number of positions in the file."""


def shipped(random: Random, level: int, split: Split) -> Iterator[tuple[chess.Board, chess.Move]]:
    """Yield all positions of a level and a split in a drawn order, each with its only mate."""
    lines = list(_read().get((level, split), ()))
    random.shuffle(lines)
    for line in lines:
        fen, _, move = line.rpartition(" ")
        yield chess.Board(fen), chess.Move.from_uci(move)


def search(level: int, split: Split) -> Iterator[str]:
    """Yield the lines of the file for a level and a split: different positions and their mates."""
    keys: set[str] = set()
    for board, mate in positions(Random(f"positions/{level}/{split}"), level, split):
        if (key := content(board)) not in keys:
            keys.add(key)
            yield f"{board.fen()} {mate.uci()}"


def make(path: Path = FILE) -> None:
    """Search for all positions and write the file; equal calls write equal files."""
    lines = [
        f"{level} {split} {line}\n"
        for level, counts in COUNTS.items()
        for split, count in counts.items()
        for line in islice(search(level, split), count)
    ]
    path.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


@cache
def _read() -> dict[tuple[int, Split], list[str]]:
    positions: dict[tuple[int, Split], list[str]] = {}
    for line in gzip.decompress(FILE.read_bytes()).decode().splitlines():
        level, split, rest = line.split(" ", 2)
        key: tuple[int, Split] = (int(level), "train" if split == "train" else "evaluation")
        positions.setdefault(key, []).append(rest)
    return positions


if __name__ == "__main__":
    make()
