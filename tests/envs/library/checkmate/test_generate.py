from __future__ import annotations

import itertools
import random
import time
from typing import Any

import pytest

chess = pytest.importorskip("chess", reason="needs the extra 'chess'")

from laconic.envs.benchmarks.generation import split_of  # noqa: E402
from laconic.envs.errors import SettingError  # noqa: E402
from laconic.envs.library.checkmate import play  # noqa: E402
from laconic.envs.library.checkmate.generate import generate  # noqa: E402
from laconic.envs.library.checkmate.play import SIZES, content, frame, positions  # noqa: E402


def board_of(task: Any) -> chess.Board:
    return chess.Board(task.details["fen"])


def test_no_tasks_are_no_work() -> None:
    assert generate(0, 0, "train") == ()


@pytest.mark.parametrize("level", sorted(SIZES))
@pytest.mark.parametrize("split", ["train", "evaluation"])
def test_every_position_is_legal_and_has_exactly_one_mating_move(split: Any, level: int) -> None:
    # A position of a played game costs ten times a set-up one.
    tasks = generate(1, 12 if level <= 3 else 5, split, level)
    for task in tasks:
        board = board_of(task)
        assert board.is_valid()
        assert split_of(frame(board)) == split
        assert SIZES[level][0] <= len(board.piece_map()) <= SIZES[level][1]
        mating = []
        for move in list(board.legal_moves):
            name = board.san(move)
            mating += [name] if name.endswith("#") else []
        assert mating == [task.answer]
        assert task.question.startswith("White" if board.turn else "Black")


@pytest.mark.parametrize("level", [1, 3, (1, 5)])
def test_the_sentences_that_matter_are_enough_and_none_is_too_many(level: Any) -> None:
    for task in generate(2, 25, "train", level):
        needed = [s for s, flag in zip(task.statements, task.relevant, strict=True) if flag]
        assert mates(task, needed)
        for sentence in needed:
            rest = [other for other in needed if other != sentence]
            assert not mates(task, rest), (task, sentence)


def test_positions_are_set_up_to_level_3_and_played_above() -> None:
    # A board that was set up is at move 1; a game with 12 captures is beyond that.
    for level, is_played in ((1, False), (3, False), (4, True)):
        board, _ = next(positions(random.Random(1), level, "train"))
        assert (board.fullmove_number > 1) == is_played


def test_level_1_attacks_with_a_queen_or_two_rooks() -> None:
    queen, rooks = {"Q"}, {"R"}
    boards = [next(positions(random.Random(seed), 1, "train"))[0] for seed in range(20)]
    heavy = [
        {piece.symbol().upper() for piece in b.piece_map().values()} & {"Q", "R"} for b in boards
    ]
    assert queen in heavy and rooks in heavy
    assert all(kinds in (queen, rooks) for kinds in heavy)


def test_a_game_is_given_up_after_300_half_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    knights = itertools.cycle(map(chess.Move.from_uci, ("g1f3", "g8f6", "f3g1", "f6g8")))
    moves: list[chess.Move] = []

    def move(generator: random.Random, board: chess.Board) -> chess.Move:
        moves.append(next(knights))
        return moves[-1]

    monkeypatch.setattr(play, "_random_move", move)
    assert list(play._play(random.Random(0), 5, "train")) == []
    assert len(moves) == 300


def mates(task: Any, sentences: list[str]) -> bool:
    """Set up nothing but what the sentences say, and make the move."""
    board, full = chess.Board(None), board_of(task)
    board.turn = full.turn
    for sentence in sentences:
        side, kind, *words = sentence.rstrip(".").replace(",", "").split()
        if kind == "may":
            return mates_with_rights(full, task)
        piece = chess.Piece(chess.PIECE_NAMES.index(kind.removesuffix("s")), side == "White")
        for word in words:
            if word not in ("on", "and"):
                board.set_piece_at(chess.parse_square(word), piece)
    move = full.parse_san(task.answer)
    if not board.is_legal(move):
        return False
    board.push(move)
    return board.is_checkmate()


def mates_with_rights(full: chess.Board, task: Any) -> bool:
    pytest.fail(f"a mate by castling or en passant needs a test of its own: {task}")


def test_both_sides_move_and_some_statements_do_not_matter() -> None:
    tasks = generate(0, 60, "train", (1, 3))
    whites = sum(board_of(task).turn for task in tasks)
    assert 15 < whites < 45
    share = sum(map(sum, (task.relevant for task in tasks))) / sum(
        len(task.statements) for task in tasks
    )
    assert 0.3 < share < 0.7


@pytest.mark.slow
def test_train_and_evaluation_share_no_position_whatever_the_seeds() -> None:
    trained = {
        content(board_of(task)) for seed in (0, 1, -5) for task in generate(seed, 50, "train")
    }
    evaluated = {
        content(board_of(task))
        for seed in (0, 2, 10**30)
        for task in generate(seed, 20, "evaluation")
    }
    assert not trained & evaluated


def test_swapped_colors_and_mirrored_boards_are_the_same_position() -> None:
    for task in generate(3, 20, "train"):
        board = board_of(task)
        for same in (board.mirror(), board.transform(chess.flip_horizontal)):
            assert content(same) == content(board)
            assert frame(same) == frame(board)


@pytest.mark.parametrize(
    "fen",
    [
        "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1",
        "r3k3/8/8/8/8/8/5PPP/6K1 b - - 0 1",
        "3k3r/8/8/8/8/8/PPP5/1K6 b - - 0 1",
    ],
)
def test_the_identity_of_a_position_never_changes(fen: str) -> None:
    # As White sees it, and of the two mirror images ("1k6..." and "6k1...") the smaller text.
    # Which positions are held out depends on it.
    assert content(chess.Board(fen)) == "1k6/ppp5/8/8/8/8/8/3K3R"


def test_no_position_comes_twice() -> None:
    tasks = generate(0, 150, "train", 1)
    assert len({content(board_of(task)) for task in tasks}) == 150
    assert len({task.key for task in tasks}) == 150


def test_the_same_arguments_give_the_same_tasks() -> None:
    random.seed(1)
    first = generate(3, 10, "train", (1, 5))
    random.seed(2)
    before = random.getstate()
    assert generate(3, 10, "train", (1, 5)) == first
    assert random.getstate() == before
    assert generate(4, 10, "train", (1, 5)) != first
    assert generate(3, 4, "train", (1, 5)) == first[:4]


def test_a_known_task_stays_what_it_is() -> None:
    # Written down so that a change of the tasks behind every published figure is seen.
    (task,) = generate(0, 1, "train", 1)
    assert task.key == "train-0/0"
    assert task.details["fen"] == "8/8/8/6r1/8/8/8/K1k3r1 b - - 0 1"
    assert task.answer == "Ra5#"


def test_positions_come_quickly() -> None:
    started = time.process_time()
    generate(5, 100, "train", (1, 3))
    # Measured at 0.25 seconds.
    assert time.process_time() - started < 2.5


@pytest.mark.parametrize("level", [0, 6, 1.5, True, "1", None, (3, 2), (0, 3), (1, 2, 3), ()])
def test_a_level_out_of_range_is_refused(level: Any) -> None:
    with pytest.raises(
        SettingError, match="env.generator.level must be a whole number from 1 to 5"
    ):
        generate(0, 1, "train", level)
