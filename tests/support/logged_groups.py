"""Two groups of one agent, and what an update of a learner with them has left."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from laconic.learners.advantages.credit import own
from laconic.learners.advantages.group import Advantages
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.distributed.processes import SINGLE_PROCESS
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.training.sequences import TokenSequence, sequences_of


def episode(solved: bool, tokens: int) -> Episode:
    bill = 0.04 * tokens
    turn = Turn("s_0", 0, "x" * tokens, (1,), (2,) * tokens, (-0.123456789,) * tokens, tokens)
    return Episode(
        "t",
        (turn,),
        {"s_0": (float(solved) - bill,)},
        solved=solved,
        task_rewards={"s_0": (float(solved),)},
        bills={"s_0": (bill,)},
        common=True,
    )


FLAT = Group("t", (episode(False, 10), episode(False, 10)))
CONTRAST = Group("t", (episode(True, 10), episode(False, 30)))


class Tokenizer:
    """Token 2 is the word "so"."""

    def batch_decode(self, rows: list[list[int]]) -> list[str]:
        return ["".join(" so" if token == 2 else "?" for token in row) for row in rows]


class Trainer:
    """Trainer after an update that added 0.1 to the log-probability of every generated token."""

    agents = ("s_0",)
    policy = SimpleNamespace(tokenizer=Tokenizer())

    def logprobs(self, sequences: Sequence[TokenSequence]) -> list[tuple[float, ...]]:
        return [
            tuple(
                value + 0.1 if generated else 0.0
                for value, generated in zip(each.behavior_logprobs, each.generated, strict=True)
            )
            for each in sequences
        ]


def learner(*groups: Group) -> GroupLearner:
    """Return a learner in the state after an update of one policy, without the update."""
    result = GroupLearner.__new__(GroupLearner)
    unscaled = Advantages(scale="none")
    result._trainers, result._processes = [Trainer()], SINGLE_PROCESS
    result.compared = [[sequences_of(each, credit=own, advantages=unscaled) for each in groups]]
    return result
