"""Positions in which exactly one move mates, found by playing and searching.

Levels 1 to 3 set up few pieces at random and search the position; levels 4 and 5 play games of
random legal moves from the first position on and search every position on the way. The split of
a position follows from its frame (kings and pawns) before any search, so it costs little.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from laconic.envs.benchmarks.generation import split_of
from laconic.envs.library.checkmate.python_chess import chess
from laconic.envs.library.checkmate.search import mating_moves
from laconic.envs.task import Split

SIZES = {1: (4, 5), 2: (6, 8), 3: (9, 13), 4: (9, 20), 5: (21, 32)}
"""Fewest and most pieces of each level, kings among them."""
_SAMPLED = 3
"""Levels up to this one are set up, the others played."""
_LONGEST = 300
"""Half-moves after which a game is given up."""
_PER_GAME = 3
"""Most positions taken from one game, so that none rules the tasks."""
_AT_THE_RIM = 0.75
"""Probability that the mated king is set up at the rim, where most mates happen."""

_ATTACKS = (
    (chess.QUEEN,),
    (chess.ROOK, chess.ROOK),
    (chess.QUEEN, chess.ROOK),
    (chess.QUEEN, chess.KNIGHT),
    (chess.QUEEN, chess.BISHOP),
)
_SIMPLE_ATTACKS = 2
"""Number of attacks that level 1 uses: a queen, or two rooks."""
_OTHERS = (chess.PAWN, chess.PAWN, chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK)
_IDLE = (chess.PAWN, chess.PAWN, chess.KNIGHT, chess.BISHOP)
_RIM = tuple(chess.SquareSet(chess.BB_RANK_1 | chess.BB_RANK_8 | chess.BB_FILE_A | chess.BB_FILE_H))
_PAWN_SQUARES = tuple(chess.SquareSet(~(chess.BB_RANK_1 | chess.BB_RANK_8) & chess.BB_ALL))


def positions(random: Random, level: int, split: Split) -> Iterator[tuple[chess.Board, chess.Move]]:
    """Endless positions of a level (of `SIZES`) and a split, each with its only mating move."""
    find = _set_up if level <= _SAMPLED else _play
    while True:
        yield from find(random, level, split)


def frame(board: chess.Board) -> str:
    """Return the placement of kings and pawns, whose digest determines the split of a position.

    Swapped colors and a mirrored board give the same frame.
    """
    masks = []
    for color in (board.turn, not board.turn):
        for pieces in (board.kings, board.pawns):
            mask = pieces & board.occupied_co[color]
            masks.append(mask if board.turn == chess.WHITE else chess.flip_vertical(mask))
    return repr(min(masks, [chess.flip_horizontal(mask) for mask in masks]))


def content(board: chess.Board) -> str:
    """Return the identity of a position, independent of colors and of mirroring."""
    rows = board.board_fen().split("/")
    if board.turn == chess.BLACK:
        rows = [row.swapcase() for row in reversed(rows)]
    return min("/".join(rows), "/".join(row[::-1] for row in rows))


def _set_up(random: Random, level: int, split: Split) -> Iterator[tuple[chess.Board, chess.Move]]:
    """Place pieces at random; return the position if exactly one move mates."""
    board = _placed(random, level)
    if split_of(frame(board)) != split or board.was_into_check():
        return
    mates = mating_moves(board, 2)
    if len(mates) == 1 and board.is_valid():
        yield board, mates[0]


def _placed(random: Random, level: int) -> chess.Board:
    attack = random.choice(_ATTACKS[: _SIMPLE_ATTACKS if level == 1 else None])
    count = random.randint(*SIZES[level])
    others = random.choices(_IDLE if level == 1 else _OTHERS, k=max(0, count - 2 - len(attack)))
    board = chess.Board(None)
    board.turn = random.random() < 0.5
    mated = random.choice(_RIM) if random.random() < _AT_THE_RIM else random.randrange(64)
    board.set_piece_at(mated, chess.Piece(chess.KING, not board.turn))
    men = [(chess.KING, board.turn), *((kind, board.turn) for kind in attack)]
    men += [(kind, random.random() < 0.5) for kind in others]
    for kind, color in men:
        squares = _PAWN_SQUARES if kind == chess.PAWN else chess.SQUARES
        square = random.choice(squares)
        while board.occupied & chess.BB_SQUARES[square]:
            square = random.choice(squares)
        board.set_piece_at(square, chess.Piece(kind, color))
    return board


def _play(random: Random, level: int, split: Split) -> Iterator[tuple[chess.Board, chess.Move]]:
    """Play random moves that never mate; yield the positions with exactly one mate."""
    board, (fewest, greatest) = chess.Board(), SIZES[level]
    used: set[chess.Move] = set()
    for _ in range(_LONGEST):
        pieces = board.occupied.bit_count()
        if pieces < fewest or len(used) == _PER_GAME:
            return
        if pieces <= greatest and split_of(frame(board)) == split:
            mates = mating_moves(board, 2)
            if len(mates) == 1 and mates[0] not in used:
                used.add(mates[0])
                yield board.copy(stack=False), mates[0]
        move = _random_move(random, board)
        if move is None:
            return
        board.push(move)


def _random_move(random: Random, board: chess.Board) -> chess.Move | None:
    """Return a random legal move; None where the game is over."""
    # Legality is tested move by move, which is cheaper than for all of them.
    moves = list(board.generate_pseudo_legal_moves())
    random.shuffle(moves)
    return next(filter(board.is_legal, moves), None)
