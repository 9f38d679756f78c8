from __future__ import annotations

import pytest

chess = pytest.importorskip("chess", reason="needs the extra 'chess'")

from laconic.envs.library.checkmate.generate import side_to_move, tell  # noqa: E402


def told(fen: str, move: str) -> tuple[list[str], list[str]]:
    """Return all sentences, and the relevant ones."""
    board = chess.Board(fen)
    before = board.fen()
    statements, relevant = tell(board, board.parse_san(move))
    assert board.fen() == before
    return list(statements), [s for s, flag in zip(statements, relevant, strict=True) if flag]


def test_a_back_rank_mate_needs_rook_king_and_the_pawns_that_shut_it_in() -> None:
    statements, relevant = told("6k1/5ppp/8/8/8/8/8/K3R2B w - - 0 1", "Re8")
    assert statements == [
        "White king on a1.",
        "White rook on e1.",
        "White bishop on h1.",
        "Black king on g8.",
        "Black pawns on f7, g7 and h7.",
    ]
    assert relevant == ["White rook on e1.", "Black king on g8.", "Black pawns on f7, g7 and h7."]


def test_of_guards_that_can_stand_in_for_each_other_one_matters() -> None:
    # King and rook both guard the seventh rank; without either the other does.
    statements, relevant = told("k7/7R/1K6/8/8/8/8/4R3 w - - 0 1", "Re8")
    assert "White rooks on e1 and h7." in relevant
    assert "White king on b6." not in relevant
    assert len(statements) == 3


def test_a_defender_that_cannot_help_does_not_matter() -> None:
    statements, relevant = told("6k1/5ppp/8/8/8/8/7b/K3R3 w - - 0 1", "Re8")
    assert "Black bishop on h2." in statements
    assert "Black bishop on h2." not in relevant


def test_castling_rights_are_told_where_castling_is_possible_and_matter_when_it_mates() -> None:
    fen = "8/8/8/8/4R1R1/5k2/8/4K2R w K - 0 1"
    statements, relevant = told(fen, "O-O")
    assert statements[-1] == relevant[-1] == "White may castle."
    assert "White king on e1." in relevant


def test_capturing_en_passant_is_told_and_matters_when_it_mates() -> None:
    # h7-h5 was just played; the king on g6 has no square once the pawn captures in passing.
    board = chess.Board("8/5p1R/6k1/5pPp/5P2/8/8/R5K1 w - h6 0 1")
    assert board.has_legal_en_passant()
    statements, _ = tell(board, chess.Move.from_uci("g5h6"))
    assert statements[-1] == "White may capture en passant on h6."


def test_the_side_to_move_has_a_name() -> None:
    assert side_to_move(chess.Board()) == "White"
    assert side_to_move(chess.Board("8/8/8/8/8/8/8/K6k b - - 0 1")) == "Black"
