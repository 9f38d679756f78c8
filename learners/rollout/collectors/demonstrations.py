"""Collectors of demonstrations: scripted teachers, a policy's own best episodes, recorded episodes.

All are played in the environments of the run, in the policy's own tokens. So a demonstration has
the same observations, budgets and tokens between replies as a rollout. `Imitated` learns from these
groups; turns that are not imitated are context (`Turn.trained` is False).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from laconic.envs.checks import Share, check_fields
from laconic.envs.errors import SettingError
from laconic.envs.task import named_tasks
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.scripted import Teacher, teacher_policy
from laconic.learners.commands import command
from laconic.learners.episode import Episode, Group
from laconic.learners.interfaces import Policy, Reply, Request
from laconic.learners.rollout.collectors.base import Collector, Players
from laconic.learners.rollout.play import Start, collect, play
from laconic.learners.untrusted_files import MAX_ROWS, parse_json, read_text

_RECORDING = {"evaluation.split": "train", "evaluation.tasks": 1000}
Row = Mapping[str, Any]
"""Line of `episodes.jsonl`."""


@dataclass(frozen=True, slots=True)
class TeacherForcing:
    """Policy that replies as one policy, in the tokens of another."""

    speaker: Policy
    """Policy that chooses the messages."""
    writer: HFPolicy
    """Policy whose tokens encode them, in full even if the environment will cut them."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Return the speaker's replies in the writer's tokens; log-probabilities are 0."""
        replies = self.speaker.reply(requests, seed=seed, greedy=greedy)
        return [
            self._encode(request, reply.message)
            for request, reply in zip(requests, replies, strict=True)
        ]

    def _encode(self, request: Request, message: str) -> Reply:
        ids = self.writer.write(message)
        return Reply(message, self.writer.read(request), ids, (0.0,) * len(ids))


@dataclass
class TeacherDemos(Collector):
    """Plays a scripted teacher.

    The score of its episodes is not used, so slow grading is skipped.
    """

    teacher: Teacher = field(default_factory=Teacher)
    """Teacher to imitate."""
    others: Share = 0.2
    """Fraction of conversations to imitate of agents that do not answer; theirs are easy."""
    speaker: str = field(default="teacher", init=False)
    """Prefix of the episodes' metrics."""

    def __post_init__(self) -> None:
        """Check the range."""
        check_fields(self, "learner.collect")

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play groups in which the teacher speaks for every agent that has weights."""
        environments, policies = players
        for environment in environments:
            if (environment.metadata or {}).get("slow_step") and hasattr(environment, "graded"):
                environment.graded = False
        teacher = teacher_policy(self.teacher, environments[0])
        # One demonstrator per set of weights, so that each makes one call per round.
        demonstrators = {id(policy): _demonstrator(teacher, policy) for policy in policies.values()}
        speakers = {agent: demonstrators[id(policy)] for agent, policy in policies.items()}
        groups = collect(environments, speakers, starts, group_size, seed=seed)
        answering = set(getattr(environments[0], "answering", policies))
        generator = np.random.default_rng((seed, 1))
        return [
            replace(
                group,
                episodes=tuple(
                    self._select_agents(episode, answering, generator) for episode in group.episodes
                ),
            )
            for group in groups
        ]

    def _select_agents(
        self, episode: Episode, answering: set[str], generator: np.random.Generator
    ) -> Episode:
        """Return an episode in which the conversations of unselected agents are context."""
        agents = dict.fromkeys(turn.agent for turn in episode.turns)
        unselected = {
            agent
            for agent in agents
            if agent not in answering and generator.random() >= self.others
        }
        return train_only(episode, agents.keys() - unselected) if unselected else episode


class RejectionSampling(Collector):
    """Plays the policies, and imitates the solved episode of each group with the fewest tokens.

    This is rejection sampling, as in expert iteration and STaR (arXiv 2203.14465). Nothing is
    learned from a group without a solved episode. `metrics` counts the groups with one.
    """

    def __init__(self) -> None:
        """Start without metrics."""
        self.metrics: Mapping[str, float] = {}

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play groups of which only the best episode is imitated.

        Raises:
            SettingError: the environment does not say which episodes are solved.
        """
        groups = collect(*players, starts, group_size, seed=seed)
        if all(each.solved is None for group in groups for each in group.episodes):
            raise SettingError(
                "learner/collect=own_best imitates solved episodes: expected infos with `solved`,"
                " got none; choose learner/collect=teacher, or recorded with"
                " learner.collect.solved=false"
            )
        best = [_index_of_best(group.episodes) for group in groups]
        self.metrics = {"imitated_groups": float(sum(index is not None for index in best))}
        return [
            replace(
                group,
                episodes=tuple(
                    episode if index == best_index else train_only(episode, ())
                    for index, episode in enumerate(group.episodes)
                ),
            )
            for group, best_index in zip(groups, best, strict=True)
        ]


@dataclass
class Recorded(Collector):
    """Replays the episodes of an evaluation, to imitate another team word for word.

    `laconic evaluate evaluation.split=train` records them. Only training tasks are used. An episode
    is imitated only if its replay agrees with the record: every agent read and said the same.
    """

    folder: str
    """Run folder of the evaluation, with `episodes.jsonl`."""
    solved: bool = True
    """True if only solved episodes are imitated."""
    speaker: str = field(default="teacher", init=False)
    """Prefix of the episodes' metrics."""
    metrics: dict[str, float] = field(default_factory=dict, init=False)
    """Metrics of the last call: `unfit_episodes`, whose replay differs from the record."""
    _rows: list[Row] | None = field(default=None, init=False, repr=False)

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Return one group per start, each of one recorded episode drawn by the seed.

        Raises:
            SettingError: the folder cannot be read, or has no episode of a training task.
        """
        environments, policies = players
        if self._rows is None:
            tasks = named_tasks(environments[0])
            self._rows = [row for row in self._read() if row["task"] in tasks]
        if not self._rows:
            raise SettingError(
                f"learner.collect.folder={self.folder!r} has no "
                + ("solved " if self.solved else "")
                + "episode of a training task of this environment; record some with the same env"
                f" settings: {command('evaluate', **_RECORDING)}. Where no episode counts as"
                " solved, as in games of own gains, set learner.collect.solved=false"
            )
        indices = np.random.default_rng((seed, 2)).integers(len(self._rows), size=len(starts))
        rows = [self._rows[index] for index in indices]
        silent = dict.fromkeys(policies, SilentPolicy())
        episodes = play(environments, silent, [_start(row, policies) for row in rows], seed=seed)
        agrees = [_agrees(episode, row) for episode, row in zip(episodes, rows, strict=True)]
        self.metrics = {"unfit_episodes": float(agrees.count(False))}
        return [
            Group(episode.task, (episode if same else train_only(episode, ()),))
            for episode, same in zip(episodes, agrees, strict=True)
        ]

    def _read(self) -> Iterator[Row]:
        path = Path(self.folder).expanduser() / "episodes.jsonl"
        try:
            rows = [parse_json(line) for line in read_text(path, MAX_ROWS).splitlines()]
            yield from (row for row in rows if row["episode"]["solved"] or not self.solved)
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise SettingError(
                "learner.collect.folder must be the run folder of an evaluation;"
                f" {str(path)!r} cannot be read: {type(error).__name__}: {error}"
            ) from error


class SilentPolicy:
    """Policy for turns without a recorded message; such an episode does not count."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer every request with silence."""
        return [Reply("")] * len(requests)


def say(policy: Policy, text: str, request: Request) -> Reply:
    """Return a text as a policy's reply, in its own tokens if it has any."""
    return policy.quote(request, text) if isinstance(policy, HFPolicy) else Reply(text)


def train_only(episode: Episode, agents: Collection[str]) -> Episode:
    """Return an episode in which the replies of all other agents are context without loss."""
    return replace(
        episode,
        turns=tuple(
            turn if turn.agent in agents else replace(turn, trained=False) for turn in episode.turns
        ),
    )


def _demonstrator(teacher: Policy, policy: Policy) -> Policy:
    """Return a policy that replies as the teacher; a policy without weights is returned itself."""
    return TeacherForcing(teacher, policy) if isinstance(policy, HFPolicy) else policy


def _index_of_best(episodes: Sequence[Episode]) -> int | None:
    """Return the index of the solved episode with the fewest tokens said, the first if several."""
    solved = [index for index, episode in enumerate(episodes) if episode.solved]
    return min(solved, key=lambda index: sum(episodes[index].tokens_said.values()), default=None)


def _start(row: Row, policies: Mapping[str, Policy]) -> Start:
    """Return a start that replays the messages of a recorded episode."""
    replies = {
        (turn["agent"], turn["round"]): partial(say, policies[turn["agent"]], _written(turn))
        for turn in row["episode"]["turns"]
        if turn["agent"] in policies
    }
    return Start(row["seed"], row["task"], replies)


def _written(turn: Mapping[str, Any]) -> str:
    """Return the message as written, before the environment cut it."""
    return str(turn["message"] if turn["written"] is None else turn["written"])


def _agrees(episode: Episode, row: Row) -> bool:
    """Return whether every agent read and said the same in a replay as in the record."""
    recorded = [
        (turn["agent"], turn["round"], turn["message"], turn["read"])
        for turn in row["episode"]["turns"]
    ]
    replayed = [(turn.agent, turn.round, turn.message, turn.read) for turn in episode.turns]
    return recorded == replayed
