"""Which sequences share a row of tokens, and that they stay together."""

from __future__ import annotations

from laconic.learners.training.sequences import (
    TokenSequence,
    collate,
    conversations,
    microbatches,
    rows_of,
)


def sequence(
    token_ids: tuple[int, ...], agent: str = "a", episode: int = 0, round: int | None = 0
) -> TokenSequence:
    length = len(token_ids)
    generated = (False,) * (length - 1) + (True,)
    return TokenSequence(
        "t", agent, episode, round, token_ids, generated, (0.0,) * length, return_to_go=0.0
    )


MIXED = [
    sequence(ids) for ids in [(1, 2), (5, 6, 7), (1, 2, 3, 4), (1, 3), (1, 2), (1, 2, 3), (5, 6, 7)]
]


def test_a_row_holds_its_beginnings_and_its_equals():
    rows = rows_of(MIXED)
    # by length; (1, 3) is no beginning of (1, 2, 3, 4), though it stands between its beginnings
    assert [sorted(row) for row in rows] == [[3], [1, 6], [0, 2, 4, 5]]
    assert [len(MIXED[row[0]].token_ids) for row in rows] == [2, 3, 4]
    assert rows_of([]) == []


def test_a_number_is_not_the_beginning_of_another():
    assert len(rows_of([sequence((1, 2)), sequence((1, 23)), sequence((12, 3))])) == 3


def test_a_batch_says_which_row_holds_a_sequence():
    batch = collate(MIXED, pad_id=0)
    row_of = batch.row_of.tolist()
    assert [row_of[index] for index in (0, 2, 3, 4, 5)] == [2, 2, 3, 2, 2]
    assert row_of[1] == row_of[6] and row_of[1] in (1, 6)
    for index, row in enumerate(row_of):
        ids = MIXED[index].token_ids
        assert MIXED[row].token_ids[: len(ids)] == ids


def test_a_pass_counts_a_shared_row_once_and_keeps_it_whole():
    parts = microbatches(MIXED, 8)
    # Rows of 2, 3 and 4 tokens: two of 3 are 6 tokens, three of 4 would be 12.
    assert [sorted(sequence.token_ids for sequence in part) for part in parts] == [
        [(1, 3), (5, 6, 7), (5, 6, 7)],
        [(1, 2), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    ]


def test_a_conversation_is_the_replies_of_one_agent_in_one_episode():
    sequences = [
        sequence((1, 2), "a", 0, 0),
        sequence((1, 2, 3), "a", 0, 2),
        sequence((1, 2), "b", 0, 0),
        sequence((1, 2), "b", 1, 1),
        # the same task drawn again
        sequence((1, 2), "b", 1, 0),
    ]
    assert [len(conversation) for conversation in conversations(sequences)] == [2, 1, 1, 1]
    assert [sequence for each in conversations(sequences) for sequence in each] == sequences
    assert conversations([]) == []


def test_whole_episodes_are_conversations_by_themselves():
    sequences = [sequence((1, 2), "a", 0, None)] * 3
    assert [len(conversation) for conversation in conversations(sequences)] == [1, 1, 1]
