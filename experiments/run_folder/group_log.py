"""Record training groups in `groups.jsonl`, from which every advantage can be computed by hand.

Every `EVERY` updates one group is written: its turns, and its sequences with task part T, cost C
at the price of the update, center, scale and advantage. A turn says whether its reply was learned
from. For each reply token it has the id, the text, and the log-probabilities at sampling and after
the update. When the file reaches `MOST_BYTES`, every second group is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from laconic.experiments.run_folder.folder import RunFolder, read_rows, write_atomically
from laconic.learners.algorithms.base import Learner
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.training.sequences import TokenSequence

EVERY = 10
"""Number of updates between two groups; the first update is always written."""
MOST_BYTES = 2_000_000
"""Maximum size of the file, bytes."""
_DIGITS = 6
_OfTurns = dict[tuple[int, str, int], list[float]]
"""Episode, agent and round of a turn -> a number for each of its reply tokens."""


def log_group(folder: RunFolder, learner: Learner, groups: Sequence[Group], step: int) -> None:
    """Write one group of an update to the run folder, if the step is due.

    This is the first group of this run with an advantage other than 0, else the first group.
    Learners that do not compare groups write nothing.

    Args:
        folder: run folder.
        learner: learner, after its update with the groups.
        groups: groups of the update.
        step: number of the update, from 1.
    """
    if not isinstance(learner, GroupLearner) or (step != 1 and step % EVERY):
        return
    compared = {
        index: [sequence for by_group in learner.compared for sequence in by_group[index]]
        for index, group in enumerate(groups)
        if group.own
    }
    if not compared:
        return
    contrast = (
        index for index, each in compared.items() if any(sequence.advantage for sequence in each)
    )
    index = next(contrast, next(iter(compared)))
    row = _row(step, groups[index], compared[index], learner, learner.present_logprobs(index))
    _make_room(folder.groups, len(json.dumps(row)))
    folder.append_group(row)


def nearest(path: Path, step: int | None) -> dict[str, Any] | None:
    """Return the row of a `groups.jsonl` with the nearest step; for None, the last row.

    Of two equally near rows it is the earlier one. Return None if there are no rows.
    """
    rows = read_rows(path)
    if not rows:
        return None
    if step is None:
        return rows[-1]
    return min(rows, key=lambda row: (abs(row["step"] - step), row["step"]))


def _make_room(path: Path, coming: int) -> None:
    """Drop every second group until the next row fits."""
    while path.exists() and path.stat().st_size + coming > MOST_BYTES:
        lines = path.read_text("utf-8").splitlines(keepends=True)
        every_second = lines[::2] if len(lines) > 1 else []
        write_atomically(path, "".join(every_second))


def token_texts(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[str]:
    """Return the text of each token; together they are about the text of all.

    A token is decoded after the one before it, because some tokenizers drop the space before a
    first word. A character of several tokens is shown as U+FFFD.
    """
    pairs = tokenizer.batch_decode([list(ids[max(i - 1, 0) : i + 1]) for i in range(len(ids))])
    alone = tokenizer.batch_decode([[token] for token in ids])
    return [
        pair.removeprefix(before) if pair.startswith(before) else own
        for before, pair, own in zip(["", *alone], pairs, alone, strict=False)
    ]


def _row(
    step: int,
    group: Group,
    sequences: Sequence[TokenSequence],
    learner: GroupLearner,
    present: Sequence[tuple[TokenSequence, Sequence[float]]],
) -> dict[str, Any]:
    after: _OfTurns = {}
    learned: _OfTurns = {}
    for sequence, logprobs in present:
        after |= _by_turn(group, sequence, logprobs)
    for sequence in sequences:
        learned |= _by_turn(group, sequence, sequence.behavior_logprobs)
    tokenizers = learner.tokenizers
    return {
        "step": step,
        "task": group.task,
        "episodes": [
            _episode(episode, index, tokenizers, learned, after)
            for index, episode in enumerate(group.episodes)
        ],
        "sequences": [_sequence(sequence) for sequence in sequences],
    }


def _by_turn(group: Group, sequence: TokenSequence, logprobs: Sequence[float]) -> _OfTurns:
    """Cut (tokens,) numbers of a sequence into those of its generated replies, by their turn."""
    parts: _OfTurns = {}
    end = 0
    for turn in group.episodes[sequence.episode].turns:
        if turn.agent != sequence.agent:
            continue
        begin = end + len(turn.prompt_ids)
        end = begin + len(turn.reply_ids)
        if any(sequence.generated[begin:end]):
            parts[sequence.episode, turn.agent, turn.round] = list(logprobs[begin:end])
    return parts


def _episode(
    episode: Episode,
    index: int,
    tokenizers: Mapping[str, PreTrainedTokenizerBase],
    learned: _OfTurns,
    after: _OfTurns,
) -> dict[str, Any]:
    return {
        "solved": episode.solved,
        "score": episode.score,
        "answer": episode.answer,
        "task_rewards": {agent: list(x) for agent, x in episode.task_rewards.items()},
        "bills": {
            agent: [episode.price_share * bill for bill in bills]
            for agent, bills in episode.bills.items()
        },
        "turns": [
            {
                **_turn(turn, tokenizers.get(turn.agent)),
                "learned": (index, turn.agent, turn.round) in learned,
                **_after(after.get((index, turn.agent, turn.round))),
            }
            for turn in episode.turns
        ],
    }


def _after(logprobs: Sequence[float] | None) -> dict[str, list[float]]:
    return {} if logprobs is None else {"logprobs_after": [round(x, _DIGITS) for x in logprobs]}


def _turn(turn: Turn, tokenizer: PreTrainedTokenizerBase | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "agent": turn.agent,
        "round": turn.round,
        "message": turn.message,
        "tokens_said": turn.tokens_said,
        "informed": turn.informed,
        "cut": turn.cut,
        "truncated": turn.truncated,
        "trained": turn.trained,
        "prompt_ids": list(turn.prompt_ids),
        "reply_ids": list(turn.reply_ids),
        "logprobs": [round(value, _DIGITS) for value in turn.behavior_logprobs],
    }
    if tokenizer is not None:
        row["texts"] = token_texts(tokenizer, turn.reply_ids)
    return row


def _sequence(sequence: TokenSequence) -> dict[str, Any]:
    row: dict[str, Any] = {
        "agent": sequence.agent,
        "episode": sequence.episode,
        "round": sequence.round,
        "tokens": sum(sequence.generated),
        "value": sequence.return_to_go,
        "advantage": sequence.advantage,
    }
    if (parts := sequence.breakdown) is not None:
        row |= {"task": parts.task, "cost": parts.cost}
        row |= {"task_advantage": parts.task_advantage}
        if parts.comparison is not None:
            row |= {"center": parts.comparison.center, "scale": parts.comparison.scale}
    return row
