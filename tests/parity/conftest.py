"""What the comparisons with other libraries share: random conversations, and the table at the end.

Run with `pytest -m parity tests/parity` where the library is installed; elsewhere they skip.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from learners.advantages import Advantages
from learners.credit import own
from learners.episode import Episode, Group, Turn
from learners.sequences import Batch, TokenSequence, collate, sequences_of

VOCABULARY = 24
PROMPT = 3
PAD = 0

_rows: dict[tuple[str, ...], list[tuple[int, tuple[int, ...], float, float]]] = {}


@pytest.fixture
def record() -> Callable[..., None]:
    """Keep the differences of one seed for the table.

    The gradient's difference is NaN where a comparison has none.
    """

    def keep(
        row: tuple[str, str, str],
        seed: int,
        shape: tuple[int, ...],
        value: float,
        gradient: float = float("nan"),
    ) -> None:
        _rows.setdefault(row, []).append((seed, tuple(shape), value, gradient))

    return keep


@pytest.fixture
def conversations() -> Callable[[int], Batch]:
    """Random two-round conversations of three agents in four episodes, as a batch.

    Every agent reads, speaks, reads and speaks again or keeps silent; one more row has no generated
    token at all, as a turn that was masked entirely would.
    """

    def build(seed: int) -> Batch:
        draw = random.Random(seed)

        def turn(agent: str, turn_round: int, prompt: int, reply: int) -> Turn:
            return Turn(
                agent=agent,
                round=turn_round,
                message="",
                prompt_ids=tuple(draw.randrange(1, VOCABULARY) for _ in range(prompt)),
                reply_ids=tuple(draw.randrange(1, VOCABULARY) for _ in range(reply)),
                behaviour_logprobs=tuple(-draw.expovariate(0.3) for _ in range(reply)),
            )

        agents = ("helper_0", "helper_1", "solver_0")
        episodes = tuple(
            Episode(
                task="t",
                turns=tuple(
                    turn(agent, number, PROMPT if number == 0 else 2, draw.choice((1, 2, 5, 11)))
                    for number in (0, 1)
                    for agent in agents
                ),
                rewards={agent: (draw.gauss(0, 1), draw.gauss(0, 1)) for agent in agents},
            )
            for _ in range(4)
        )
        made = sequences_of(Group("t", episodes), credit=own, advantages=Advantages())
        nothing = TokenSequence(
            task="t",
            agent="solver_0",
            episode=0,
            round=None,
            token_ids=tuple(range(1, 9)),
            generated=(False,) * 8,
            behaviour_logprobs=(0.0,) * 8,
            pay=0.0,
            advantage=1.5,
        )
        return collate([*made, nothing], pad_id=PAD)

    return build


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the largest differences as a markdown table."""
    if not _rows:
        return
    line = terminalreporter.write_line
    line("")
    line("| library | theirs | ours | seeds | shapes | value differs by | gradient differs by |")
    line("|---|---|---|---|---|---|---|")
    for row, found in sorted(_rows.items()):
        seeds = sorted({seed for seed, *_ in found})
        shapes = sorted({"x".join(map(str, shape)) for _, shape, *_ in found})
        extent = shapes[0] if len(shapes) == 1 else f"{shapes[0]} to {shapes[-1]}"
        value = max(difference for *_, difference, _ in found)
        gradients = [difference for *_, difference in found if difference == difference]
        gradient = f"{max(gradients):.1e}" if gradients else "-"
        line(
            f"| {' | '.join(row)} | {seeds[0]} to {seeds[-1]} | {extent}"
            f" | {value:.1e} | {gradient} |"
        )
