"""The reward of fifty programs, worked out by hand level by level.

The task has four tests: [] gives [], [2, 1] gives [2, 4], [3] gives [6], [0, -1] gives [-2, 0].
Expected are the points of auxiliary, main, syntax, tests, calls, substance and ignored; levels that
are not reached have none. Their sum is the reward, computed here anew.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from laconic.envs.families.cooperation.reward import LEVELS, MAX_REWARD
from laconic.envs.library.coop_humaneval.benchmark import BENCHMARK
from laconic.envs.task import Score, Task

SORTS = "def aux(xs):\n    return sorted(xs)"
DOUBLES = "def aux(xs):\n    return [2 * x for x in xs]"
WHOLE = "def aux(xs):\n    return [2 * x for x in sorted(xs)]"
SILENT = "def aux(xs):\n    xs = sorted(xs)"
BEST = "def tidy(xs):\n    return [2 * x for x in aux(xs)]"
ALONE = "def tidy(xs):\n    return [2 * x for x in sorted(xs)]"
RECURSIVE = "def aux(xs):\n    return aux(xs)"


def main(*lines: str, head: str = "def tidy(xs):") -> str:
    """Return a main function of these lines."""
    return "\n    ".join((head, *lines))


FULL = (0.4, 0.6, 0.5, 1, 0.5, 1, 0)
THIN = (0.4, 0.6, 0.5, 1, 0.5, 0, 0)
IGNORING = (0.4, 0.6, 0.5, 1, 0.5, 1, -0.5)
SOLO = (0.4, 0.6, 0.5, 1, 0)
LOST = (0.4, 0.6, 0.5, 0)

TABLE: list[tuple[str, str, tuple[float, ...]]] = [
    # Structure: nothing, one of both, both.
    ("", "", (0, 0)),
    ("no code", "none here either", (0, 0)),
    (SORTS, "", (0.4, 0)),
    (SILENT, "", (0, 0)),
    (SORTS, "def other(xs):\n    return xs", (0.4, 0)),
    (SORTS, "class tidy:\n    pass", (0.4, 0)),
    (SORTS, "tidy = lambda xs: xs", (0.4, 0)),
    (SORTS, f"async {ALONE}", (0.4, 0)),
    (SORTS, "def outer():\n    def tidy(xs):\n        return xs\n    return tidy", (0.4, 0)),
    (f"{SORTS}\n{ALONE}", "I leave it to the other agent.", (0.4, 0)),
    ("", ALONE, (0, 0.6, 0.5, 1, 0)),
    ("", BEST, (0, 0.6, 0.5, 0)),
    ("class aux:\n    pass", ALONE, (0, 0.6, 0.5, 1, 0)),
    ("aux = sorted", BEST, (0, 0.6, 0.5, 0)),
    (f"async {SORTS}", ALONE, (0, 0.6, 0.5, 1, 0)),
    (SORTS, BEST, FULL),
    (f"```python\n{SORTS}\n```", f"Here:\n```python\n{BEST}\n```\nDone.", FULL),
    # A yield gives something back, too; of equal names the last counts.
    ("def aux(xs):\n    yield from sorted(xs)", BEST, FULL),
    ("\n".join([SILENT] * 9 + [SORTS]), BEST, FULL),
    ("\n".join([SORTS] * 9 + [SILENT]), BEST, (0, 0.6, 0.5, 0)),
    # Syntax: either function may spoil it.
    (SORTS, main("return ("), (0.4, 0.6, 0)),
    ("def aux(xs):\n    return (", BEST, (0.4, 0.6, 0)),
    ("def aux(xs):\n    sorted(xs", ALONE, (0, 0.6, 0)),
    (SORTS, main("xs = = 1", "return xs"), (0.4, 0.6, 0)),
    # Tests: none, one, two, three, four of four pass; a bonus takes one.
    (SORTS, main("return aux(xs) + [0]"), LOST),
    (SORTS, main("return aux(xs)[:0]"), (0.4, 0.6, 0.5, 0.25, 0.5, 1, 0)),
    (SORTS, main("return []"), (0.4, 0.6, 0.5, 0.25, 0)),
    (SORTS, main("return [2 * x for x in xs if aux(xs)]"), (0.4, 0.6, 0.5, 0.5, 0.5, 1, 0)),
    (SORTS, main("return [2 * max(x, 0) for x in aux(xs)]"), (0.4, 0.6, 0.5, 0.75, 0.5, 1, 0)),
    (SORTS, main("raise ValueError"), LOST),
    (RECURSIVE, BEST, LOST),
    (SORTS, main("return tidy(aux(xs))"), LOST),
    (SILENT, BEST, (0, 0.6, 0.5, 0)),
    (DOUBLES, main("return sorted(aux(xs))"), FULL),
    # Calls: none, its own aux, a parameter of that name, handed over.
    (SORTS, ALONE, SOLO),
    (SORTS, f"{WHOLE}\n{main('return aux(xs)')}", SOLO),
    (SORTS, main("return [2 * x for x in aux(xs)]", head="def tidy(xs, aux=sorted):"), SOLO),
    ("def aux(x):\n    return 2 * x", main("return list(map(aux, sorted(xs)))"), FULL),
    (SORTS, main("help = aux", "return [2 * x for x in sorted(xs)]"), SOLO),
    # A thin wrapper, and what is just more than one.
    (WHOLE, main("return aux(xs)"), THIN),
    (WHOLE, main('"""Say nothing."""', "pass", "return aux(xs=xs)"), THIN),
    (WHOLE, main("ys = xs", "found = aux(ys)", "return found"), THIN),
    (WHOLE, main("return aux(*xs)", head="def tidy(*xs):"), THIN),
    (WHOLE, main("return list(aux(xs))"), FULL),
    (WHOLE, main("return aux(xs) if xs else []"), FULL),
    (WHOLE, main("xs = list(xs)", "return aux(xs)"), FULL),
    # The result ignored: a statement of its own, a name never read.
    (SORTS, main("aux(xs)", "return [2 * x for x in sorted(xs)]"), IGNORING),
    (SORTS, main("_ = aux(xs)", "return [2 * x for x in sorted(xs)]"), IGNORING),
    (SORTS, main("aux(xs)", "return [2 * x for x in aux(xs)]"), IGNORING),
    # A helper without a return may be called; it is worth no structure.
    (SILENT, main("aux(xs)", "return [2 * x for x in sorted(xs)]"), (0, *IGNORING[1:])),
]


@pytest.fixture(scope="module")
def scores(tidy: Task) -> list[Score]:
    """Return the score of every program of the table."""

    def score(pair: tuple[str, str, tuple[float, ...]]) -> Score:
        return BENCHMARK.score(tidy, {"auxiliary_0": pair[0], "main_0": pair[1]})

    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(score, TABLE))


def test_there_are_fifty_programs_and_no_two_are_alike() -> None:
    assert len({pair[:2] for pair in TABLE}) == len(TABLE) == 50


@pytest.mark.parametrize("index", range(len(TABLE)))
def test_every_level_is_worth_what_was_worked_out(scores: list[Score], index: int) -> None:
    expected = dict(zip(LEVELS, TABLE[index][2], strict=False))
    points = scores[index].detail["points"]
    assert points == pytest.approx(expected), TABLE[index][:2]
    assert scores[index].value == pytest.approx(sum(TABLE[index][2]), abs=1e-12)


def test_no_program_is_worth_less_than_nothing_or_more_than_the_maximum(
    scores: list[Score],
) -> None:
    assert all(0 <= score.value <= MAX_REWARD == 4 for score in scores)
    assert max(score.value for score in scores) == 4.0 == BENCHMARK.max_reward
    # The maximum is what all levels but the deduction are worth.
    assert sum(worth for worth in LEVELS.values() if worth > 0) == MAX_REWARD


def test_solved_is_what_passes_all_tests_whatever_the_rest_is_worth(scores: list[Score]) -> None:
    for score, (*_, expected) in zip(scores, TABLE, strict=True):
        assert score.solved == (len(expected) > 3 and expected[3] == 1)
