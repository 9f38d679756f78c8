"""Two groups of one agent, and what an update of a learner with them has left."""

from __future__ import annotations

from laconic.learners.advantages.credit import own
from laconic.learners.advantages.group import Advantages
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.training.sequences import sequences_of


def episode(solved: bool, tokens: int) -> Episode:
    bill = 0.04 * tokens
    said = Turn("s_0", 0, "x" * tokens, (1,), (2,) * tokens, (-0.123456789,) * tokens, tokens)
    return Episode(
        "t",
        (said,),
        {"s_0": (float(solved) - bill,)},
        solved=solved,
        task_rewards={"s_0": (float(solved),)},
        bills={"s_0": (bill,)},
        common=True,
    )


FLAT = Group("t", (episode(False, 10), episode(False, 10)))
CONTRAST = Group("t", (episode(True, 10), episode(False, 30)))


def learner(*groups: Group) -> GroupLearner:
    """What an update of one policy has left, without the update."""
    made = GroupLearner.__new__(GroupLearner)
    unscaled = Advantages(scale="none")
    made.compared = [
        [sequences_of(each, credit=own, advantages=unscaled, charge_power=1.0) for each in groups]
    ]
    return made
