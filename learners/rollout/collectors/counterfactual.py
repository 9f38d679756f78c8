"""Collectors that measure the counterfactual credit of every message by replays.

A rule gives each message weights for sets of the round's speakers; the weighted values of the sets
add up to the credit. The value of a set is the team's earnings and costs (`credit.team_parts`) in a
replay: its members say what they said, the other speakers of the round are silent, earlier rounds
are as recorded, and later rounds are played again. Earnings and costs are kept apart, so a token
costs the same as under any other credit. A thought belongs to its message: an agent that is silent
in a replay has not thought either. The credit of a thought before silence is therefore its price. A
turn without message and thought has credit 0 and needs no replay.

There are two rules:

- `silence` compares a message with silence: how much less would the team have earned without it?
  This is a difference reward (D. Wolpert, K. Tumer, 2002) with silence as the default action. Two
  messages that say the same get no credit, because the team could do without either.
- `shapley` is the Shapley value (L. Shapley, 1953): the gain when the message's author joins the
  speakers before it, averaged over all orders. The credits of a round add up to the value of its
  messages over silence. With many speakers, orders are sampled (J. Castro, D. Gómez, J. Tejada,
  2009), and the sum still holds.

With `greedy`, later rounds are played greedily for every set. A credit is then exact for a team
that decodes these rounds greedily. For a team that samples them it has no noise from later draws,
but misses how the message changes them. Without `greedy`, later rounds are sampled, and the
recorded episode stands for the set of all speakers: the credit is unbiased, but noisy.

Replays need environments that are deterministic under `reset(seed, options)` and equal actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import factorial
from types import MappingProxyType

import numpy as np

from laconic.envs.checks import Count, checked
from laconic.envs.errors import SettingError
from laconic.envs.worlds import join_act
from laconic.learners.advantages.credit import team_parts
from laconic.learners.episode import Episode, Group, Parts
from laconic.learners.interfaces import Policy, Reply
from laconic.learners.rollout.collectors.base import Collector, Players, PlaysGroups, as_collector
from laconic.learners.rollout.play import collect, play, replies_of
from laconic.learners.rollout.runner import Start

Weights = Mapping[str, Mapping[frozenset[str], float]]
"""Weights of sets of speakers, by the agent whose credit is the weighted sum of their values."""
Rule = Callable[[Sequence[str], np.random.Generator], Weights]
"""Function of the speakers of a round and a generator that returns the weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """An episode to replay up to one of its rounds, and to play on from there."""

    start: Start
    """Start of the episode."""
    episode: Episode
    """Recorded episode."""
    round: int
    """Last replayed round."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """Messages by agent that replace message and thought in the last replayed round; empty text is
    silence. Acts stay as recorded (`Turn.act`)."""

    @property
    def speakers(self) -> frozenset[str]:
        """Agents that spoke in the last replayed round, or thought before silence."""
        turns = (turn for turn in self.episode.turns if turn.round == self.round)
        return frozenset(turn.agent for turn in turns if turn.message or turn.tokens_thought)


@dataclass(slots=True)
class CounterfactualCredit(Collector):
    """Plays groups by another collector, and stores the credit of its message in every turn."""

    credit: str = field()
    """Name of the credit that is measured (`learners.advantages.credit`)."""
    rule: Rule
    """Rule that gives each message its weights."""
    collect: PlaysGroups = collect
    """Collector that plays the groups, one for each start."""
    greedy: bool = True
    """True if later rounds are played greedily, False if they are sampled."""
    metrics: dict[str, float] = field(default_factory=dict, init=False)
    """Metrics of the last call: those of `collect`, and `replays`, the episodes played again."""

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
                f"learner.credit={self.credit} replays episodes from their start and needs a"
                f" learner.collect that plays one group per start ({len(starts)}); got"
                f" {len(groups)} groups"
            )
        generator = np.random.default_rng((seed, 1))
        rounds = [
            (spoken_round, self.rule(sorted(spoken_round.speakers), generator))
            for start, group in zip(starts, groups, strict=True)
            for episode in group.episodes
            for spoken_round in spoken_rounds(start, episode)
        ]
        # Each set with a weight in any agent's credit is replayed once.
        pairs = [
            (spoken_round, speakers)
            for spoken_round, weights in rounds
            for speakers in dict.fromkeys(each for agent in weights.values() for each in agent)
        ]
        replays = [
            replace(spoken_round, instead=dict.fromkeys(spoken_round.speakers - speakers, ""))
            for spoken_round, speakers in pairs
        ]
        seed = int(generator.integers(2**31))
        outcomes, played = replayed(players, replays, seed=seed, greedy=self.greedy)
        self.metrics = {**getattr(self.collect, "metrics", {}), "replays": float(played)}
        values = {
            (id(spoken_round), speakers): team_parts(outcome)
            for (spoken_round, speakers), outcome in zip(pairs, outcomes, strict=True)
        }
        credits = {
            (id(spoken_round.episode), spoken_round.round, agent): _weighted_sum(
                (weight, values[id(spoken_round), speakers])
                for speakers, weight in agent_weights.items()
            )
            for spoken_round, weights in rounds
            for agent, agent_weights in weights.items()
        }
        return [
            replace(
                group, episodes=tuple(_with_credits(episode, credits) for episode in group.episodes)
            )
            for group in groups
        ]


def silence(collect: PlaysGroups = collect, greedy: bool = True) -> CounterfactualCredit:
    """Build a collector for `learner.credit=silence`.

    Args:
        collect: collector that plays the groups, one for each start.
        greedy: whether rounds after a message are played greedily.
    """
    return CounterfactualCredit("silence", differences, collect, greedy)


@checked("learner.collect")
def shapley(
    collect: PlaysGroups = collect, greedy: bool = True, samples: Count = 4
) -> CounterfactualCredit:
    """Build a collector for `learner.credit=shapley`.

    Args:
        collect: collector that plays the groups, one for each start.
        greedy: whether rounds after a message are played greedily.
        samples: number of sampled orders, at least 1, if all sets would need more replays. With 4,
            up to three speakers are measured exactly.
    """
    return CounterfactualCredit("shapley", partial(shares, samples=samples), collect, greedy)


MEASURES: Mapping[str, Callable[[Collector], CounterfactualCredit]] = MappingProxyType(
    {"silence": silence, "shapley": shapley}
)
"""Functions that wrap a collector so that it measures a credit, by name of the credit."""


def collector_for(collect: PlaysGroups, credit: str, unit: str) -> Collector:
    """Return the collector that a learner with these settings can learn from.

    If the credit is counterfactual and `collect` does not measure it, wrap `collect` in a collector
    that measures it with default settings. Otherwise return `collect`.

    Raises:
        SettingError: `collect` requires another credit or unit than that of the learner, or plays
            other starts than it is given while the credit replays those.
    """
    collector = as_collector(collect)
    for name, required, setting in (
        ("credit", collector.credit, credit),
        ("unit", collector.unit, unit),
    ):
        if required not in (None, setting):
            raise SettingError(
                f"learner.collect ({collector.kind}) works with learner.{name}={required};"
                f" got learner.{name}={setting}"
            )
    if credit in MEASURES and collector.credit != credit:
        if collector.own_starts:
            raise SettingError(
                f"learner.credit={credit} replays episodes from the starts of their update, and"
                f" {collector.kind} plays other ones; choose learner.credit=own or team, or"
                " learner/collect=null"
            )
        return MEASURES[credit](collector)
    return collector


def differences(speakers: Sequence[str], generator: np.random.Generator) -> Weights:
    """Return the weights of `silence`: the value of all speakers minus that of the others."""
    everyone = frozenset(speakers)
    return {agent: {everyone: 1.0, everyone - {agent}: -1.0} for agent in speakers}


def shares(speakers: Sequence[str], generator: np.random.Generator, *, samples: int) -> Weights:
    """Return the weights of `shapley`; empty without speakers.

    They are exact if there are no more sets of speakers than `samples` orders could need.
    """
    count = len(speakers)
    # An order needs the values of the empty set, the full set, and count - 1 sets between them.
    if 2**count <= 2 + samples * max(count - 1, 0):
        return _exact_shares(speakers)
    weights: dict[str, dict[frozenset[str], float]] = {agent: {} for agent in speakers}
    for _ in range(samples):
        order = [speakers[index] for index in generator.permutation(count)]
        for index, agent in enumerate(order):
            joined, without = frozenset(order[: index + 1]), frozenset(order[:index])
            weights[agent][joined] = weights[agent].get(joined, 0.0) + 1 / samples
            weights[agent][without] = weights[agent].get(without, 0.0) - 1 / samples
    return weights


def _exact_shares(speakers: Sequence[str]) -> Weights:
    """Return the Shapley weights: s! (n - 1 - s)! / n! for joining s of the other n - 1."""
    count = len(speakers)
    weights: dict[str, dict[frozenset[str], float]] = {agent: {} for agent in speakers}
    for agent in speakers:
        others = [other for other in speakers if other != agent]
        for size in range(count):
            weight = factorial(size) * factorial(count - 1 - size) / factorial(count)
            for before in map(frozenset, combinations(others, size)):
                weights[agent][before | {agent}] = weight
                weights[agent][before] = -weight
    return weights


def _weighted_sum(values: Iterable[tuple[float, Parts]]) -> Parts:
    task, cost = 0.0, 0.0
    for weight, parts in values:
        task += weight * parts.task
        cost += weight * parts.cost
    return Parts(task, cost)


def replayed(
    players: Players, replays: Sequence[Replay], *, seed: int, greedy: bool = True
) -> tuple[list[Episode], int]:
    """Return the episodes (replays,) of some replays, and the number of episodes played for them.

    Up to its last replayed round a replay has the recorded tokens, except of agents whose message
    is replaced. The policies then play on, greedily or sampled with the seed. Replays of one start
    with equal replies are played once. The recorded episode is returned unplayed if no message is
    replaced and either no round is left or later rounds are sampled.
    """
    episodes = [replay.episode for replay in replays]
    indices_of: dict[object, list[int]] = {}
    starts: list[Start] = []
    for index, replay in enumerate(replays):
        if not replay.instead and (_is_last(replay) or not greedy):
            continue
        replies = _replies(replay, players.policies)
        # Log-probabilities are left out of the key: equal replies may differ in their last bit.
        messages = frozenset(
            (*who, reply.message, reply.reply_ids) for who, reply in replies.items()
        )
        equal = indices_of.setdefault((id(replay.start), messages), [])
        if not equal:
            starts.append(replace(replay.start, replies={**replay.start.replies, **replies}))
        equal.append(index)
    played = play(*players, starts, seed=seed, greedy=greedy)
    for episode, indices in zip(played, indices_of.values(), strict=True):
        for index in indices:
            episodes[index] = episode
    return episodes, len(played)


def spoken_rounds(start: Start, episode: Episode) -> list[Replay]:
    """Return a replay of an episode from each round in which an agent spoke or thought."""
    rounds = {turn.round for turn in episode.turns if turn.message or turn.tokens_thought}
    return [Replay(start, episode, round) for round in sorted(rounds)]


def _with_credits(episode: Episode, credits: Mapping[tuple[int, int, str], Parts]) -> Episode:
    nothing = Parts(0.0, 0.0)
    turns = (
        replace(turn, credit=credits.get((id(episode), turn.round, turn.agent), nothing))
        for turn in episode.turns
    )
    return replace(episode, turns=tuple(turns))


def _is_last(replay: Replay) -> bool:
    rounds = max((len(rewards) for rewards in replay.episode.rewards.values()), default=0)
    return replay.round + 1 >= rounds


def _replies(replay: Replay, policies: Mapping[str, Policy]) -> dict[tuple[str, int], Reply]:
    """Return the replies up to the last replayed round, with its replaced messages."""
    replies = replies_of(turn for turn in replay.episode.turns if turn.round <= replay.round)
    acts = {turn.agent: turn.act for turn in replay.episode.turns if turn.round == replay.round}
    for agent, speech in replay.instead.items():
        message = join_act(speech, acts[agent])
        prompt_ids = replies[agent, replay.round].prompt_ids
        ids = _encode(policies[agent], message)
        replies[agent, replay.round] = Reply(message, prompt_ids, ids, (0.0,) * len(ids))
    return replies


def _encode(policy: Policy, message: str) -> tuple[int, ...]:
    """Return the tokens in which a policy writes a message; empty for a script."""
    write = getattr(policy, "write", None)
    return tuple(write(message)) if write else ()
