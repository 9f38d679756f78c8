"""What every token of a message is worth: the message is cut after each of them, and replayed.

The worth of the first k tokens of a message is what they add to a return when its author says them
and no more, against silence; by which sets of the round's other speakers that is measured, says a
rule of `counterfactual`. All before is as recorded and later rounds are played on, so that worths
are exact for a team that decodes greedily. The last token's worth is that of the whole message.

Beginnings alone mislead where what matters stands at the end: whatever comes before it looks
needed. So stretches of a message can be left out as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from laconic.learners.advantages.credit import team_parts
from laconic.learners.episode import Episode, Turn
from laconic.learners.rollout.collectors.base import Players
from laconic.learners.rollout.collectors.counterfactual import (
    Replay,
    Rule,
    replayed,
    spoken_rounds,
)
from laconic.learners.rollout.collectors.silence import differences
from laconic.learners.rollout.runner import Start


@dataclass(frozen=True, slots=True)
class Worth:
    """What the parts of one message are worth, in reward units."""

    episode: int
    """Place of its episode."""
    turn: Turn
    """The turn in which it was said."""
    pieces: tuple[str, ...]
    """Its tokens, (tokens,)."""
    own: tuple[float, ...]
    """Task reward that its first k tokens earn its author, (tokens + 1,); the first entry is 0."""
    team: tuple[float, ...]
    """Task reward that they earn the team, (tokens + 1,); see `credit.team_parts`."""
    spans: tuple[tuple[int, float, float], ...] = ()
    """Each stretch of it in turn: its tokens, and what the message loses without it, of its worth
    to its author and to all."""


def worths(
    players: Players,
    starts: Sequence[Start],
    episodes: Sequence[Episode],
    tokenize: Callable[[str], Sequence[str]],
    *,
    rule: Rule = differences,
    span: int = 0,
    seed: int = 0,
) -> tuple[list[Worth], int]:
    """Measure every message of some episodes.

    Args:
        players: environments, and who speaks in them. Worths are of the task reward alone.
        starts: where the episodes began.
        episodes: as they were played.
        tokenize: cuts text into tokens that joined are the text.
        rule: the sets of speakers that a message is measured by.
        span: tokens of a stretch that is left out; 0 leaves none out.
        seed: of what the rule draws.

    Returns:
        The worths in the order of the turns; and how many episodes were played for them.
    """
    generator, replays, plans = np.random.default_rng((seed, 1)), list[Replay](), list[_Plan]()
    for place, (start, episode) in enumerate(zip(starts, episodes, strict=True)):
        for one in spoken_rounds(start, episode):
            weights = rule(sorted(one.speakers), generator)
            for turn in episode.turns:
                if turn.round == one.round and turn.message:
                    texts = _texts(pieces := tuple(tokenize(turn.message)), span)
                    sets = {s: w for s, w in weights[turn.agent].items() if turn.agent in s}
                    replays += [_changed(one, turn, text, said) for text in texts for said in sets]
                    plans.append((place, turn, pieces, tuple(sets.values())))
    ends, played = replayed(players, replays, seed=seed)
    return _worths(plans, iter(ends), span), played


_Plan = tuple[int, Turn, tuple[str, ...], tuple[float, ...]]
"""Place of the episode, turn, its tokens, and the weights of the sets it is measured by."""


def _texts(pieces: Sequence[str], span: int) -> list[str]:
    """The beginnings of a message, silence first, and the message without each stretch."""
    beginnings = ["".join(pieces[:count]) for count in range(len(pieces) + 1)]
    firsts = range(0, len(pieces), span) if span else ()
    return beginnings + ["".join((*pieces[:at], *pieces[at + span :])) for at in firsts]


def _changed(one: Replay, turn: Turn, text: str, said: frozenset[str]) -> Replay:
    """The replay in which these speakers alone speak, and the author of a turn says a text."""
    instead = dict.fromkeys(one.speakers - said, "")
    return replace(one, instead=instead if text == turn.message else {**instead, turn.agent: text})


def _worths(plans: Sequence[_Plan], ends: Iterator[Episode], span: int) -> list[Worth]:
    found = []
    for place, turn, pieces, weights in plans:
        count = len(_texts(pieces, span))
        # (texts, sets, 2): the return of the author, and of all.
        returns = np.array([[_pair(next(ends), turn) for _ in weights] for _ in range(count)])
        values = np.einsum("tsr,s->tr", returns, np.array(weights))
        worth, without = values[: len(pieces) + 1] - values[0], values[len(pieces) + 1 :]
        lost: NDArray[np.float64] = values[len(pieces)] - without
        sizes = [min(span, len(pieces) - at * span) for at in range(len(lost))]
        spans = tuple((n, float(o), float(t)) for n, (o, t) in zip(sizes, lost, strict=True))
        own, team = (tuple(map(float, column)) for column in worth.T)
        found.append(Worth(place, turn, pieces, own, team, spans))
    return found


def _pair(episode: Episode, turn: Turn) -> tuple[float, float]:
    """Return what the task paid the author of a turn, and what it paid the team."""
    rewards = episode.task_rewards or episode.rewards
    return sum(rewards[turn.agent]), team_parts(episode).task
