from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import DATA, ROOT
from written import check_refused, write

from laconic import envs
from laconic.envs.library.checkmate.benchmark import BENCHMARK, Checkmate
from laconic.envs.task import Task

chess = pytest.importorskip("chess", reason="needs the extra 'chess'")

FOLDER = DATA
DATA = FOLDER / "checkmate_in_one"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no checkmate_in_one files in {DATA}")

FOOLS = {"input": "1. f3 e5 2. g4", "target": "Qh4#"}
"""The shortest game there is: Black mates on the second move."""
TWO_ROOKS = Task("t", "?", (), "Re8#", details={"fen": "6k1/5ppp/8/8/8/8/8/K2RR3 w - - 0 1"})
"""Rd8 and Re8 mate; Rd7 is legal, and Rd9, Qd8 and Kg8 are not."""


def score(*messages: str, task: Task = TWO_ROOKS) -> tuple[float, bool, str]:
    score = BENCHMARK.score(task, {f"solver_{i}": text for i, text in enumerate(messages)})
    return score.value, score.solved, score.answer


def test_it_is_the_benchmark_of_its_name() -> None:
    assert isinstance(envs.benchmark("checkmate"), Checkmate)
    assert (BENCHMARK.name, BENCHMARK.roles) == ("checkmate", ("solver", "attack", "escape"))


def test_a_row_becomes_the_pieces_on_the_board_and_a_question(tmp_path: Path) -> None:
    (task,) = BENCHMARK.load(write(tmp_path / "own.jsonl", FOOLS))
    assert task == Task(
        key="own/1",
        question="Black to move. Which move gives checkmate at once?",
        statements=(
            "White king on e1.",
            "White queen on d1.",
            "White rooks on a1 and h1.",
            "White bishops on c1 and f1.",
            "White knights on b1 and g1.",
            "White pawns on a2, b2, c2, d2, e2, h2, f3 and g4.",
            "Black king on e8.",
            "Black queen on d8.",
            "Black rooks on a8 and h8.",
            "Black bishops on c8 and f8.",
            "Black knights on b8 and g8.",
            "Black pawns on e5, a7, b7, c7, d7, f7, g7 and h7.",
        ),
        answer="Qh4#",
        # The king is shut in by queen, bishop and pawns of its own; the queen gives the check.
        relevant=(True, True, False, True, False, True, False, True, False, False, False, False),
        source_text="1. f3 e5 2. g4\nBlack to move. Which move gives checkmate at once?",
        details={"fen": "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2"},
    )
    assert task.answer_text == "#### Qh4#"


def test_the_document_of_the_original_is_read(tmp_path: Path) -> None:
    scores = {"Qh4#": 1, "Nf6": 0}
    rows = [FOOLS, {"input": FOOLS["input"] + " ", "target_scores": scores}]
    (tmp_path / "task.json").write_text(json.dumps({"name": "mates", "examples": rows}, indent=1))
    for source in (tmp_path, tmp_path / "task.json"):
        tasks = BENCHMARK.load(source)
        assert [(task.key, task.answer) for task in tasks] == [
            ("task/1", "Qh4#"),
            ("task/2", "Qh4#"),
        ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"target": "Qh4#"}, "expected the field 'input'"),
        ({"input": "1. f3"}, "expected the field 'target'"),
        ({"input": 3, "target": "Qh4#"}, "field 'input' to be a str; got int 3"),
        (FOOLS | {"input": "1. f3 e5 2. g5"}, "half-move 3: illegal san: 'g5'"),
        (FOOLS | {"input": "fool's mate"}, 'half-move 1: invalid san: "fool\'s"'),
        (FOOLS | {"input": ""}, "to be a move that mates after those of 'input'; got 'Qh4#'"),
        (FOOLS | {"target": "Nf6"}, "to be a move that mates after those of 'input'; got 'Nf6'"),
        (FOOLS | {"target": "Qh9#"}, "to be a move that mates"),
        (FOOLS | {"target": "--"}, "to be a move that mates"),
        ({"input": "1. f3", "target_scores": {"e5": 0}}, "to have the value 1"),
        (["1. f3"], "expected a JSON object"),
    ],
)
def test_a_bad_row_is_refused_with_file_and_line(tmp_path: Path, row: Any, message: str) -> None:
    check_refused(BENCHMARK, tmp_path, FOOLS, row, message)


@pytest.fixture(scope="module")
def real() -> tuple[Task, ...]:
    """Return all real rows that are available."""
    return BENCHMARK.load(DATA)


@needs_data
def test_all_real_rows_load(real: tuple[Task, ...]) -> None:
    rows = [json.loads(line) for line in (DATA / "test.jsonl").read_text().splitlines()]
    assert len(real) == len({task.key for task in real}) == 125
    for task, row in zip(real, rows, strict=True):
        assert task.text == f"{row['input'].strip()}\n{task.question}"
        assert task.answer == row["target"]
        assert any(task.relevant or ())
    # In all but five endgames there is something that does not matter.
    assert sum(all(task.relevant or ()) for task in real) == 5


@needs_data
def test_real_answers_are_right_in_every_notation(real: tuple[Task, ...]) -> None:
    for task in real:
        board = chess.Board(task.details["fen"])
        move = board.parse_san(task.answer)
        for form in (task.answer, task.answer.rstrip("#"), board.uci(move), board.lan(move)):
            for text in (
                form,
                f"#### {form}",
                f"\\boxed{{{form}}}",
                f"Rooks and pawns aside, the move is 31... {form}, I think.",
            ):
                assert score(text, task=task) == (1.0, True, task.answer), (text, task)


@needs_data
def test_corrupted_real_answers_are_worth_nothing(real: tuple[Task, ...]) -> None:
    for task in real:
        for corrupted in corruptions(task):
            value, solved, _ = score(f"#### {corrupted}", task=task)
            assert (value, solved) == (0.0, False), (corrupted, task)


def corruptions(task: Task) -> Iterator[str]:
    """Another legal move, with and without the mark of mate; an illegal one; the other side's."""
    board = chess.Board(task.details["fen"])
    mate = board.parse_san(task.answer)
    others = [board.san(move) for move in board.legal_moves if move != mate]
    yield from (others[0], others[-1].rstrip("+") + "#", "", "Qh9#", "?")
    # Nothing moves from the square it goes to.
    square = chess.square_name(mate.to_square)
    yield from (f"{square}{square}", f"{square}{chess.square_name(mate.from_square)}")
    board.turn = not board.turn
    yield next(board.uci(move) for move in board.pseudo_legal_moves)


def test_no_legal_move_is_worth_nothing() -> None:
    assert score() == (0.0, False, "")
    assert score("", "no idea", "#### Rd9", "#### Qd8#", "#### Kg8") == (0.0, False, "")


@pytest.mark.parametrize("message", ["#### Rd8#", "Re8", "rd8", "e1e8", "the answer is: Re1-e8++"])
def test_every_mating_move_counts(message: str) -> None:
    assert score(message)[:2] == (1.0, True)


@pytest.mark.parametrize("message", ["#### Rd7", "#### Rd8# or rather #### Rd7#", "Re8 #### Rg8"])
def test_a_move_that_does_not_mate_is_worth_nothing(message: str) -> None:
    assert score(message)[:2] == (0.0, False)


def test_the_majority_counts_whatever_the_notation() -> None:
    assert score("#### Rd7", "#### Re8#", "e1e8") == (1.0, True, "Re8#")
    assert score("#### Re8", "Rd7", "d1d7") == (0.0, False, "Rd7")
    # Illegal moves have no vote; of equally common moves the earliest counts.
    assert score("#### Qd8", "#### Qd8", "#### Re8") == (1.0, True, "Re8#")
    assert score("#### Rd7", "#### Re8") == (0.0, False, "Rd7")


def test_hostile_answers_are_graded_quickly_and_never_raise() -> None:
    started = time.perf_counter()
    for text in (
        "Qh7 " * 10**6,
        "a8=Q!" * 10**5,
        "####" * 250_000,
        "\\boxed{" * 10**5,
        "\ud800\x00" * 10**5,
        "0000 -- Z0 @@@@ e1e1 ♖d9",
    ):
        assert score(text) == (0.0, False, "")
    assert time.perf_counter() - started < 1.0


def test_a_commitment_is_the_last_marked_move() -> None:
    assert BENCHMARK.committed("#### Qh7, no: #### Rd8# mates") == "#### Rd8#"
    assert BENCHMARK.committed("so \\boxed{Rd8}.") == "\\boxed{Rd8}"
    assert BENCHMARK.committed("Rd8#") is None
    assert BENCHMARK.committed("#### ?") is None


def test_every_role_gets_instructions() -> None:
    assert "#### move" in BENCHMARK.instructions("solver")
    assert "solver" in BENCHMARK.instructions("attack")


def test_the_environment_deals_the_board_among_the_analysts() -> None:
    env = envs.make(
        "checkmate",
        free=True,
        information="split",
        tasks=5,
        team={"solver": 1, "attack": 1, "escape": 1},
    )
    observations, infos = env.reset(seed=0)
    assert infos["solver_0"]["share"] == ()
    shares = infos["attack_0"]["share"] + infos["escape_0"]["share"]
    assert sorted(shares) == list(range(len(env.task.statements)))
    assert "to move. Which move" in observations["solver_0"]["text"]


WITHOUT = """
import sys
sys.modules["chess"] = None
from laconic import envs
assert "checkmate" in envs.names()
found = envs.benchmark("checkmate")
assert found.committed("#### Qh7#") == "#### Qh7#"
for ask in (lambda: envs.make("checkmate"), lambda: found.load(sys.argv[1])):
    try:
        ask()
    except ImportError as error:
        print(error)
"""


def test_without_python_chess_everything_else_works_and_the_extra_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "test.jsonl", FOOLS)
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(file)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert ran.returncode == 0, ran.stderr
    first, second = ran.stdout.splitlines()
    assert first == second
    assert "pip install 'laconic-marl[chess]'" in first
