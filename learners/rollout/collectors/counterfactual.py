"""A collector that measures the counterfactual credit of every message.

A rule says by which sets of a round's speakers a message is measured: the value of a set is what
the team earns and what it costs (`credit.team_parts`) when these say what they said, the others of
the round are silent, all before is as recorded, and the rounds after are played on. Earnings and
costs are kept apart, so a token costs the same as under any other credit. The credit of a silent
turn is 0 and needs no replay. A thought goes with its message: who is silent in a replay has not
thought either, so that a thought before silence has the credit of its price.

With `greedy`, rounds are played on in the likeliest way for every set alike. A credit is then exact
for a team that decodes those rounds greedily. For one that samples them it is an estimate, free of
the luck of the later draws and blind to what they might have changed. Without `greedy` the rounds
are sampled, and the recorded episode stands for the whole set: right on average, but noisy.

Replays need environments that are deterministic under `reset(seed, options)` and equal actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from laconic.envs.errors import SettingError
from laconic.envs.worlds import join_act
from laconic.learners.advantages.credit import team_parts
from laconic.learners.episode import Episode, Group, Parts
from laconic.learners.interfaces import Policy, Reply
from laconic.learners.rollout.collectors.base import Collector, Players, PlaysGroups
from laconic.learners.rollout.play import collect, play, replies_of
from laconic.learners.rollout.runner import Start

Weights = Mapping[str, Mapping[frozenset[str], float]]
"""For each speaker, the weights with which the values of sets of speakers add up to its credit."""
Rule = Callable[[Sequence[str], np.random.Generator], Weights]
"""Speakers of a round and a generator -> weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """An episode to be played again from the end of one of its rounds."""

    start: Start
    """Where the episode began."""
    episode: Episode
    """The episode as recorded."""
    round: int
    """The last round that is given."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """What agents say in that round in place of what they said and thought, by agent; empty text is
    silence. What they did stays (`Turn.act`)."""

    @property
    def speakers(self) -> frozenset[str]:
        """Who said something in that round, or thought before being silent, which costs too."""
        turns = (one for one in self.episode.turns if one.round == self.round)
        return frozenset(one.agent for one in turns if one.message or one.tokens_thought)


@dataclass(slots=True)
class CounterfactualCredit(Collector):
    """Plays groups by another collector and notes in every turn the credit of its message."""

    credit: str = field()
    """Name of the credit that is made of it (`learners.advantages.credit`)."""
    rule: Rule
    """The sets of speakers that a message is measured by."""
    collect: PlaysGroups = collect
    """Plays the groups, one for each start."""
    greedy: bool = True
    """Whether later rounds are played on greedily, or sampled."""
    metrics: dict[str, float] = field(default_factory=dict, init=False)
    """Of the last call: `replays`, episodes played again from some round on."""

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Return the groups of `collect`, with the `credit` of every turn from replays.

        Raises:
            SettingError: `collect` does not play one group for each start.
        """
        groups = self.collect(*players, starts, group_size, seed=seed)
        if len(groups) != len(starts):
            raise SettingError(
                f"learner.credit={self.credit} plays episodes again from their start and needs a"
                f" learner.collect with one group a start ({len(starts)}); got {len(groups)} groups"
            )
        generator = np.random.default_rng((seed, 1))
        rounds = [
            (one, self.rule(sorted(one.speakers), generator))
            for start, group in zip(starts, groups, strict=True)
            for episode in group.episodes
            for one in spoken_rounds(start, episode)
        ]
        # Every set that anybody's credit is made of is played once.
        asked = [
            (one, said)
            for one, weights in rounds
            for said in dict.fromkeys(said for each in weights.values() for said in each)
        ]
        ends, played = replayed(
            players,
            [replace(one, instead=dict.fromkeys(one.speakers - said, "")) for one, said in asked],
            seed=int(generator.integers(2**31)),
            greedy=self.greedy,
        )
        self.metrics = {**getattr(self.collect, "metrics", {}), "replays": float(played)}
        values = {
            (id(one), said): team_parts(end) for (one, said), end in zip(asked, ends, strict=True)
        }
        credits = {
            (id(one.episode), one.round, agent): _weighed(
                (weight, values[id(one), said]) for said, weight in each.items()
            )
            for one, weights in rounds
            for agent, each in weights.items()
        }
        return [
            replace(group, episodes=tuple(_noted(episode, credits) for episode in group.episodes))
            for group in groups
        ]


def _weighed(values: Iterable[tuple[float, Parts]]) -> Parts:
    """Add parts up, each times its weight."""
    task, cost = 0.0, 0.0
    for weight, parts in values:
        task += weight * parts.task
        cost += weight * parts.cost
    return Parts(task, cost)


def replayed(
    players: Players, replays: Sequence[Replay], *, seed: int, greedy: bool = True
) -> tuple[list[Episode], int]:
    """Return the episodes (replays,) of some replays, and how many of them were played.

    Up to the last given round a replay is the recorded episode, tokens included, but for agents
    that say something else in that round; the policies play on from there, greedily or sampled with
    the seed. Replays of one start with equal replies so far are played once. None is played where
    the recorded episode is its outcome: all is as it was, and no round is left or rounds are
    sampled.
    """
    episodes = [replay.episode for replay in replays]
    places: dict[object, list[int]] = {}
    starts: list[Start] = []
    for index, replay in enumerate(replays):
        if not replay.instead and (_is_last(replay) or not greedy):
            continue
        given = _given(replay, players.policies)
        # Log-probabilities are left out: equal replies may differ in their last bit.
        said = frozenset((*who, reply.message, reply.reply_ids) for who, reply in given.items())
        equal = places.setdefault((id(replay.start), said), [])
        if not equal:
            starts.append(replace(replay.start, replies={**replay.start.replies, **given}))
        equal.append(index)
    played = play(*players, starts, seed=seed, greedy=greedy)
    for episode, indices in zip(played, places.values(), strict=True):
        for index in indices:
            episodes[index] = episode
    return episodes, len(played)


def spoken_rounds(start: Start, episode: Episode) -> list[Replay]:
    """Return a replay of an episode from each round in which an agent spoke or thought."""
    spoken = {turn.round for turn in episode.turns if turn.message or turn.tokens_thought}
    return [Replay(start, episode, round) for round in sorted(spoken)]


def _noted(episode: Episode, credits: Mapping[tuple[int, int, str], Parts]) -> Episode:
    nothing = Parts(0.0, 0.0)
    turns = (
        replace(turn, credit=credits.get((id(episode), turn.round, turn.agent), nothing))
        for turn in episode.turns
    )
    return replace(episode, turns=tuple(turns))


def _is_last(replay: Replay) -> bool:
    rounds = max((len(rewards) for rewards in replay.episode.rewards.values()), default=0)
    return replay.round + 1 >= rounds


def _given(replay: Replay, policies: Mapping[str, Policy]) -> dict[tuple[str, int], Reply]:
    """Return the replies up to the round, with other messages in that round if there are any."""
    given = replies_of(turn for turn in replay.episode.turns if turn.round <= replay.round)
    acts = {turn.agent: turn.act for turn in replay.episode.turns if turn.round == replay.round}
    for agent, spoken in replay.instead.items():
        words = join_act(spoken, acts[agent])
        said, ids = given[agent, replay.round], _written(policies[agent], words)
        given[agent, replay.round] = Reply(words, said.prompt_ids, ids, (0.0,) * len(ids))
    return given


def _written(policy: Policy, words: str) -> tuple[int, ...]:
    """Return the tokens in which a policy says a message; empty for a script."""
    write = getattr(policy, "write", None)
    return tuple(write(words)) if write else ()
