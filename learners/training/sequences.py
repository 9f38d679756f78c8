"""From groups of episodes to sequences with advantages, and on to a padded batch.

A sequence is what one importance ratio covers: all an agent said in an episode, or a single reply.
Its tokens are the agent's conversation exactly as it was sampled; what the agent read is context
that no loss touches. Knows neither models nor the loss.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import WHOLE, Credit, charge_factor
from laconic.learners.advantages.group import Comparison, Estimator, Key
from laconic.learners.episode import Episode, Group, Turn

Unit = Literal["episode", "reply"]

_LIKE_LENGTH = 1.5
"""Rows go through one forward pass while the longest is at most so many times the shortest."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """How a return and its advantage come about: X = T - w C, A = (X - center) / scale.

    All but `factor` are in reward units.
    """

    task: float
    """T, what the task paid in the rounds the sequence answers for."""
    cost: float
    """C, what the words of those rounds cost at the full price."""
    factor: float = 1.0
    """w, the share of the cost that is charged (`learners.advantages.credit.charge_factor`)."""
    comparison: Comparison | None = None
    """Center and scale of the advantage; None where the estimator does not tell them."""
    task_advantage: float | None = None
    """The part of the advantage that the task contributes; the price contributes the rest. None
    around a center that is not linear."""

    @property
    def value(self) -> float:
        """X, what is compared."""
        return self.task - self.factor * self.cost


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """What one importance ratio covers, with the context it was sampled in."""

    task: str
    """Key of the task."""
    agent: str
    """Who produced the generated tokens."""
    episode: int
    """Index of the episode in its group."""
    round: int | None
    """Round of the reply; None when the sequence covers the agent's whole episode."""
    token_ids: tuple[int, ...]
    """(tokens,) the agent's conversation from its start to the last generated token."""
    generated: tuple[bool, ...]
    """(tokens,) True on reply tokens of this sequence, its end tokens among them."""
    behaviour_logprobs: tuple[float, ...]
    """(tokens,) natural log-probabilities at sampling; 0.0 where `generated` is False."""
    return_to_go: float
    """X, the undiscounted task reward less the charged cost of the rounds the sequence answers for,
    reward units."""
    # By name only, for a number in the place of a flag would pass for one.
    _: KW_ONLY
    silent: bool = False
    """Whether nothing was said in it."""
    advantage: float = 0.0
    """How much better the return is than that of the compared sequences."""
    breakdown: Breakdown | None = None
    """Where return and advantage come from; None for a sequence that was made by hand."""
    rollout_logprobs: tuple[float, ...] | None = None
    """(tokens,) log-probabilities of the engine that sampled, where `behaviour_logprobs` are those
    of the trainer; None: they are one."""

    def __post_init__(self) -> None:
        """Refuse different lengths, and a generated token without context (`SettingError`)."""
        lengths = (len(self.token_ids), len(self.generated), len(self.behaviour_logprobs))
        if len(set(lengths)) != 1:
            raise SettingError(
                f"sequence of {self.agent!r} in task {self.task!r}: token_ids, generated and"
                f" behaviour_logprobs must have one length; got {lengths!r}"
            )
        if self.generated and self.generated[0]:
            raise SettingError(
                f"sequence of {self.agent!r} in task {self.task!r} starts with a generated token,"
                " whose probability no causal model gives; put a prompt or start token before it"
            )

    @property
    def key(self) -> Key:
        """What the return belongs to, for an `Estimator`."""
        return Key(self.task, self.agent, self.round, self.episode)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Sequences as tensors, padded on the right; [s, t] of every matrix belongs to token t."""

    token_ids: Tensor
    """(sequences, tokens) int64."""
    attention_mask: Tensor
    """(sequences, tokens) bool, True on real tokens, False on padding."""
    generated_mask: Tensor
    """(sequences, tokens) bool, True on tokens the policy produced."""
    behaviour_logprobs: Tensor
    """(sequences, tokens) float32, log-probability at sampling; 0 where not generated."""
    advantages: Tensor
    """(sequences,) float32."""
    rollout_logprobs: Tensor
    """(sequences, tokens) float32, those of the engine that sampled; where they are one with those
    at sampling, these."""
    hosts: Tensor
    """(sequences,) int64, for each sequence the index of the one, of those that begin with it or
    are equal to it, that goes through a model; a causal model computes the same for both."""

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return Batch(*(getattr(self, one.name).to(device) for one in fields(self)))


def check_unit(unit: str, advantages: Estimator) -> None:
    """Check that the unit is known and fits what the advantages compare.

    Raises:
        SettingError: the unit is unknown, or rounds are compared of sequences that have none.
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
    charge_power: float = 0.0,
    mask_truncated: bool = False,
) -> tuple[TokenSequence, ...]:
    """Return the `episode_sequences` of one group, episode by episode, each with its advantage.

    What the estimator leaves out is not among them. The returns of agents that are not trained are
    not compared. Costs are weighed by the charge factor of the group's episodes, pass rate **
    `charge_power`.

    Raises:
        SettingError: the unit does not fit, an agent has no rewards, or a return is not finite.
    """
    check_unit(unit, advantages)
    factor = charge_factor(group.episodes, charge_power)
    sequences = [
        sequence
        for index, episode in enumerate(group.episodes)
        for sequence in episode_sequences(
            episode,
            index,
            credit,
            unit,
            agents,
            charge_factor=factor,
            mask_truncated=mask_truncated,
        )
    ]
    returns, keys = [each.return_to_go for each in sequences], [each.key for each in sequences]
    left_out = advantages.left_out(returns, keys)
    values = advantages(returns, keys)
    breakdowns = _broken_down(sequences, advantages)
    return tuple(
        replace(sequence, advantage=value, breakdown=breakdown)
        for index, (sequence, value, breakdown) in enumerate(
            zip(sequences, values, breakdowns, strict=True)
        )
        if index not in left_out
    )


def _broken_down(
    sequences: Sequence[TokenSequence], advantages: Estimator
) -> list[Breakdown | None]:
    """Return where each advantage comes from, (sequences,)."""
    returns, keys = [each.return_to_go for each in sequences], [each.key for each in sequences]
    comparisons = advantages.compare(returns, keys)
    tasks = [each.breakdown.task if each.breakdown else each.return_to_go for each in sequences]
    centers = advantages.centers(tasks, keys)
    breakdowns: list[Breakdown | None] = []
    for index, sequence in enumerate(sequences):
        if sequence.breakdown is None or comparisons is None:
            breakdowns.append(sequence.breakdown)
            continue
        part = None
        if centers is not None:
            part = (tasks[index] - centers[index]) / comparisons[index].scale
        breakdowns.append(
            replace(sequence.breakdown, comparison=comparisons[index], task_advantage=part)
        )
    return breakdowns


def rescaled(sequences: Sequence[TokenSequence], scale: float) -> list[TokenSequence]:
    """Return the sequences of an update with their advantages divided by a scale above 0."""
    if scale == 1.0:
        return list(sequences)
    return [
        replace(each, advantage=each.advantage / scale, breakdown=_rescaled(each.breakdown, scale))
        for each in sequences
    ]


def _rescaled(breakdown: Breakdown | None, scale: float) -> Breakdown | None:
    if breakdown is None or breakdown.comparison is None:
        return breakdown
    center, before = breakdown.comparison
    part = breakdown.task_advantage
    return replace(
        breakdown,
        comparison=Comparison(center, before * scale),
        task_advantage=None if part is None else part / scale,
    )


def collate(sequences: Sequence[TokenSequence], pad_id: int) -> Batch:
    """A batch (sequences, tokens) on the CPU, padded on the right to the longest.

    No mask is ever True on padding.

    Raises:
        SettingError: there are no sequences.
    """
    if not sequences:
        raise SettingError("a batch needs at least one sequence; got none")
    ids = [one.token_ids for one in sequences]
    hosts = torch.zeros(len(sequences), dtype=torch.long)
    for row in rows_of(sequences):
        hosts[row] = row[0]
    return Batch(
        token_ids=_padded(ids, pad_id, np.int64),
        attention_mask=_padded([[True] * len(row) for row in ids], False, np.bool_),
        generated_mask=_padded([one.generated for one in sequences], False, np.bool_),
        behaviour_logprobs=_padded([one.behaviour_logprobs for one in sequences], 0.0, np.float32),
        advantages=torch.tensor([one.advantage for one in sequences], dtype=torch.float32),
        rollout_logprobs=_padded(
            [one.rollout_logprobs or one.behaviour_logprobs for one in sequences], 0.0, np.float32
        ),
        hosts=hosts,
    )


def conversations(sequences: Sequence[TokenSequence]) -> list[list[TokenSequence]]:
    """The sequences of each agent in each episode, which stand one after the other, by round."""
    found: list[list[TokenSequence]] = []
    for one in sequences:
        last = found[-1][-1] if found else one
        later = one.round is not None and last.round is not None and one.round > last.round
        if later and (one.task, one.agent, one.episode) == (last.task, last.agent, last.episode):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def rows_of(sequences: Sequence[TokenSequence]) -> list[list[int]]:
    """Which sequences (indices) are read off one row of tokens, for each row, shortest row first.

    The first of a row is the longest; the others are beginnings of it, or equal to it.
    """
    rows: dict[int, list[int]] = {}
    host, longest = -1, None
    # In this order, turned round, a sequence is followed by all of its beginnings.
    order = sorted(range(len(sequences)), key=lambda index: sequences[index].token_ids)
    for index in reversed(order):
        ids = sequences[index].token_ids
        if longest is None or longest[: len(ids)] != ids:
            host, longest = index, ids
        rows.setdefault(host, []).append(index)
    return [
        rows[host] for host in sorted(rows, key=lambda one: (len(sequences[one].token_ids), one))
    ]


def microbatches(sequences: Sequence[TokenSequence], max_tokens: int) -> list[list[TokenSequence]]:
    """Cut a minibatch into forward passes of rows of like length, which need little padding.

    A pass has no more tokens than `max_tokens`, padding included; a longer row is one by itself.
    Shorter ones come first.
    """
    parts: list[list[list[int]]] = []
    for row in rows_of(sequences):
        length = len(sequences[row[0]].token_ids)
        fits = parts and length * (len(parts[-1]) + 1) <= max_tokens
        if fits and length <= _LIKE_LENGTH * len(sequences[parts[-1][0][0]].token_ids):
            parts[-1].append(row)
        else:
            parts.append([row])
    return [[sequences[index] for row in part for index in row] for part in parts]


def episode_sequences(
    episode: Episode,
    index: int,
    credit: Credit,
    unit: Unit,
    agents: Collection[str] | None,
    *,
    charge_factor: float = 1.0,
    mask_truncated: bool = False,
) -> Iterator[TokenSequence]:
    """Make the sequences of one episode, with advantage 0.

    Args:
        episode: one play of a task.
        index: of the episode in its group.
        credit: task part and cost of each agent in each round.
        unit: `episode`: one sequence per agent, with the return of the whole episode. `reply`: one
            per reply, with the undiscounted return from its round on (that of its round alone under
            a credit of `WHOLE`); what came before is context.
        agents: the agents to train; None for all.
        charge_factor: the share of the cost that is charged.
        mask_truncated: whether the tokens of replies that their limit stopped are context. Their
            sequences keep their place in the comparison and in the mean.

    Yields:
        Sequences by agent as they first spoke, then by round; none for agents without reply tokens
        (scripted ones).

    Raises:
        SettingError: an agent spoke but has no rewards.
    """
    credits = credit(episode)
    for agent in dict.fromkeys(turn.agent for turn in episode.turns):
        if agents is not None and agent not in agents:
            continue
        turns = [turn for turn in episode.turns if turn.agent == agent]
        spoken = [place for place, turn in enumerate(turns) if turn.reply_ids and turn.trained]
        if spoken and agent not in credits.task:
            raise SettingError(
                f"agent {agent!r} spoke in task {episode.task!r} but has no rewards; an episode"
                f" needs rewards for each of its agents, it has them for {sorted(credits.task)}"
            )
        by_reply = unit == "reply"
        for first in spoken if by_reply else spoken[:1]:
            last = first if by_reply else spoken[-1]
            start = turns[last].round if by_reply else 0
            end = start + 1 if by_reply and credit in WHOLE else None
            token_ids, generated, logprobs = _tokens(turns[: last + 1], first, mask_truncated)
            breakdown = Breakdown(
                float(sum(credits.task[agent][start:end])),
                float(sum(credits.cost[agent][start:end])),
                charge_factor,
            )
            yield TokenSequence(
                task=episode.task,
                agent=agent,
                episode=index,
                round=start if by_reply else None,
                token_ids=token_ids,
                generated=generated,
                behaviour_logprobs=logprobs,
                return_to_go=breakdown.value,
                silent=not any(turns[place].message for place in spoken if first <= place <= last),
                breakdown=breakdown,
            )


def _padded(rows: Sequence[Sequence[float]], fill: float, dtype: type[np.generic]) -> Tensor:
    """Rows of different lengths as one matrix, by way of numpy, which reads tuples faster."""
    matrix = np.full((len(rows), max(len(row) for row in rows)), fill, dtype=dtype)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
    return torch.from_numpy(matrix)


def _tokens(
    turns: Sequence[Turn], first: int, mask_truncated: bool
) -> tuple[tuple[int, ...], tuple[bool, ...], tuple[float, ...]]:
    """Join the conversation of some turns; trained replies from turn `first` on are generated.

    With `mask_truncated`, those that their limit stopped are not.
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
        logprobs += turn.behaviour_logprobs if counts else [0.0] * reply
    return tuple(token_ids), tuple(generated), tuple(logprobs)
