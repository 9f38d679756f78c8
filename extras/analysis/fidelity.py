"""Measure how faithful each credit is to the true value of a message.

A context is a turn with everything that was said before its round. Some replies of its author are
sampled there. The true value of a reply is the team's task reward less its bills, T - C, a mean
over many plays that continue from it. Every credit is measured on further plays, with the same
number of plays per reply: a credit that takes replays is measured less often. Its fidelity is
Spearman's correlation with the true value over the replies of a context, as in C3 (arXiv
2603.06859). The value of the context drops out of a correlation.

- `own` and `team`: return of the author, and of the team.
- `group`: GRPO's advantage of the own return among one play of each reply.
- `silence` and `shapley`: as `learners.rollout.collectors.counterfactual` measures them.
- `c3`: team's return less that of the other replies, after the same messages of other agents.
- `value`: one half of the plays of the true value against the other, so how certain that value is.

Values are exact for a greedy team, and one play is enough. Influence is the mutual information, in
bits, between the reply and what another agent says in the next round. Texts count as equal up to
case, white space and the form of numbers. The estimate is corrected for its bias (G. Miller, 1955).
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from laconic.envs.checks import Count, check_fields
from laconic.experiments.session.evaluation import EvaluationRun, Findings
from laconic.extras.methods.candidates import start_before
from laconic.learners.advantages.credit import own, team_parts
from laconic.learners.advantages.group import Advantages, Key
from laconic.learners.episode import Episode, Turn
from laconic.learners.metrics import RESAMPLES, Interval, resample
from laconic.learners.rollout.collectors.base import Players
from laconic.learners.rollout.collectors.counterfactual import (
    Replay,
    Rule,
    differences,
    replayed,
    shares,
)
from laconic.learners.rollout.play import Start, play, replies_of

FILE = "fidelity.csv"
HEADS = ("measure", "mean", "low", "high", "contexts", "measurements", "variance")
"""Columns of the table: mean over contexts with its bootstrap interval, contexts behind it,
measurements of a reply within its plays, and variance of a credit between equal measurements."""
RULES: Mapping[str, Rule] = {"silence": differences, "shapley": partial(shares, samples=4)}
"""Rules of the credits that are measured by replays, as the learners have them by default."""
GROUP, ALTERNATIVES = Advantages(), Advantages(center="leave_one_out", scale="none")
REPLIES, BUDGET, PLAYS = 4, 24, 64
"""Most replies of a context, plays per reply and credit, and plays per reply for its true value. A
greedy team needs one play."""
DRAWS = 4
"""Samples drawn for each reply to be measured. Equal samples count once."""
Measured = list[list[float]]
"""Measurements of a credit, by reply of a context."""


@dataclass(slots=True)
class Context:
    """A turn with everything before it, and what was measured there."""

    start: Start
    """Start of the episode."""
    before: Start
    """The same with the replies of earlier rounds."""
    turn: Turn
    """Turn whose replies are compared."""
    replies: list[Turn] = field(default_factory=list)
    """Distinct replies, in the order in which they were sampled."""
    value: list[list[float]] = field(default_factory=list)
    """Returns T - C of the team in the plays of the true value, by reply."""
    credits: dict[str, Measured] = field(default_factory=dict)
    """Measurements by name of the credit."""
    influence: float | None = None
    """Influence of the reply on the next round, in bits. None: there is none."""

    def saying(self, reply: Turn, others: Sequence[Turn] = ()) -> Start:
        """Return a start from which the author gives a reply, and other agents theirs."""
        replies = replies_of((reply, *others))
        return replace(self.before, replies={**self.before.replies, **replies})

    def turn_in(self, episode: Episode) -> Turn:
        """Return this turn in an episode that continues from the context."""
        return next(turn for turn in self.beside(episode, own=True))

    def beside(self, episode: Episode, own: bool = False) -> list[Turn]:
        """Return the other agents' turns of the round in an episode, or the author's `own`."""
        turns = (turn for turn in episode.turns if turn.round == self.turn.round)
        return [turn for turn in turns if (turn.agent == self.turn.agent) is own]


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Measures the fidelity of credits after a complete evaluation."""

    contexts: Count | None = None
    """Number of contexts, one per evaluation task; None measures nothing."""

    def __post_init__(self) -> None:
        """Check the setting."""
        check_fields(self, "evaluation.after.fidelity")

    def __call__(self, evaluation: EvaluationRun) -> Findings:
        """Measure the first tasks, write `fidelity.csv`, and return the figures."""
        if self.contexts is None or len(evaluation.episodes) < len(evaluation.starts):
            return Findings()
        players = Players(evaluation.environments, evaluation.policies)
        cfg, starts = evaluation.cfg, evaluation.starts[: self.contexts]

        def work() -> Mapping[str, Interval]:
            contexts = measure(
                players,
                starts,
                replies=REPLIES,
                budget=1 if cfg.evaluation.greedy else BUDGET,
                plays=1 if cfg.evaluation.greedy else PLAYS,
                greedy=cfg.evaluation.greedy,
                seed=cfg.seed,
            )
            write(contexts, evaluation.folder.path / FILE)
            return figures(contexts)

        return Findings(figures=evaluation.by_main(work))


def measure(
    players: Players,
    starts: Sequence[Start],
    *,
    replies: int,
    budget: int,
    plays: int,
    greedy: bool,
    seed: int,
) -> list[Context]:
    """Measure every credit of the distinct replies of one turn per start, drawn by the seed.

    Args:
        players: environments and policies.
        starts: starts of the episodes, which need tasks of their own for independent contexts.
        replies: largest number of replies of a context.
        budget: plays per reply and credit; a credit that takes more is measured once.
        plays: plays per reply for its true value.
        greedy: True if all but the replies themselves is played greedily.
        seed: seed of everything drawn and sampled.

    Returns:
        The contexts in which at least two different replies were sampled.
    """
    generator = np.random.default_rng((seed, 3))

    def played(starts: Sequence[Start], greedy: bool = greedy) -> Iterator[Episode]:
        return iter(play(*players, starts, seed=int(generator.integers(2**31)), greedy=greedy))

    contexts = []
    for start, episode in zip(starts, played(starts), strict=True):
        turns = [turn for turn in episode.turns if turn.reply_ids]
        if turns:
            turn = turns[int(generator.integers(len(turns)))]
            contexts.append(Context(start, start_before(start, episode, turn.round), turn))
    draws = range(DRAWS * replies)
    sampled = played([context.before for context in contexts for _ in draws], greedy=False)
    for context in contexts:
        turns = [context.turn_in(next(sampled)) for _ in draws]
        distinct = {(turn.message, turn.act): turn for turn in reversed(turns)}
        context.replies = list(reversed(distinct.values()))[:replies]
    contexts = [context for context in contexts if len(context.replies) > 1]
    pairs = [(context, reply) for context in contexts for reply in context.replies]
    continued = played([c.saying(reply) for c, reply in pairs for _ in range(plays)])
    for context in contexts:
        episodes = [[next(continued) for _ in range(plays)] for _ in context.replies]
        context.value = [list(map(_team_return, each)) for each in episodes]
        context.influence = _influence(context.turn, episodes)
    continued = played([c.saying(reply) for c, reply in pairs for _ in range(budget)])
    pools = [[[next(continued) for _ in range(budget)] for _ in c.replies] for c in contexts]
    for context, pool in zip(contexts, pools, strict=True):
        returns = [[_own_return(each, context.turn.agent) for each in row] for row in pool]
        context.credits = {
            "own": returns,
            "team": [list(map(_team_return, row)) for row in pool],
            "group": _compared(GROUP, returns),
        }
    for name, rule in RULES.items():
        _counterfactual(players, contexts, pools, name, rule, budget, generator)
    # Every reply is played after the messages that the first one met.
    after_same = played(
        [
            context.saying(reply, context.beside(episode))
            for context, pool in zip(contexts, pools, strict=True)
            for reply in context.replies[1:]
            for episode in pool[0]
        ]
    )
    for context, pool in zip(contexts, pools, strict=True):
        rows = [pool[0], *([next(after_same) for _ in pool[0]] for _ in context.replies[1:])]
        context.credits["c3"] = _compared(
            ALTERNATIVES, [list(map(_team_return, row)) for row in rows]
        )
    return contexts


def _counterfactual(
    players: Players,
    contexts: Sequence[Context],
    pools: Sequence[Sequence[Sequence[Episode]]],
    name: str,
    rule: Rule,
    budget: int,
    generator: np.random.Generator,
) -> None:
    """Measure a counterfactual credit in as many plays of each reply as the budget allows."""
    replays: list[Replay] = []
    plans: list[tuple[list[float], list[float]]] = []
    for context, pool in zip(contexts, pools, strict=True):
        measured: Measured = [[] for _ in context.replies]
        context.credits[name] = measured
        for measurements, episodes in zip(measured, pool, strict=True):
            spent = 0
            for episode in episodes:
                replay = Replay(context.start, episode, context.turn.round)
                weights = rule(sorted(replay.speakers), generator).get(context.turn.agent, {})
                # A measurement takes the play itself, and a replay of each set of speakers.
                spent += 1 + len(weights)
                if measurements and spent > budget:
                    break
                measurements.append(0.0)
                plans.append((measurements, list(weights.values())))
                replays += [
                    replace(replay, instead=dict.fromkeys(replay.speakers - speakers, ""))
                    for speakers in weights
                ]
    seed = int(generator.integers(2**31))
    outcomes = iter(replayed(players, replays, seed=seed)[0])
    filled: Counter[int] = Counter()
    for measurements, factors in plans:
        credit = sum(weight * _team_return(next(outcomes)) for weight in factors)
        measurements[filled[id(measurements)]] = credit
        filled[id(measurements)] += 1


def _own_return(episode: Episode, agent: str) -> float:
    credits = own(episode)
    return float(sum(credits.task[agent]) - sum(credits.cost[agent]))


def _team_return(episode: Episode) -> float:
    task, cost = team_parts(episode)
    return task - cost


def _compared(estimator: Advantages, returns: Measured) -> Measured:
    """Return the advantages among one play of each reply, (replies, plays)."""
    keys = [Key("context", "agent")] * len(returns)
    columns = [estimator(column, keys) for column in zip(*returns, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _influence(turn: Turn, episodes: Sequence[Sequence[Episode]]) -> float | None:
    """Return the mean influence (bits) on the other agents of the next round; None without any."""
    actions: dict[str, list[tuple[int, str]]] = {}
    for index, row in enumerate(episodes):
        for episode in row:
            for later in episode.turns:
                if later.round == turn.round + 1 and later.agent != turn.agent:
                    action = canonical(f"{later.message} {later.act}")
                    actions.setdefault(later.agent, []).append((index, action))
    return (
        float(np.mean([mutual_information(pairs) for pairs in actions.values()]))
        if actions
        else None
    )


def canonical(text: str) -> str:
    """Return a text in lower case with single spaces and plain numbers (`1,200.0` is `1200`)."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text.lower())
    plain = re.sub(r"\d+\.\d+", lambda match: f"{float(match[0]):g}", plain)
    return " ".join(plain.split())


def mutual_information(pairs: Sequence[tuple[object, object]]) -> float:
    """Return the mutual information of pairs in bits, corrected for bias (G. Miller, 1955).

    A plug-in entropy is too small by about (values - 1) / (2 n) nats.
    """

    def entropy(values: Sequence[object]) -> float:
        counts = np.array(list(Counter(values).values()), dtype=np.float64)
        shares = counts / counts.sum()
        return float(-(shares * np.log(shares)).sum() + (len(counts) - 1) / (2 * counts.sum()))

    first, second = zip(*pairs, strict=True)
    return (entropy(first) + entropy(second) - entropy(pairs)) / math.log(2)


def spearman(credit: Sequence[float], value: Sequence[float]) -> float | None:
    """Return Spearman's correlation, with mean ranks for ties.

    It is 0 for a constant credit, which tells nothing. None: the value is constant.
    """
    x, y = (_ranks(numbers) - (len(numbers) - 1) / 2 for numbers in (credit, value))
    if not y.any():
        return None
    return float(x @ y / math.sqrt((x @ x) * (y @ y))) if x.any() else 0.0


def _ranks(numbers: Sequence[float]) -> NDArray[np.float64]:
    """Return the ranks (numbers,) from 0; equal ones share their mean rank."""
    # Sums of equal terms in another order may differ in their last bits.
    rounded = np.round(np.asarray(numbers, dtype=np.float64), 9)
    below = (rounded[:, None] > rounded).sum(axis=1)
    return np.asarray(below + ((rounded[:, None] == rounded).sum(axis=1) - 1) / 2)


def fidelities(contexts: Sequence[Context], name: str) -> list[float]:
    """Return the fidelity of a credit in every context whose replies differ in value."""
    values = []
    for context in contexts:
        if name == "value":
            halves = [(row[::2], row[1::2]) for row in context.value if len(row) > 1]
            sides = [[float(np.mean(half)) for half in side] for side in zip(*halves, strict=True)]
            values.append(spearman(*sides) if sides else None)
        else:
            credit = [float(np.mean(row)) for row in context.credits[name]]
            values.append(spearman(credit, [float(np.mean(row)) for row in context.value]))
    return [value for value in values if value is not None]


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of independent contexts with its 95 % bootstrap interval."""
    samples = resample(RESAMPLES, len(values), np.random.default_rng(0)) @ values / len(values)
    low, high = np.percentile(samples, (2.5, 97.5))
    return Interval(float(np.mean(values)), float(low), float(high), len(values))


def figures(contexts: Sequence[Context]) -> dict[str, Interval]:
    """Return `fidelity/<credit>`, `influence` and `distinct_replies`; those without data miss."""
    names = list(contexts[0].credits) if contexts else []
    columns: dict[str, list[float]] = {
        f"fidelity/{name}": fidelities(contexts, name) for name in (*names, "value")
    }
    columns["influence"] = [each.influence for each in contexts if each.influence is not None]
    columns["distinct_replies"] = [float(len(context.replies)) for context in contexts]
    return {name: interval(values) for name, values in columns.items() if values}


def write(contexts: Sequence[Context], path: Path) -> None:
    """Write the table with a line per figure."""
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(HEADS)
        for name, figure in figures(contexts).items():
            rows = [
                row
                for context in contexts
                for row in context.credits.get(name.removeprefix("fidelity/"), ())
            ]
            several = [float(np.var(row, ddof=1)) for row in rows if len(row) > 1]
            measurements = float(np.mean([len(row) for row in rows])) if rows else ""
            variance = float(np.mean(several)) if several else ""
            ends = (figure.mean, figure.low, figure.high, figure.count)
            lines.writerow((name, *ends, measurements, variance))
