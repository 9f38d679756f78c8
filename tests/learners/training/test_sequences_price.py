"""How price and masks enter the sequences of a group, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.learners.advantages.credit import own
from laconic.learners.advantages.group import Advantages
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.training.sequences import rescaled, sequences_of


def episode(solved: bool, tokens: int, truncated: bool = False) -> Episode:
    """Return an episode of tokens at 0.04 each (a price of 2 per 50), paid 1 if it is right."""
    bill = 0.04 * tokens
    turn = Turn("s", 0, "x" * tokens, (1,), (2,) * tokens, (-0.5,) * tokens, tokens)
    return Episode(
        "t",
        (replace(turn, truncated=truncated),),
        {"s": (float(solved) - bill,)},
        solved=solved,
        task_rewards={"s": (float(solved),)},
        bills={"s": (bill,)},
        common=True,
    )


def test_an_advantage_follows_from_task_reward_bill_center_and_scale() -> None:
    # X = T - C, with C = 0.04 x tokens:
    #   right in 10 tokens 1 - 0.4 = 0.6       wrong in 10 tokens -0.4
    #   right in 30 tokens 1 - 1.2 = -0.2      wrong in 30 tokens -1.2
    group = Group(
        "t", (episode(True, 10), episode(True, 30), episode(False, 10), episode(False, 30))
    )
    sequences = sequences_of(group, credit=own, advantages=Advantages(scale="none"))
    assert [each.return_to_go for each in sequences] == pytest.approx([0.6, -0.2, -0.4, -1.2])
    # Center -0.3; the task part is around 0.5, the price part around 0.8.
    assert [each.advantage for each in sequences] == pytest.approx([0.9, 0.1, -0.1, -0.9])
    parts = [each.breakdown for each in sequences]
    assert [part.task_advantage for part in parts] == pytest.approx([0.5, 0.5, -0.5, -0.5])
    assert [part.cost for part in parts] == pytest.approx([0.4, 1.2, 0.4, 1.2])
    for part in parts:
        assert part.comparison == pytest.approx((-0.3, 1.0))


def test_the_standard_deviation_cancels_the_price_where_all_are_right() -> None:
    # X = 1 - 0.4, 1 - 1.2: mean 0.2, sample std 0.4 x sqrt(2) = 0.566. Twice the price, X = 0.2 and
    # -1.4: the std doubles too. Unscaled, twice the price pushes twice as hard.
    cheap = Group("t", (episode(True, 10), episode(True, 30)))
    dear = Group("t", (episode(True, 20), episode(True, 60)))

    def first(group: Group, scale: str) -> float:
        advantages = Advantages(scale=scale, eps=1e-9)
        return sequences_of(group, credit=own, advantages=advantages)[0].advantage

    assert first(cheap, "std") == pytest.approx(0.5**0.5)
    assert first(dear, "std") == pytest.approx(first(cheap, "std"))
    assert first(cheap, "none") == pytest.approx(0.4)
    assert first(dear, "none") == pytest.approx(0.8)


def test_a_group_that_solves_nothing_pays_what_one_that_solves_all_pays() -> None:
    # X: -0.4 and -1.2, or 0.6 and -0.2; both around their mean.
    for solved in (False, True):
        group = Group("t", (episode(solved, 10), episode(solved, 30)))
        sequences = sequences_of(group, credit=own, advantages=Advantages(scale="none"))
        assert [each.advantage for each in sequences] == pytest.approx([0.4, -0.4])


def test_a_cut_reply_stays_in_baseline_and_divisor_and_leaves_the_loss() -> None:
    # Returns 1, 1, 0, 0, 0, 0 of which three of the zeros are cut: the baseline is 1/3 over six.
    episodes = [episode(True, 1), episode(True, 1), episode(False, 1)]
    cut = [episode(False, 3, truncated=True)] * 3
    free = tuple(replace(each, bills={}) for each in (*episodes, *cut))
    free = tuple(replace(each, task_rewards={"s": (float(each.solved),)}) for each in free)
    sequences = sequences_of(
        Group("t", free), credit=own, advantages=Advantages(scale="none"), mask_truncated=True
    )
    assert [each.advantage for each in sequences] == pytest.approx([2 / 3, 2 / 3, *[-1 / 3] * 4])
    assert [sum(each.generated) for each in sequences] == [1, 1, 1, 0, 0, 0]
    assert [each.token_ids for each in sequences[3:]] == [(1, 2, 2, 2)] * 3
    assert all(each.behavior_logprobs == (0.0,) * 4 for each in sequences[3:])


def test_an_agent_whose_only_message_was_cut_is_not_silent() -> None:
    group = Group("t", (episode(True, 2), episode(False, 3, truncated=True)))
    spoke = sequences_of(group, credit=own, advantages=Advantages(), mask_truncated=True)
    assert [each.silent for each in spoke] == [False, False]
    mute = replace(group.episodes[1].turns[0], message="")
    silent = replace(group.episodes[1], turns=(mute,))
    sequences = sequences_of(
        Group("t", (group.episodes[0], silent)), credit=own, advantages=Advantages()
    )
    assert [each.silent for each in sequences] == [False, True]


def test_a_later_reply_still_counts_after_one_that_was_cut() -> None:
    first = Turn("s", 0, "long", (1,), (2, 3), (-0.1, -0.2), truncated=True)
    second = Turn("s", 1, "7", (4,), (5,), (-0.3,))
    played = Episode("t", (first, second), {"s": (0.0, 1.0)})
    (whole, *_) = sequences_of(
        Group("t", (played, played)), credit=own, advantages=Advantages(), mask_truncated=True
    )
    assert whole.generated == (False, False, False, False, True)
    assert whole.behavior_logprobs == (0.0, 0.0, 0.0, 0.0, -0.3)
    replies = sequences_of(
        Group("t", (played, played)),
        credit=own,
        advantages=Advantages(),
        unit="reply",
        mask_truncated=True,
    )
    assert [sum(each.generated) for each in replies[:2]] == [0, 1]


def test_an_update_can_be_divided_by_one_scale() -> None:
    group = Group("t", (episode(True, 10), episode(False, 10)))
    sequences = sequences_of(group, credit=own, advantages=Advantages(scale_over="batch"))
    halved = rescaled(sequences, 2.0)
    assert [each.advantage for each in halved] == [each.advantage / 2 for each in sequences]
    assert [each.breakdown.comparison.scale for each in halved] == [2.0, 2.0]
    assert [each.breakdown.task_advantage for each in halved] == pytest.approx([0.25, -0.25])
