"""What a policy is to imitate: a scripted teacher, its own best episodes, or recorded ones.

All are played in the environments at hand, in the policy's own tokens, so what is imitated has the
very form of a rollout: observations, budgets and the tokens between replies. Groups hold what an
`Imitated` estimator learns from; turns that are not to be imitated are context (`Turn.trained`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from laconic.envs.checks import number
from laconic.envs.errors import SettingError
from laconic.envs.task import named_tasks
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.scripted import Teacher, taught
from laconic.learners.commands import command
from laconic.learners.episode import Episode, Group
from laconic.learners.interfaces import Policy, Reply, Request
from laconic.learners.rollout.collectors.base import Collector, Players
from laconic.learners.rollout.play import Start, collect, play
from laconic.learners.untrusted_files import MAX_ROWS, parse_json, read_text

_RECORDING = {"evaluation.split": "train", "evaluation.tasks": 1000}
Row = Mapping[str, Any]
"""A line of `episodes.jsonl`."""


@dataclass(frozen=True, slots=True)
class Demonstrator:
    """A policy whose replies carry the tokens in which another one would have said them."""

    speaker: Policy
    """Who decides what is said."""
    writer: HFPolicy
    """Whose tokens it is written in, whole, also where the environment will cut it."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Return the speaker's replies in the writer's tokens; log-probabilities are 0."""
        said = self.speaker.reply(requests, seed=seed, greedy=greedy)
        return [
            self._written(request, reply.message)
            for request, reply in zip(requests, said, strict=True)
        ]

    def _written(self, request: Request, message: str) -> Reply:
        ids = self.writer.write(message)
        return Reply(message, self.writer.read(request), ids, (0.0,) * len(ids))


@dataclass
class Taught(Collector):
    """Plays a scripted teacher.

    Nothing is learned from how well it did, so where grading waits for other processes it is left
    out.
    """

    teacher: Teacher = field(default_factory=Teacher)
    """Who is imitated."""
    others: float = 0.2
    """Share of the conversations of agents that do not answer which are imitated; theirs are
    easy."""
    speaker: str = field(default="teacher", init=False)
    """The teacher's."""

    def __post_init__(self) -> None:
        """Check the range."""
        number("learner.collect.others", self.others, lowest=0, highest=1)

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play groups in which the teacher speaks for every agent that has weights."""
        environments, policies = players
        for one in environments:
            if (one.metadata or {}).get("slow_step") and hasattr(one, "graded"):
                one.graded = False
        speaker = taught(self.teacher, environments[0])
        # One for each set of weights, so that a round is one call for each.
        made = {id(one): _speaking(speaker, one) for one in policies.values()}
        speakers = {agent: made[id(one)] for agent, one in policies.items()}
        groups = collect(environments, speakers, starts, group_size, seed=seed)
        answering = set(getattr(environments[0], "answering", policies))
        generator = np.random.default_rng((seed, 1))
        return [
            replace(
                one,
                episodes=tuple(self._drawn(each, answering, generator) for each in one.episodes),
            )
            for one in groups
        ]

    def _drawn(
        self, episode: Episode, answering: set[str], generator: np.random.Generator
    ) -> Episode:
        """Return an episode in which the conversations of left-out agents are context."""
        agents = dict.fromkeys(turn.agent for turn in episode.turns)
        out = {one for one in agents if one not in answering and generator.random() >= self.others}
        return only(episode, agents.keys() - out) if out else episode


class OwnBest(Collector):
    """Plays the policies and keeps of each group the solved episode of the fewest tokens said.

    Rejection sampling, as in expert iteration and STaR (arXiv 2203.14465): groups of which no
    episode is solved teach nothing. `metrics` counts the groups that do.
    """

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self.metrics: Mapping[str, float] = {}

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play groups of which only the best episode is imitated."""
        groups = collect(*players, starts, group_size, seed=seed)
        best = [_best(group.episodes) for group in groups]
        self.metrics = {"imitated_groups": float(sum(one is not None for one in best))}
        return [
            replace(
                group,
                episodes=tuple(
                    episode if place == one else only(episode, ())
                    for place, episode in enumerate(group.episodes)
                ),
            )
            for group, one in zip(groups, best, strict=True)
        ]


@dataclass
class Recorded(Collector):
    """Plays the episodes of an evaluation again: another team is imitated, word for word.

    `laconic evaluate evaluation.split=train` records some. Only tasks of the training part are
    taken, and only episodes that go here as they went there: who said what, after what was read.
    """

    folder: str
    """Run folder of the evaluation, with `episodes.jsonl`."""
    solved: bool = True
    """Whether only solved episodes are imitated."""
    speaker: str = field(default="teacher", init=False)
    """Those of the team that is imitated."""
    metrics: dict[str, float] = field(default_factory=dict, init=False)
    """Of the last call: episodes that did not go here as they were recorded."""
    _rows: list[Row] | None = field(default=None, init=False, repr=False)

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """As many groups as starts, of recorded episodes drawn by the seed.

        Raises:
            SettingError: the folder cannot be read, or has no episode of a training task.
        """
        environments, policies = players
        if self._rows is None:
            known = named_tasks(environments[0])
            self._rows = [row for row in self._read() if row["task"] in known]
        if not self._rows:
            raise SettingError(
                f"learner.collect.folder={self.folder!r} has no "
                + ("solved " if self.solved else "")
                + "episode of a training task of this environment; record some with the same env"
                f" settings: {command('evaluate', **_RECORDING)}"
            )
        drawn = np.random.default_rng((seed, 2)).integers(len(self._rows), size=len(starts))
        rows = [self._rows[index] for index in drawn]
        mute = dict.fromkeys(policies, Mute())
        played = play(environments, mute, [_start(row, policies) for row in rows], seed=seed)
        as_told = [_is_told(one, row) for one, row in zip(played, rows, strict=True)]
        self.metrics = {"unfit_episodes": float(as_told.count(False))}
        kept = [one if fits else only(one, ()) for one, fits in zip(played, as_told, strict=True)]
        return [Group(one.task, (one,)) for one in kept]

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


class Mute:
    """Answers for what is not told; such an episode is left out."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Silence."""
        return [Reply("")] * len(requests)


def say(policy: Policy, text: str, request: Request) -> Reply:
    """Return a text as a policy's reply, in its own tokens if it has any."""
    return policy.quote(request, text) if isinstance(policy, HFPolicy) else Reply(text)


def only(episode: Episode, agents: Collection[str]) -> Episode:
    """Return an episode in which the replies of all other agents are context without loss."""
    return replace(
        episode,
        turns=tuple(
            turn if turn.agent in agents else replace(turn, trained=False) for turn in episode.turns
        ),
    )


def _speaking(speaker: Policy, policy: Policy) -> Policy:
    return Demonstrator(speaker, policy) if isinstance(policy, HFPolicy) else policy


def _best(episodes: Sequence[Episode]) -> int | None:
    """Place of the solved episode of the fewest tokens said, the first of several."""
    solved = [place for place, one in enumerate(episodes) if one.solved]
    return min(solved, key=lambda place: sum(episodes[place].tokens_said.values()), default=None)


def _start(row: Row, policies: Mapping[str, Policy]) -> Start:
    turns = row["episode"]["turns"]
    given = {
        (one["agent"], one["round"]): partial(say, policies[one["agent"]], _words(one))
        for one in turns
        if one["agent"] in policies
    }
    return Start(row["seed"], row["task"], given)


def _words(turn: Mapping[str, Any]) -> str:
    """Return the message as written, before the environment cut it."""
    return str(turn["message"] if turn["written"] is None else turn["written"])


def _is_told(episode: Episode, row: Row) -> bool:
    told = [
        (one["agent"], one["round"], one["message"], one["read"]) for one in row["episode"]["turns"]
    ]
    return told == [(one.agent, one.round, one.message, one.read) for one in episode.turns]
