from __future__ import annotations

import pytest

chess = pytest.importorskip("chess", reason="needs the extra 'chess'")

from laconic.envs.library.checkmate.notation import move_in, parse, replay  # noqa: E402

OPEN = "r3k2r/8/8/8/8/2p5/1P6/R3K2R w KQkq - 0 1"
CROWDED = "4k3/P7/8/3B4/8/2n5/1P6/4K3 w - - 0 1"


@pytest.mark.parametrize(
    ("fen", "written", "move"),
    [
        (chess.STARTING_FEN, "e4", "e2e4"),
        (chess.STARTING_FEN, "e2-e4!", "e2e4"),
        (chess.STARTING_FEN, "Nf3", "g1f3"),
        (chess.STARTING_FEN, "Nf3#", "g1f3"),
        (chess.STARTING_FEN, "Ng1-f3+", "g1f3"),
        (chess.STARTING_FEN, "g1f3", "g1f3"),
        (chess.STARTING_FEN, "nf3", "g1f3"),
        (chess.STARTING_FEN, "Nf6", None),
        (chess.STARTING_FEN, "e7e5", None),
        (chess.STARTING_FEN, "0000", None),
        (chess.STARTING_FEN, "--", None),
        (chess.STARTING_FEN, "\u2658f3", "g1f3"),
        (chess.STARTING_FEN, "\u265e\ufe0ef3", "g1f3"),
        (chess.STARTING_FEN, "\u2659e4", "e2e4"),
        (chess.STARTING_FEN, "\u2655f3", None),
        (OPEN, "R:h8", "h1h8"),
        (CROWDED, "a8=\u2655", "a7a8q"),
        (OPEN, "O-O", "e1g1"),
        (OPEN, "0-0-0#", "e1c1"),
        (OPEN, "o-o-o", "e1c1"),
        (OPEN, "e1g1", "e1g1"),
        (OPEN, "e1h1", "e1g1"),
        (OPEN, "Rxh8\\#", "h1h8"),
        # The pawn on b2 may capture, so a small b is its file.
        (OPEN, "bxc3", "b2c3"),
        # No pawn can go from b to e6: here it is the bishop.
        (CROWDED, "be6", "d5e6"),
        (CROWDED, "a8=Q+", "a7a8q"),
        (CROWDED, "a8N", "a7a8n"),
        (CROWDED, "a7a8r", "a7a8r"),
        # Promotion without a piece is no move.
        (CROWDED, "a8", None),
        # Either rook may go there.
        ("4k3/8/8/8/8/4K3/8/R6R w - - 0 1", "Rd1", None),
        ("4k3/8/8/8/8/4K3/8/R6R w - - 0 1", "Rad1", "a1d1"),
    ],
)
def test_a_move_is_read_in_every_notation(fen: str, written: str, move: str | None) -> None:
    result = parse(chess.Board(fen), written)
    assert (result and result.uci()) == move


def test_the_last_move_of_a_text_counts_legal_or_not() -> None:
    board = chess.Board()
    knight = chess.Move.from_uci("g1f3")
    assert move_in(board, "The king on g8 moves? Rd8 or Qh7: I play Nf3") == knight
    assert move_in(board, "I play Nf3, then Rd8 and Qh7") is None
    # Neither the words nor the marker are read past to a legal move.
    assert move_in(board, "Nf3. The move is Qh7") is None
    assert move_in(board, "Nf3 #### Qh7") is None
    assert move_in(board, "") is None


def test_a_list_of_moves_wins_no_more_than_one_move() -> None:
    # Twenty moves are legal at first; of a list of them the last alone counts.
    board = chess.Board()
    listed = [board.san(move) for move in board.legal_moves]
    assert len(listed) == 20
    ballot = " ".join(move for move in listed if move[0] == "N")
    assert move_in(board, ballot) == board.parse_san(ballot.split()[-1])
    assert move_in(board, f"{ballot} Qh7") is None


def test_a_game_is_replayed() -> None:
    end = chess.Board("rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2")
    assert replay("1. f3 e5 2. g4").board_fen() == end.board_fen()
    assert replay("1.f3 e5 2.g4 Qh4# 3.").is_checkmate()
    assert replay("").fen() == chess.STARTING_FEN


def test_a_game_with_an_impossible_move_says_which() -> None:
    with pytest.raises(ValueError, match="half-move 3: illegal san: 'Ke3'"):
        replay("1. f3 e5 2. Ke3")
    with pytest.raises(ValueError, match="half-move 2: invalid san: 'e9'"):
        replay("1. f3 e9")
