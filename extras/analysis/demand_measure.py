"""Measure a team's demand for words: the worth and the cost of each token of its messages.

A message is cut after each of its tokens and the episode is replayed. The worth of the first k
tokens is their increase of a return, compared with silence. Everything before the message stays as
recorded, and later rounds are played on, so worths are exact for a team that decodes greedily. A
rule of `counterfactual` chooses the other speakers of the round. Beginnings mislead if the relevant
part stands at the end, because everything before it looks needed. So stretches of a message can be
left out as well.

Worths are gross: environments are played at price 0, with the prompts that they have.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from laconic.envs.checks import Bound, Count, Positive, Whole, check_fields
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.reward import Reward, free_tokens
from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.session.evaluation import EvaluationRun, Findings
from laconic.experiments.session.setup import Environments, set_price
from laconic.experiments.session.splits import tasks_of
from laconic.extras.analysis.demand_statistics import FILE, Curve, Message, curve, figures
from laconic.learners.advantages.credit import team_parts
from laconic.learners.episode import Episode, Turn
from laconic.learners.interfaces import Policy
from laconic.learners.metrics import Interval, prefixed
from laconic.learners.rollout.collectors.base import Players
from laconic.learners.rollout.collectors.counterfactual import (
    Replay,
    Rule,
    differences,
    replayed,
    shares,
    spoken_rounds,
)
from laconic.learners.rollout.play import Start, play

RULES: Mapping[str, Rule] = MappingProxyType(
    {"silence": differences, "shapley": partial(shares, samples=4)}
)
"""Rules for the sets of other speakers with which a message is measured."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a measurement of demand."""

    worth: Literal["own", "team"] = "own"
    """Task reward of the speaker or of the team, which differ if agents have own rewards."""
    credit: Literal["silence", "shapley"] = "silence"
    """Comparison with silence, or Shapley value among the messages of the round."""
    span: Whole = 4
    """Length of the stretches that are left out of a message, in tokens; 0 leaves none out."""
    points: Annotated[int, Bound(ge=2)] = 61
    """Number of prices of the curve."""
    most_price: Positive | None = None
    """Highest price of the curve; None takes one at which little is bought."""

    def __post_init__(self) -> None:
        """Check every setting."""
        check_fields(self, "demand")


@dataclass(frozen=True, slots=True)
class Demand:
    """Demand of a team for words."""

    episodes: tuple[Episode, ...]
    """Episodes as they were played, at price 0."""
    worths: tuple[Worth, ...]
    """Worth of every message of the episodes."""
    messages: tuple[Message, ...]
    """The same messages as their buyer sees them."""
    figures: Mapping[str, Interval]
    """Figures of `demand_statistics.GLOSSARY`, at the price of the environment."""
    curve: Curve
    """Demand at other prices."""
    price: float
    """Price of the environment."""
    normalizer: float
    """Number of tokens that cost one price."""
    replays: int
    """Number of episodes that were replayed."""


def measure(
    environments: Environments,
    policies: Mapping[str, Policy],
    starts: Sequence[Start],
    settings: Settings,
) -> Demand:
    """Play greedily from each start, then replay every message in parts.

    Raises:
        SettingError: the environment has no price or one that depends on listeners, or its messages
            have no tokens.
    """
    environment = environments[0]
    reward = getattr(environment, "reward", None)
    tokenize = getattr(environment, "tokenize", None)
    if not isinstance(reward, Reward) or tokenize is None:
        raise SettingError(
            "a demand for words needs an environment with `reward`, an envs.Reward, and `tokenize`"
            f" (any of envs.make); got {type(environment).__name__}"
        )
    if reward.charge == "listeners" or reward.read_price:
        raise SettingError(
            "a demand for words needs one price for every token said; set env.reward.charge=own or"
            f" team and env.reward.read_price=0; got charge={reward.charge} and"
            f" read_price={reward.read_price}"
        )
    with _free(environments, reward.price):
        episodes = play(environments, policies, starts, seed=0, greedy=True)
        message_worths, replays = worths(
            Players(environments, policies),
            starts,
            episodes,
            tokenize,
            rule=RULES[settings.credit],
            span=settings.span,
        )
    messages = list(_messages(environment, episodes, message_worths, settings.worth))
    normalizer = reward.normalizer
    measured = figures(messages, len(episodes), reward.price, normalizer)
    most = settings.most_price or _most_price(messages, normalizer)
    prices = [float(price) for price in np.linspace(0, most, settings.points)]
    demand_curve = curve(messages, len(episodes), prices, normalizer)
    records = tuple(episodes), tuple(message_worths), tuple(messages)
    return Demand(*records, measured, demand_curve, reward.price, normalizer, replays)


@dataclass(frozen=True, slots=True)
class FollowDemand:
    """Measures demand after every evaluation of a training."""

    tasks: Count | None = None
    """Number of evaluation tasks to measure it on; None measures nothing."""

    def __post_init__(self) -> None:
        """Check the setting."""
        check_fields(self, "evaluation.after.demand")

    def __call__(self, evaluation: EvaluationRun) -> Findings:
        """Measure demand, add a row to `demand.jsonl` and return the metrics."""
        if self.tasks is None:
            return Findings()
        starts = evaluation.starts[: self.tasks]

        def work() -> dict[str, float]:
            demand = measure(evaluation.environments, evaluation.policies, starts, Settings())
            evaluation.folder.append_row(FILE, row(demand, evaluation.step))
            return prefixed(
                {name: figure.mean for name, figure in demand.figures.items()}, "demand/"
            )

        return Findings(metrics=evaluation.by_main(work))


def row(demand: Demand, step: int) -> dict[str, Any]:
    """Return a row of `demand.jsonl`: figures and curve at a step of training."""
    points = {
        "price": demand.curve.prices,
        "bought": [asdict(interval) for interval in demand.curve.bought],
        "bought_cut": [asdict(interval) for interval in demand.curve.bought_cut],
        "reached": reached(demand.messages),
    }
    return {
        "step": step,
        "episodes": len(demand.episodes),
        "price": demand.price,
        "figures": {name: asdict(figure) for name, figure in demand.figures.items()},
        "curve": points,
    }


def reached(messages: Sequence[Message], points: int = 21) -> list[float]:
    """Return the mean share of their worth that useful messages reach after 0, 5, ..., 100 %."""
    useful = [message for message in messages if message.useful and message.worth[-1] > 0]
    at = np.linspace(0, 1, points)
    shares = [
        [message.worth[int(part * message.tokens + 1e-9)] / message.worth[-1] for part in at]
        for message in useful
    ]
    return [float(share) for share in np.mean(shares, axis=0)] if shares else []


def write(demand: Demand, folder: RunFolder) -> None:
    """Write the tables: `demand.csv` with a line per price, `messages.csv` and `tokens.csv`."""
    names = ("bought", "bought_cut")
    heads = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    both = zip(demand.curve.bought, demand.curve.bought_cut, strict=True)
    ends = [
        [x for interval in pair for x in (interval.mean, interval.low, interval.high)]
        for pair in both
    ]
    more = zip(demand.curve.prices, ends, demand.curve.pays, demand.curve.surplus, strict=True)
    rows = [(price, *cells, pays, surplus) for price, cells, pays, surplus in more]
    _table(folder, "demand.csv", ("price", *heads, "pays", "surplus"), rows)
    head = ("task", "round", "agent", "informed")
    pairs = list(zip(demand.worths, demand.messages, strict=True))
    who = [
        (demand.episodes[w.episode].task, w.turn.round, w.turn.agent, m.useful) for w, m in pairs
    ]
    _table(
        folder,
        "messages.csv",
        (*head, "tokens", "charged", "own_worth", "team_worth", "needed", "message"),
        [
            (*turn_key, m.tokens, m.charged[-1], w.own[-1], w.team[-1], m.needed, w.turn.message)
            for turn_key, (w, m) in zip(who, pairs, strict=True)
        ],
    )
    _table(
        folder,
        "tokens.csv",
        (*head, "place", "token", "own_marginal_worth", "team_marginal_worth"),
        [
            (*turn_key, k, w.pieces[k], w.own[k + 1] - w.own[k], w.team[k + 1] - w.team[k])
            for turn_key, (w, _) in zip(who, pairs, strict=True)
            for k in range(len(w.pieces))
        ],
    )


def _table(
    folder: RunFolder, name: str, head: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    with open(folder.path / name, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])


@contextmanager
def _free(environments: Environments, price: float) -> Iterator[None]:
    set_price(environments, 0.0)
    try:
        yield
    finally:
        set_price(environments, price)


def _messages(
    environment: ParallelEnv[str, Any, Any],
    episodes: Sequence[Episode],
    message_worths: Sequence[Worth],
    worth: str,
) -> Iterator[Message]:
    count = _counter(environment)
    knows_informed = any(
        turn.informed is not None for episode in episodes for turn in episode.turns
    )
    committed: set[tuple[int, str]] = set()
    for measured in message_worths:
        who = measured.episode, measured.turn.agent
        texts = ("".join(measured.pieces[:k]) for k in range(len(measured.pieces) + 1))
        task = episodes[measured.episode].task
        free = who not in committed
        charged = [count(task, measured.turn.agent, text, free) for text in texts]
        if charged[-1] < len(measured.pieces):
            committed.add(who)
        at = 1 if worth == "own" else 2
        yield Message(
            measured.episode,
            measured.turn.informed if knows_informed else True,
            measured.own if worth == "own" else measured.team,
            tuple(charged),
            tuple((span[0], span[at]) for span in measured.spans),
        )


def _counter(environment: ParallelEnv[str, Any, Any]) -> Callable[[str, str, str, bool], int]:
    """Return a function that counts the charged tokens of a text, with or without a free answer."""
    env: Any = environment
    tasks, tokenize = tasks_of(environment), env.tokenize

    def count(task: str, agent: str, text: str, free: bool) -> int:
        tokens = len(tokenize(text))
        # A world has no answer that could be free.
        graded = isinstance(env, DialogueEnv) and agent in env.answering
        if not (free and graded and env.reward.exempt_answer):
            return tokens
        return max(0, tokens - (free_tokens(env.benchmark, tasks[task], text, tokenize) or 0))

    return count


def _most_price(messages: Sequence[Message], normalizer: float) -> float:
    """Return three times the price that half of the useful messages are worth; 1 without any."""
    rates = [
        message.highest for message in messages if message.useful and 0 < message.highest < np.inf
    ]
    return 3 * float(np.median(rates)) * normalizer if rates else 1.0


@dataclass(frozen=True, slots=True)
class Worth:
    """Worth of the parts of one message, in reward units."""

    episode: int
    """Index of its episode."""
    turn: Turn
    """Turn in which it was said."""
    pieces: tuple[str, ...]
    """Tokens of the message, (tokens,)."""
    own: tuple[float, ...]
    """Task reward that its first k tokens earn its author, (tokens + 1,), from 0."""
    team: tuple[float, ...]
    """Task reward that its first k tokens earn the team, (tokens + 1,); see `credit.team_parts`."""
    spans: tuple[tuple[int, float, float], ...] = ()
    """Stretches in their order: tokens, and loss of worth to the author and to the team."""


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
        players: environments and policies. Worths are of the task reward alone.
        starts: starts of the episodes.
        episodes: episodes as they were played.
        tokenize: cuts text into tokens; joined they are the text.
        rule: chooses the sets of speakers that a message is measured with.
        span: length of the stretches that are left out, in tokens; 0 leaves none out.
        seed: seed of the rule's random draws.

    Returns:
        Worths in the order of the turns, and the number of replayed episodes.
    """
    generator, replays, plans = np.random.default_rng((seed, 1)), list[Replay](), list[_Plan]()
    for place, (start, episode) in enumerate(zip(starts, episodes, strict=True)):
        for replay in spoken_rounds(start, episode):
            weights = rule(sorted(replay.speakers), generator)
            for turn in episode.turns:
                if turn.round == replay.round and turn.message:
                    texts = _texts(pieces := tuple(tokenize(turn.message)), span)
                    sets = {s: w for s, w in weights[turn.agent].items() if turn.agent in s}
                    replays += [
                        _changed(replay, turn, text, speakers)
                        for text in texts
                        for speakers in sets
                    ]
                    plans.append((place, turn, pieces, tuple(sets.values())))
    ends, played = replayed(players, replays, seed=seed)
    return _worths(plans, iter(ends), span), played


_Plan = tuple[int, Turn, tuple[str, ...], tuple[float, ...]]
"""Index of the episode, turn, its tokens, and weights of the sets it is measured with."""


def _texts(pieces: Sequence[str], span: int) -> list[str]:
    """Return the beginnings of a message, silence first, and the message without each stretch."""
    beginnings = ["".join(pieces[:count]) for count in range(len(pieces) + 1)]
    firsts = range(0, len(pieces), span) if span else ()
    return beginnings + ["".join((*pieces[:at], *pieces[at + span :])) for at in firsts]


def _changed(replay: Replay, turn: Turn, text: str, speakers: frozenset[str]) -> Replay:
    """Return the replay in which only these speakers speak and the author says a text."""
    instead = dict.fromkeys(replay.speakers - speakers, "")
    return replace(
        replay, instead=instead if text == turn.message else {**instead, turn.agent: text}
    )


def _worths(plans: Sequence[_Plan], ends: Iterator[Episode], span: int) -> list[Worth]:
    measured = []
    for place, turn, pieces, weights in plans:
        count = len(_texts(pieces, span))
        # (texts, sets, 2): return of the author and of the team.
        returns = np.array([[_pair(next(ends), turn) for _ in weights] for _ in range(count)])
        values = np.einsum("tsr,s->tr", returns, np.array(weights))
        worth, without = values[: len(pieces) + 1] - values[0], values[len(pieces) + 1 :]
        lost: NDArray[np.float64] = values[len(pieces)] - without
        sizes = [min(span, len(pieces) - at * span) for at in range(len(lost))]
        spans = tuple((n, float(o), float(t)) for n, (o, t) in zip(sizes, lost, strict=True))
        own, team = (tuple(map(float, column)) for column in worth.T)
        measured.append(Worth(place, turn, pieces, own, team, spans))
    return measured


def _pair(episode: Episode, turn: Turn) -> tuple[float, float]:
    """Return the task reward of the author of a turn, and that of the team."""
    rewards = episode.task_rewards or episode.rewards
    return sum(rewards[turn.agent]), team_parts(episode).task
