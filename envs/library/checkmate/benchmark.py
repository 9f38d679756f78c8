"""Checkmate-in-one: find the move that mates, on real game positions and on generated ones.

Source: the task `checkmate_in_one` of BIG-bench (Srivastava et al., arXiv:2206.04615); rows are
`{"input", "target"}`, a game's moves and the mating one. Needs python-chess (extra `chess`,
GPL-3.0-or-later), which is imported only where a board is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from laconic.envs.benchmarks.base import SPLIT, MarkedAnswers, majority, priced
from laconic.envs.benchmarks.generation import Span
from laconic.envs.benchmarks.sources import Row, field
from laconic.envs.declarations import Recipe
from laconic.envs.errors import SourceError
from laconic.envs.library.checkmate.move_texts import commitment
from laconic.envs.task import Score, Split, Task


class Checkmate(MarkedAnswers):
    """Chess positions in which the side to move can mate at once.

    Sources are JSON Lines, BIG-bench's `task.json`, or `hub:<id>`. Setting of `generate`: `level`,
    from 1 (a queen or two rooks, and little else) to 5 (games with more than 20 pieces). Without
    python-chess `load`, `generate` and `score` raise ImportError.
    """

    name = "checkmate"
    recipe = Recipe(Path(__file__).with_name("policy"), minutes=15, max_reply_tokens=65, target=0.2)
    defaults = {
        **SPLIT,
        **priced(17),
        "team": {"solver": 1, "attack": 1, "escape": 1},
        "schedule": [["attack", "escape"], "solver"],
        "budget": {"message": 96, "episode": 384},
        "generator": {"level": 1},
    }
    roles = ("solver", "attack", "escape")
    goal = (
        "Your team looks for the move that gives checkmate at once. The pieces on the board may be"
        " spread over the team, and some of them do not matter."
    )
    answer_form = "State the move as `#### move`, for example `#### Qh7#`."
    duties = {
        "solver": "You give the answer: put together the pieces you know and those the others"
        f" tell you, and find the mate. {answer_form}",
        "attack": "You look at the attack: tell the solver, in few words, the pieces you know"
        " that can give the check or guard squares around the king that is mated, and leave out"
        " the rest.",
        "escape": "You look at the escapes: tell the solver, in few words, where the king that is"
        " mated stands, and the pieces you know that take squares from it or could save it, and"
        " leave out the rest.",
    }

    hints = {
        "solver": "Write only the move that gives checkmate, after ####. If it is the queen to h7,"
        " write: #### Qh7#",
        **dict.fromkeys(
            ("attack", "escape"),
            "Say again, in one short sentence, the pieces that you know and where they stand.",
        ),
    }
    documents = {"evaluation": ("task.json",)}
    commitment = staticmethod(commitment)

    @staticmethod
    def generator(seed: int, count: int, split: Split, level: Span = (1, 3)) -> tuple[Task, ...]:
        """Find mate-in-one positions; see `envs.library.checkmate.generate`."""
        from laconic.envs.library.checkmate.generate import generate

        return generate(seed, count, split, level)

    def read(self, row: Row, where: str, key: str) -> Task:
        """Return the task of a row: the moves of a game in `input`, and its mate in `target`."""
        from laconic.envs.library.checkmate.generate import task_of
        from laconic.envs.library.checkmate.notation import parse, replay
        from laconic.envs.library.checkmate.search import mates

        moves, target = field(row, "input", where), _target(row, where)
        try:
            board = replay(moves)
        except ValueError as error:
            raise SourceError(
                f"{where}: expected field 'input' to be the moves of a game; {error}"
            ) from error
        mate = parse(board, target)
        if mate is None or not mates(board, mate):
            raise SourceError(
                f"{where}: expected field 'target' to be a move that mates after those of 'input';"
                f" got {target!r}"
            )
        return task_of(key, board, mate, moves.strip())

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Make the move most agents answer with; it scores 1 when it is legal and mates.

        Any mating move counts. Of a text one move counts, legal or not: the marked one, or else the
        last. Agents whose move is not legal have no vote.
        """
        from laconic.envs.library.checkmate.notation import move_in
        from laconic.envs.library.checkmate.python_chess import chess
        from laconic.envs.library.checkmate.search import mates

        board = chess.Board(task.details["fen"])
        votes = {text: move_in(board, text) for text in answers.values()}
        move = majority(votes[text] for text in answers.values())
        solved = move is not None and mates(board, move)
        form = self._form(answers, (text for text in votes if votes[text] == move), solved)
        return Score(float(solved), solved, board.san(move) if move else "", measures=form)


def _target(row: Row, where: str) -> str:
    """Return the field `target`, or else the move that `target_scores` gives 1."""
    if "target" in row or "target_scores" not in row:
        return field(row, "target", where)
    scores = field(row, "target_scores", where, dict)
    right = [str(move) for move, value in scores.items() if value == 1]
    if not right:
        raise SourceError(
            f"{where}: expected a move of 'target_scores' to have the value 1;"
            f" got {repr(scores)[:80]}"
        )
    return right[0]


BENCHMARK = Checkmate()
