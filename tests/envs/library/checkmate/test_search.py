from __future__ import annotations

import random

import pytest

chess = pytest.importorskip("chess", reason="needs the extra 'chess'")

from laconic.envs.library.checkmate.search import mating_moves  # noqa: E402


def by_trying_all(board: chess.Board) -> set[chess.Move]:
    results = set()
    for move in list(board.legal_moves):
        board.push(move)
        if board.is_checkmate():
            results.add(move)
        board.pop()
    return results


@pytest.mark.parametrize(
    ("fen", "moves"),
    [
        # No mate; a board without a king to mate; back rank; both rooks can.
        (chess.STARTING_FEN, []),
        ("8/8/8/8/8/8/8/K6R w - - 0 1", []),
        ("6k1/5ppp/8/8/8/8/8/K6R w - - 0 1", []),
        ("6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1", ["e1e8"]),
        ("6k1/5ppp/8/8/8/8/8/K2RR3 w - - 0 1", ["d1d8", "e1e8"]),
        # Double check by a knight that uncovers a queen; only the knight's check mates.
        ("3rkr2/3ppp2/8/4N3/8/8/4Q3/4K3 w - - 0 1", []),
        # Promotion, to a rook as well as to a queen.
        ("7k/4P1pp/8/8/8/8/8/K7 w - - 0 1", ["e7e8q", "e7e8r"]),
        # Castling: the rook comes to d1, the king is out of its way.
        ("8/8/8/8/8/2R1R3/8/R2k3K b - - 0 1", []),
        ("3k4/2n1p3/8/8/8/8/2R1R3/R3K3 w Q - 0 1", []),
    ],
)
def test_known_positions(fen: str, moves: list[str]) -> None:
    board = chess.Board(fen)
    result = mating_moves(board)
    assert {move.uci() for move in result} == {move.uci() for move in by_trying_all(board)}
    if moves:
        assert sorted(move.uci() for move in result) == moves
    assert board.fen() == fen


def test_castling_and_en_passant_can_mate() -> None:
    # The king on f3 is shut in; castling brings the rook to f1.
    castling = chess.Board("8/8/8/8/4R1R1/5k2/8/4K2R w K - 0 1")
    assert {move.uci() for move in mating_moves(castling)} == {
        move.uci() for move in by_trying_all(castling)
    }
    assert "e1g1" in {move.uci() for move in mating_moves(castling)}


def test_it_finds_what_trying_every_move_finds() -> None:
    generator = random.Random(0)
    count = 0
    for _ in range(6):
        board = chess.Board()
        while len(board.move_stack) < 150 and (moves := list(board.legal_moves)):
            expected = by_trying_all(board)
            count += len(expected)
            assert set(mating_moves(board)) == expected, board.fen()
            board.push(generator.choice(moves))
    assert count > 5


def test_it_stops_at_the_number_asked_for() -> None:
    board = chess.Board("6k1/5ppp/8/8/8/8/8/K2RR3 w - - 0 1")
    assert len(mating_moves(board, 1)) == 1
