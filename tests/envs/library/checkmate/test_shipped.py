"""Shipped positions are those that the search finds, have one mate each, and are drawn first."""

from __future__ import annotations

import time
from itertools import islice
from random import Random

import pytest

pytest.importorskip("chess", reason="needs the extra 'chess'")

from laconic import envs  # noqa: E402
from laconic.envs.benchmarks.generation import split_of  # noqa: E402
from laconic.envs.library.checkmate.play import SIZES, content, frame  # noqa: E402
from laconic.envs.library.checkmate.search import mating_moves  # noqa: E402
from laconic.envs.library.checkmate.shipped import COUNTS, _read, search, shipped  # noqa: E402

PARTS = [(level, split) for level, counts in COUNTS.items() for split in counts]


@pytest.mark.parametrize(("level", "split"), PARTS)
def test_the_file_is_what_the_search_finds(level, split):
    lines = _read()[level, split]
    assert len(lines) == COUNTS[level][split]
    assert lines[:10] == list(islice(search(level, split), 10))


@pytest.mark.parametrize(("level", "split"), PARTS)
def test_every_position_has_its_size_its_split_and_one_mate(level, split):
    draws = list(islice(shipped(Random(0), level, split), 100))
    assert len(draws) == 100
    for board, mate in draws:
        assert SIZES[level][0] <= board.occupied.bit_count() <= SIZES[level][1]
        assert split_of(frame(board)) == split
        assert board.is_valid() and mating_moves(board) == [mate]


def test_no_position_stands_there_twice():
    boards = [board for level, split in PARTS for board, _ in shipped(Random(1), level, split)]
    assert len(boards) == 16_000 == len({content(board) for board in boards})


def test_equal_seeds_draw_alike_and_others_do_not():
    def first(seed):
        return [board.fen() for board, _ in islice(shipped(Random(seed), 1, "train"), 20)]

    assert first(3) == first(3) != first(4)


def test_tasks_are_there_at_once_and_more_are_searched_for_when_these_are_used_up():
    start_time = time.process_time()
    env = envs.make("checkmate", free=True, tasks=8000, generator={"level": 1})
    # A search takes 26 s.
    assert len(env.tasks) == 8000 and time.process_time() - start_time < 10
    more = envs.make("checkmate", free=True, tasks=505, generator={"level": 2}, split="evaluation")
    assert len({task.details["fen"] for task in more.tasks.values()}) == 505
