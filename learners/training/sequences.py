"""Sequences with advantages from groups of episodes, and padded batches of them.

One importance ratio covers one sequence: all replies of an agent in an episode, or a single reply.
Its tokens are the agent's conversation exactly as it was sampled. Text that the agent read is
context and enters no loss. Nothing here depends on the model or the loss.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import FORWARD_LOOKING, Credit, for_group
from laconic.learners.advantages.group import Comparison, Estimator, Key
from laconic.learners.episode import Episode, Group, Turn

Unit = Literal["episode", "reply"]

_LENGTH_RATIO = 1.5
"""Longest row of a forward pass over its shortest, at most."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Parts of a return and of its advantage: X = T - C, A = (X - center) / scale."""

    task: float
    """T, task reward of the rounds that the sequence answers for; reward units."""
    cost: float
    """C, cost of the words of those rounds at the price of the update; reward units."""
    comparison: Comparison | None = None
    """Center and scale of the advantage. None: the estimator has none."""
    task_advantage: float | None = None
    """Part of the advantage that the task contributes; the price contributes the rest. None: the
    center is not linear."""


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """Tokens that one importance ratio covers, with the context in which they were sampled."""

    task: str
    """Key of the task."""
    agent: str
    """Agent that produced the generated tokens."""
    episode: int
    """Index of the episode in its group."""
    round: int | None
    """Round of the reply. None: the sequence covers the agent's whole episode."""
    token_ids: tuple[int, ...]
    """(tokens,) the agent's conversation from its start to the last generated token."""
    generated: tuple[bool, ...]
    """(tokens,) True on reply tokens of this sequence, end tokens included."""
    behavior_logprobs: tuple[float, ...]
    """(tokens,) natural log-probabilities at sampling; 0.0 where `generated` is False."""
    return_to_go: float
    """X, undiscounted task reward less the cost of the rounds that the sequence answers for; reward
    units."""
    # By name only: a number in the place of a flag would pass for one.
    _: KW_ONLY
    silent: bool = False
    """True when the agent said nothing in it."""
    advantage: float = 0.0
    """Advantage of the return over those it is compared with."""
    breakdown: Breakdown | None = None
    """Parts of return and advantage. None: the sequence was made by hand."""
    rollout_logprobs: tuple[float, ...] | None = None
    """(tokens,) log-probabilities of the engine that sampled, if `behavior_logprobs` are those of
    the trainer. None: both are the same."""
    token_advantages: tuple[float, ...] = ()
    """(tokens,) added to `advantage`, each on its token. Empty: nothing is added."""

    def __post_init__(self) -> None:
        """Refuse different lengths, and a generated token without context (`SettingError`)."""
        lengths = len(self.token_ids), len(self.generated), len(self.behavior_logprobs)
        if not lengths[0] == lengths[1] == lengths[2]:
            raise SettingError(
                f"sequence of {self.agent!r} in task {self.task!r}: token_ids, generated and"
                f" behavior_logprobs must have one length; got {lengths!r}"
            )
        if len(self.token_advantages) not in (0, lengths[0]):
            raise SettingError(
                f"sequence of {self.agent!r} in task {self.task!r}: token_advantages must be empty"
                f" or have one number for each of {lengths[0]} tokens; got"
                f" {len(self.token_advantages)}"
            )
        if self.generated and self.generated[0]:
            raise SettingError(
                f"sequence of {self.agent!r} in task {self.task!r} starts with a generated token,"
                " which has no probability under a causal model; put a prompt or start token"
                " before it"
            )

    @property
    def key(self) -> Key:
        """Key of the return, for an `Estimator`."""
        return Key(self.task, self.agent, self.round, self.episode, self.token_ids)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Sequences as tensors, padded on the right; [s, t] of every matrix belongs to token t."""

    token_ids: Tensor
    """(sequences, tokens) int64."""
    attention_mask: Tensor
    """(sequences, tokens) bool, True on real tokens, False on padding."""
    generated_mask: Tensor
    """(sequences, tokens) bool, True on tokens that the policy produced."""
    behavior_logprobs: Tensor
    """(sequences, tokens) float32, log-probabilities at sampling; 0 where not generated."""
    advantages: Tensor
    """(sequences,) float32; (sequences, tokens) if some sequence has advantages of its tokens."""
    rollout_logprobs: Tensor
    """(sequences, tokens) float32, log-probabilities of the engine that sampled; the same as
    `behavior_logprobs` for sequences that do not tell them apart."""
    row_of: Tensor
    """(sequences,) int64, index of the sequence whose tokens go through a model for this one: the
    longest one that begins with it. A causal model computes the same for both."""


def check_unit(unit: str, advantages: Estimator) -> None:
    """Check that the unit exists and suits the advantages.

    Raises:
        SettingError: the unit is unknown, or the advantages compare rounds and the unit has none.
    """
    if unit not in get_args(Unit):
        raise SettingError(f"learner.unit must be one of {', '.join(get_args(Unit))}; got {unit!r}")
    if unit == "episode" and "round" in advantages.group_by:
        raise SettingError(
            "learner.advantages.group_by compares rounds, but a sequence covers a whole episode;"
            f" set learner.unit to 'reply' or take 'round' out of it; got {advantages.group_by!r}"
        )


def sequences_of(
    group: Group,
    *,
    credit: Credit,
    advantages: Estimator,
    unit: Unit = "episode",
    agents: Collection[str] | None = None,
    mask_truncated: bool = False,
) -> tuple[TokenSequence, ...]:
    """Return the `episode_sequences` of one group, episode by episode, with their advantages.

    Agents that are not trained take no part in the comparison. Sequences that the estimator leaves
    out are missing.

    Raises:
        SettingError: an agent has no rewards, or a return is not finite.
    """
    credit = for_group(credit, group.episodes)
    sequences = [
        sequence
        for index, episode in enumerate(group.episodes)
        for sequence in episode_sequences(
            episode,
            index,
            credit,
            unit,
            agents,
            mask_truncated=mask_truncated,
        )
    ]
    returns, keys = [each.return_to_go for each in sequences], [each.key for each in sequences]
    breakdowns = [each.breakdown for each in sequences if each.breakdown]
    values, comparisons = advantages(returns, keys), advantages.compare(returns, keys)
    left_out = advantages.left_out(returns, keys)
    if comparisons is not None:
        tasks = [breakdown.task for breakdown in breakdowns]
        centers = advantages.centers(tasks, keys)
        parts: list[float | None] = [None] * len(tasks)
        if centers is not None:
            parts = [
                (task - center) / comparison.scale
                for task, center, comparison in zip(tasks, centers, comparisons, strict=True)
            ]
        breakdowns = [
            replace(breakdown, comparison=comparison, task_advantage=part)
            for breakdown, comparison, part in zip(breakdowns, comparisons, parts, strict=True)
        ]
    return tuple(
        replace(sequence, advantage=value, breakdown=breakdown)
        for index, (sequence, value, breakdown) in enumerate(
            zip(sequences, values, breakdowns, strict=True)
        )
        if index not in left_out
    )


def with_advantages(
    sequences: Sequence[TokenSequence], advantages: Sequence[float]
) -> list[TokenSequence]:
    """Replace the advantages (sequences,) of sequences."""
    return [
        replace(sequence, advantage=advantage)
        for sequence, advantage in zip(sequences, advantages, strict=True)
    ]


def rescaled(sequences: Sequence[TokenSequence], scale: float) -> list[TokenSequence]:
    """Divide the advantages of an update by a scale above 0, in their breakdowns too."""
    results = []
    for sequence in sequences:
        breakdown = sequence.breakdown
        if breakdown is not None and breakdown.comparison is not None:
            center, before = breakdown.comparison
            part = breakdown.task_advantage
            breakdown = replace(
                breakdown,
                comparison=Comparison(center, before * scale),
                task_advantage=None if part is None else part / scale,
            )
        results.append(replace(sequence, advantage=sequence.advantage / scale, breakdown=breakdown))
    return results


def episode_sequences(
    episode: Episode,
    index: int,
    credit: Credit,
    unit: Unit,
    agents: Collection[str] | None,
    *,
    mask_truncated: bool = False,
) -> Iterator[TokenSequence]:
    """Make the sequences of one episode, with advantage 0.

    Args:
        episode: one play of a task.
        index: index of the episode in its group.
        credit: task part and cost of each agent in each round.
        unit: `episode`: one sequence per agent, with the return of the whole episode. `reply`: one
            per reply, with the undiscounted return from its round on. Under a `FORWARD_LOOKING`
            credit that is the credit of its round alone. Earlier replies are context.
        agents: agents to train; None for all.
        mask_truncated: whether replies that their token limit stopped count as context. Their
            sequences keep their place in the comparison and in the mean.

    Yields:
        Sequences by agent in the order in which agents first spoke, then by round. Agents without
        reply tokens (scripted ones) have none.

    Raises:
        SettingError: an agent spoke but has no rewards.
    """
    credits = credit(episode)
    by_reply = unit == "reply"
    for agent in dict.fromkeys(turn.agent for turn in episode.turns):
        if agents is not None and agent not in agents:
            continue
        turns = [turn for turn in episode.turns if turn.agent == agent]
        replies = [place for place, turn in enumerate(turns) if turn.reply_ids and turn.trained]
        if replies and agent not in credits.task:
            raise SettingError(
                f"agent {agent!r} spoke in task {episode.task!r} but has no rewards; an episode"
                f" needs rewards for each of its agents, it has them for {sorted(credits.task)}"
            )
        for first in replies if by_reply else replies[:1]:
            last = first if by_reply else replies[-1]
            start = turns[last].round if by_reply else 0
            end = start + 1 if by_reply and credit in FORWARD_LOOKING else None
            token_ids, generated, logprobs = _join_turns(turns[: last + 1], first, mask_truncated)
            task = float(sum(credits.task[agent][start:end]))
            cost = float(sum(credits.cost[agent][start:end]))
            messages = [turns[place].message for place in replies if first <= place <= last]
            yield TokenSequence(
                task=episode.task,
                agent=agent,
                episode=index,
                round=start if by_reply else None,
                token_ids=token_ids,
                generated=generated,
                behavior_logprobs=logprobs,
                return_to_go=task - cost,
                silent=not any(messages),
                breakdown=Breakdown(task, cost),
            )


def _join_turns(
    turns: Sequence[Turn], first: int, mask_truncated: bool
) -> tuple[tuple[int, ...], tuple[bool, ...], tuple[float, ...]]:
    """Join the tokens of turns; trained replies from turn `first` on are generated.

    With `mask_truncated`, replies that their token limit stopped are not.
    """
    token_ids: list[int] = []
    generated: list[bool] = []
    logprobs: list[float] = []
    for place, turn in enumerate(turns):
        prompt, reply = len(turn.prompt_ids), len(turn.reply_ids)
        token_ids += [*turn.prompt_ids, *turn.reply_ids]
        counts = turn.trained and place >= first and not (mask_truncated and turn.truncated)
        generated += [False] * prompt + [counts] * reply
        logprobs += [0.0] * prompt
        logprobs += turn.behavior_logprobs if counts else [0.0] * reply
    return tuple(token_ids), tuple(generated), tuple(logprobs)


# ---------------------------------------------------------------- rows and batches


def conversations(sequences: Sequence[TokenSequence]) -> list[list[TokenSequence]]:
    """Group sequences by conversation: consecutive replies of one agent in one episode."""
    groups: list[list[TokenSequence]] = []
    for sequence in sequences:
        last = groups[-1][-1] if groups else sequence
        same = (sequence.task, sequence.agent, sequence.episode) == (
            last.task,
            last.agent,
            last.episode,
        )
        if (
            same
            and sequence.round is not None
            and last.round is not None
            and sequence.round > last.round
        ):
            groups[-1].append(sequence)
        else:
            groups.append([sequence])
    return groups


def rows_of(sequences: Sequence[TokenSequence]) -> list[list[int]]:
    """Return for each row of tokens the sequences (indices) on it, shortest row first.

    The first sequence of a row is the longest. The others are beginnings of it, or equal to it.
    """
    rows: dict[int, list[int]] = {}
    row, longest = -1, None
    # Sorted and reversed, a sequence is followed by all of its beginnings.
    order = sorted(range(len(sequences)), key=lambda index: sequences[index].token_ids)
    for index in reversed(order):
        token_ids = sequences[index].token_ids
        if longest is None or longest[: len(token_ids)] != token_ids:
            row, longest = index, token_ids
        rows.setdefault(row, []).append(index)
    return [rows[row] for row in sorted(rows, key=lambda row: (len(sequences[row].token_ids), row))]


def microbatches(sequences: Sequence[TokenSequence], max_tokens: int) -> list[list[TokenSequence]]:
    """Cut a minibatch into forward passes of rows of similar length, shorter ones first.

    A pass has at most `max_tokens` tokens, padding included. A longer row is a pass by itself.
    """
    passes: list[list[list[int]]] = []
    for row in rows_of(sequences):
        length = len(sequences[row[0]].token_ids)
        fits = passes and length * (len(passes[-1]) + 1) <= max_tokens
        if fits and length <= _LENGTH_RATIO * len(sequences[passes[-1][0][0]].token_ids):
            passes[-1].append(row)
        else:
            passes.append([row])
    return [[sequences[index] for row in rows for index in row] for rows in passes]


def collate(
    sequences: Sequence[TokenSequence], pad_id: int, device: torch.device | str = "cpu"
) -> Batch:
    """Make a batch (sequences, tokens), padded on the right; no mask is True on padding.

    Raises:
        SettingError: there are no sequences.
    """
    if not sequences:
        raise SettingError("a batch needs at least one sequence; got none")
    row_of = torch.zeros(len(sequences), dtype=torch.long)
    for row in rows_of(sequences):
        row_of[row] = row[0]
    ids = [each.token_ids for each in sequences]
    generated = [each.generated for each in sequences]
    behavior = [each.behavior_logprobs for each in sequences]
    rollout = [each.rollout_logprobs or each.behavior_logprobs for each in sequences]
    advantages = torch.tensor([each.advantage for each in sequences], dtype=torch.float32)
    if any(each.token_advantages for each in sequences):
        added = [each.token_advantages or (0.0,) * len(each.token_ids) for each in sequences]
        advantages = advantages[:, None] + _padded(added, 0.0, np.float32)
    return Batch(
        token_ids=_padded(ids, pad_id, np.int64).to(device),
        attention_mask=_padded([[True] * len(row) for row in ids], False, np.bool_).to(device),
        generated_mask=_padded(generated, False, np.bool_).to(device),
        behavior_logprobs=_padded(behavior, 0.0, np.float32).to(device),
        advantages=advantages.to(device),
        rollout_logprobs=_padded(rollout, 0.0, np.float32).to(device),
        row_of=row_of.to(device),
    )


def _padded(rows: Sequence[Sequence[float]], fill: float, dtype: type[np.generic]) -> Tensor:
    """Stack rows of different lengths into a matrix; numpy reads tuples faster than torch."""
    matrix = np.full((len(rows), max(len(row) for row in rows)), fill, dtype=dtype)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
    return torch.from_numpy(matrix)
