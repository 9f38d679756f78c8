"""From turns to sequences and padded tensors, token by token."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import counterfactual, own, team
from laconic.learners.advantages.group import Advantages
from laconic.learners.episode import Episode, Group, Parts, Turn
from laconic.learners.training.sequences import (
    Batch,
    TokenSequence,
    check_unit,
    collate,
    microbatches,
    sequences_of,
)

CENTRED = Advantages(scale="none")
SILENCE, END = 8, 9


def turn(agent: str, round: int, prompt: tuple[int, ...], reply: tuple[int, ...]) -> Turn:
    """Return a turn whose log-probabilities are minus a tenth of the token ids."""
    return Turn(
        agent=agent,
        round=round,
        message="",
        prompt_ids=prompt,
        reply_ids=reply,
        behavior_logprobs=tuple(-token / 10 for token in reply),
    )


def episode(pay: float) -> Episode:
    """Return two rounds of a helper that speaks and is then silent, and a solver that answers."""
    return Episode(
        task="t",
        turns=(
            turn("helper_0", 0, (1, 2), (3, END)),
            turn("solver_0", 0, (1,), (4,)),
            turn("helper_0", 1, (5,), (SILENCE, END)),
            turn("solver_0", 1, (6, 7), (2, END)),
        ),
        rewards={"helper_0": (-0.5, 0.25), "solver_0": (0.0, pay)},
    )


@pytest.fixture
def group() -> Group:
    return Group(task="t", episodes=(episode(0.0), episode(1.0)))


def test_an_agents_episode_is_its_conversation_with_all_replies_generated(group: Group) -> None:
    helper = sequences_of(group, credit=own, advantages=CENTRED)[0]
    assert (helper.task, helper.agent, helper.episode, helper.round) == ("t", "helper_0", 0, None)
    assert helper.token_ids == (1, 2, 3, END, 5, SILENCE, END)
    assert helper.generated == (False, False, True, True, False, True, True)
    assert helper.behavior_logprobs == (0.0, 0.0, -0.3, -0.9, 0.0, -0.8, -0.9)
    assert helper.return_to_go == -0.25  # -0.5 + 0.25


def test_sequences_come_by_episode_then_agent_and_carry_their_advantage(group: Group) -> None:
    sequences = sequences_of(group, credit=own, advantages=CENTRED)
    assert [(sequence.episode, sequence.agent) for sequence in sequences] == [
        (0, "helper_0"),
        (0, "solver_0"),
        (1, "helper_0"),
        (1, "solver_0"),
    ]
    # Helpers are paid alike; solvers 0 and 1 around their mean 0.5.
    assert [sequence.advantage for sequence in sequences] == [0.0, -0.5, 0.0, 0.5]


def test_team_credit_reaches_every_agent(group: Group) -> None:
    sequences = sequences_of(group, credit=team, advantages=CENTRED)
    # Team pay: -0.25 + 0 and -0.25 + 1, around their mean 0.25.
    assert [sequence.advantage for sequence in sequences] == [-0.5, -0.5, 0.5, 0.5]


def test_a_reply_is_trained_alone_with_what_came_before_as_context(group: Group) -> None:
    sequences = sequences_of(group, credit=own, advantages=CENTRED, unit="reply")
    first, second = sequences[:2]
    assert (first.agent, first.round, second.agent, second.round) == ("helper_0", 0, "helper_0", 1)
    assert first.token_ids == (1, 2, 3, END)
    assert first.generated == (False, False, True, True)
    assert second.token_ids == (1, 2, 3, END, 5, SILENCE, END)
    assert second.generated == (False, False, False, False, False, True, True)
    assert second.behavior_logprobs == (0.0, 0.0, 0.0, 0.0, 0.0, -0.8, -0.9)


def test_a_reply_is_paid_from_its_round_on(group: Group) -> None:
    sequences = sequences_of(group, credit=own, advantages=CENTRED, unit="reply")
    # Helper: -0.5 + 0.25 from round 0, 0.25 from round 1; solver: all of it comes in round 1.
    assert [sequence.return_to_go for sequence in sequences[:4]] == [-0.25, 0.25, 0.0, 0.0]
    assert [sequence.return_to_go for sequence in sequences[6:]] == [1.0, 1.0]


def test_replies_can_be_compared_round_by_round(group: Group) -> None:
    by_round = Advantages(group_by=("task", "agent", "round"), scale="none")
    sequences = sequences_of(group, credit=own, advantages=by_round, unit="reply")
    advantages = [sequence.advantage for sequence in sequences]
    assert advantages == [0.0, 0.0, -0.5, -0.5, 0.0, 0.0, 0.5, 0.5]


def test_agents_without_reply_tokens_make_no_sequence() -> None:
    scripted = Turn(agent="oracle_0", round=0, message="the answer is 4")
    played = Episode(task="t", turns=(scripted,), rewards={"oracle_0": (1.0,)})
    group = Group(task="t", episodes=(played, played))
    assert sequences_of(group, credit=own, advantages=CENTRED) == ()
    assert sequences_of(group, credit=own, advantages=CENTRED, unit="reply") == ()


def test_agents_that_are_not_trained_make_no_sequence_and_enter_no_comparison(group: Group) -> None:
    by_task = Advantages(group_by=("task",), scale="none")
    sequences = sequences_of(group, credit=own, advantages=by_task, agents=["solver_0"])
    pairs = [(sequence.agent, sequence.advantage) for sequence in sequences]
    assert pairs == [("solver_0", -0.5), ("solver_0", 0.5)]


def test_the_pivot_is_compared_but_not_learned_from() -> None:
    group = Group(task="t", episodes=tuple(episode(pay) for pay in (0.0, 1.0, 5.0)))
    median = Advantages(center="median", scale="none", leave_out_pivot=True)
    sequences = sequences_of(group, credit=own, advantages=median, agents=["solver_0"])
    pairs = [(sequence.episode, sequence.advantage) for sequence in sequences]
    assert pairs == [(0, -1.0), (2, 4.0)]


@pytest.mark.parametrize("unit", ["episode", "reply"])
def test_an_empty_reply_adds_context_but_nothing_to_learn(unit: str) -> None:
    turns = (turn("a", 0, (1,), ()), turn("a", 1, (2,), (3,)), turn("a", 2, (4,), ()))
    played = Episode(task="t", turns=turns, rewards={"a": (0.0, 1.0, 2.0)})
    group = Group(task="t", episodes=(played, played))
    sequences = sequences_of(group, credit=own, advantages=CENTRED, unit=unit)
    assert [sequence.token_ids for sequence in sequences] == [(1, 2, 3)] * 2
    assert [sequence.generated for sequence in sequences] == [(False, False, True)] * 2
    assert [sequence.return_to_go for sequence in sequences] == [3.0, 3.0]


def test_an_agent_without_rewards_is_named() -> None:
    played = Episode(task="t", turns=(turn("a", 0, (1,), (2,)),), rewards={"b": (1.0,)})
    with pytest.raises(SettingError, match="'a' spoke in task 't' but has no rewards"):
        sequences_of(Group(task="t", episodes=(played, played)), credit=own, advantages=CENTRED)


def test_whole_episodes_have_no_rounds_to_compare() -> None:
    with pytest.raises(SettingError, match="set learner.unit to 'reply'"):
        check_unit("episode", Advantages(group_by=("task", "agent", "round")))


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(
        SettingError, match="learner.unit must be one of episode, reply; got 'turn'"
    ):
        check_unit("turn", CENTRED)


def sequence(tokens: int, generated: int, advantage: float = 0.0) -> TokenSequence:
    """Token ids 1, 2, ...; the last ones generated with log-probability -1."""
    context = tokens - generated
    return TokenSequence(
        task="t",
        agent="a",
        episode=0,
        round=None,
        token_ids=tuple(range(1, tokens + 1)),
        generated=(False,) * context + (True,) * generated,
        behavior_logprobs=(0.0,) * context + (-1.0,) * generated,
        return_to_go=0.0,
        advantage=advantage,
    )


def test_the_first_token_cannot_be_generated() -> None:
    with pytest.raises(SettingError, match="'a' in task 't' starts with a generated token"):
        sequence(2, 2)


def test_lengths_must_agree() -> None:
    with pytest.raises(SettingError, match=r"must have one length; got \(2, 1, 1\)"):
        TokenSequence("t", "a", 0, None, (1, 2), (False,), (0.0,), 0.0)


def test_a_batch_needs_a_sequence() -> None:
    with pytest.raises(SettingError, match="at least one sequence"):
        collate([], pad_id=0)


@pytest.fixture
def batch() -> Batch:
    return collate([sequence(2, 1, -0.5), sequence(4, 2, 1.5)], pad_id=77)


def test_a_batch_is_padded_on_the_right(batch: Batch) -> None:
    assert batch.token_ids.tolist() == [[1, 2, 77, 77], [1, 2, 3, 4]]
    assert batch.attention_mask.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.generated_mask.tolist() == [
        [False, True, False, False],
        [False, False, True, True],
    ]
    assert batch.behavior_logprobs.tolist() == [[0.0, -1.0, 0.0, 0.0], [0.0, 0.0, -1.0, -1.0]]
    assert batch.advantages.tolist() == [-0.5, 1.5]


def test_a_batch_has_the_types_a_model_and_a_loss_expect(batch: Batch) -> None:
    assert batch.token_ids.dtype == torch.int64
    assert batch.attention_mask.dtype == batch.generated_mask.dtype == torch.bool
    assert batch.behavior_logprobs.dtype == batch.advantages.dtype == torch.float32


def test_a_batch_is_made_on_a_device_with_all_its_tensors() -> None:
    batch = collate([sequence(2, 1)], pad_id=77, device="meta")
    assert {getattr(batch, name).device.type for name in Batch.__slots__} == {"meta"}


def test_nothing_is_generated_on_padding(batch: Batch) -> None:
    assert not (batch.generated_mask & ~batch.attention_mask).any()


@pytest.mark.parametrize("unit", ["episode", "reply"])
def test_a_turn_that_is_not_trained_is_context_alone(unit: str) -> None:
    played = episode(1.0)
    turns = tuple(replace(t, trained=(t.agent, t.round) == ("helper_0", 1)) for t in played.turns)
    group = Group("t", (replace(played, turns=turns), played))
    sequences = sequences_of(group, credit=own, advantages=CENTRED, unit=unit, agents={"helper_0"})
    # The helper's first reply is read and not learned; the solver has nothing to learn at all.
    assert sequences[0].token_ids == (1, 2, 3, END, 5, SILENCE, END)
    assert sequences[0].generated == (False,) * 5 + (True, True)
    assert sequences[0].behavior_logprobs == (0.0,) * 5 + (-0.8, -0.9)


@pytest.mark.parametrize(("credit", "pays"), [(own, [-0.25, 0.25]), (counterfactual, [3.0, 5.0])])
def test_a_reply_under_a_counterfactual_credit_has_its_own_round_alone(credit, pays) -> None:
    played = episode(1.0)
    turns = tuple(replace(t, credit=Parts(3.0 + 2.0 * t.round, 0.0)) for t in played.turns)
    group = Group("t", (replace(played, turns=turns),) * 2)
    sequences = sequences_of(group, credit=credit, advantages=CENTRED, unit="reply")
    mine = [each for each in sequences if (each.agent, each.episode) == ("helper_0", 0)]
    assert [sequence.return_to_go for sequence in mine] == pays
    (whole, *_) = sequences_of(group, credit=counterfactual, advantages=CENTRED)
    assert whole.return_to_go == 8.0


def mixed_episode() -> Episode:
    """Make an episode in which an agent speaks, is given a message, and is silent."""
    loud, quoted, silent = (
        turn("a", 0, (1,), (3, END)),
        turn("a", 1, (2,), (4, END)),
        turn("a", 2, (6,), (SILENCE, END)),
    )
    turns = (
        replace(loud, message="three"),
        replace(quoted, message="four", trained=False),
        silent,
    )
    return Episode(task="t", turns=turns, rewards={"a": (0.0, 0.0, 1.0)})


def test_a_message_that_was_given_between_two_replies_is_context() -> None:
    group = Group("t", (mixed_episode(),) * 2)
    (whole, _) = sequences_of(group, credit=own, advantages=CENTRED)
    # Prompt and reply by turn: 1 | 3 9, 2 | 4 9 (given), 6 | 8 9.
    assert whole.token_ids == (1, 3, END, 2, 4, END, 6, SILENCE, END)
    assert [place for place, flag in enumerate(whole.generated) if flag] == [1, 2, 7, 8]
    assert whole.behavior_logprobs == (0, -0.3, -0.9, 0, 0, 0, 0, -0.8, -0.9)


def test_an_episode_is_silent_only_without_any_message_of_its_own() -> None:
    played = mixed_episode()
    loud, quoted, silent = played.turns
    cases = [
        ((loud, quoted, silent), False),
        ((quoted, silent), True),
        ((silent, loud), False),
        ((silent, silent), True),
        ((loud, loud), False),
    ]
    for turns, is_silent in cases:
        numbered = tuple(replace(t, round=number) for number, t in enumerate(turns))
        group = Group("t", (replace(played, turns=numbered),) * 2)
        (whole, _) = sequences_of(group, credit=own, advantages=CENTRED)
        assert whole.silent == is_silent, turns


def test_each_reply_is_silent_by_itself() -> None:
    group = Group("t", (mixed_episode(),) * 2)
    sequences = sequences_of(group, credit=own, advantages=CENTRED, unit="reply")
    first = [sequence for sequence in sequences if sequence.episode == 0]
    assert [(sequence.round, sequence.silent) for sequence in first] == [(0, False), (2, True)]
    # The given message is context of the later reply and no sequence of its own.
    assert [sequence.generated.count(True) for sequence in first] == [2, 2]


# Forward passes


def sequence_of(length: int) -> TokenSequence:
    """Return a sequence; sequences of other lengths have another beginning."""
    return TokenSequence(
        "t",
        "a_0",
        0,
        None,
        (length,) * length,
        (False,) * length,
        (0.0,) * length,
        return_to_go=0.0,
    )


def test_forward_passes_hold_what_fits_and_is_of_like_length():
    parts = microbatches([sequence_of(n) for n in (9, 2, 3, 20, 8, 2, 7, 40)], 24)
    # 3 is 1.5 times 2; 7, 8 and 9 make 27 tokens and so two passes; 40 is more than fits
    assert [[len(sequence.token_ids) for sequence in part] for part in parts] == [
        [2, 2, 3],
        [7, 8],
        [9],
        [20],
        [40],
    ]
    assert microbatches([], 24) == []


def test_the_return_of_an_episode_holds_the_rounds_before_the_agent_spoke() -> None:
    # The solver is paid .5 before it is asked, and answers in round 1 for 1 more.
    late = replace(episode(1.0), turns=episode(1.0).turns[2:])
    late = replace(late, rewards={**late.rewards, "solver_0": (0.5, 1.0)})
    group = Group(task="t", episodes=(late, late))
    solver = sequences_of(group, credit=own, advantages=CENTRED)[1]
    assert (solver.agent, solver.return_to_go) == ("solver_0", 1.5)
