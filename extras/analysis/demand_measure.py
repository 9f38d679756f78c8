"""Measures a team's demand for words: what each token of its messages is worth, and what it costs.

Worths are gross: the environments are played at price 0 meanwhile, with the prompts they have.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from laconic.envs.checks import choice, number, whole
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.reward import Reward, free_tokens
from laconic.envs.errors import SettingError
from laconic.experiments.running.evaluation import EvaluationRun, Findings
from laconic.experiments.running.run_folder import RunFolder
from laconic.experiments.running.setup import Environments, set_price
from laconic.experiments.running.splits import tasks_of
from laconic.extras.analysis.demand_statistics import FILE, Curve, Message, curve, figures
from laconic.learners.advantages.credit import team_parts
from laconic.learners.agents.base import Policy
from laconic.learners.episode import Episode, Turn
from laconic.learners.metrics import Interval, prefixed
from laconic.learners.rollout.collectors.base import Players
from laconic.learners.rollout.collectors.counterfactual import Replay, Rule, replayed, spoken_rounds
from laconic.learners.rollout.collectors.shapley import shares
from laconic.learners.rollout.collectors.silence import differences
from laconic.learners.rollout.play import Start, play

RULES: Mapping[str, Rule] = MappingProxyType(
    {"silence": differences, "shapley": partial(shares, samples=4)}
)
"""By which sets of a round's other speakers a message is measured."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How demand is measured."""

    worth: Literal["own", "team"] = "own"
    """Task reward that the speaker earns by a message, or that the team earns. They differ where
    agents are paid gains of their own."""
    credit: Literal["silence", "shapley"] = "silence"
    """Against the message's silence alone, or its Shapley value among those of its round."""
    span: int = 4
    """Tokens of a stretch that is left out of a message; 0 leaves none out."""
    points: int = 61
    """Prices of the curve."""
    most_price: float | None = None
    """The highest of them; None takes one at which little is left."""

    def __post_init__(self) -> None:
        """Check every setting."""
        choice("demand.worth", self.worth, ("own", "team"))
        choice("demand.credit", self.credit, RULES)
        whole("demand.span", self.span, 0)
        whole("demand.points", self.points, 2)
        number("demand.most_price", self.most_price, above=0, optional=True)


@dataclass(frozen=True, slots=True)
class Demand:
    """A team's demand for words."""

    episodes: tuple[Episode, ...]
    """As they were played, at price 0."""
    worths: tuple[Worth, ...]
    """Every message of these."""
    messages: tuple[Message, ...]
    """The same as their buyer sees them."""
    figures: Mapping[str, Interval]
    """Those of `extras.analysis.demand_statistics.GLOSSARY`, at the environment's price."""
    curve: Curve
    """Demand at other prices."""
    price: float
    """The environment's."""
    normalizer: float
    """Tokens that cost one price."""
    replays: int
    """Episodes that were played for it beyond `episodes`."""


def measure(
    environments: Environments,
    policies: Mapping[str, Policy],
    starts: Sequence[Start],
    settings: Settings,
) -> Demand:
    """Play greedily from each start, and every message again in parts.

    Raises:
        SettingError: the environment has no price, or its messages no tokens.
    """
    environment = environments[0]
    reward = getattr(environment, "reward", None)
    tokenize = getattr(environment, "tokenize", None)
    if not isinstance(reward, Reward) or tokenize is None:
        raise SettingError(
            "a demand for words needs an environment with `reward`, an envs.Reward, and `tokenize`"
            f" (any of envs.make); got {type(environment).__name__}"
        )
    with _free(environments, reward.price):
        episodes = play(environments, policies, starts, seed=0, greedy=True)
        found, replays = worths(
            Players(environments, policies),
            starts,
            episodes,
            tokenize,
            rule=RULES[settings.credit],
            span=settings.span,
        )
    messages = list(_messages(environment, episodes, found, settings.worth))
    normalizer = reward.normalizer
    measured = figures(messages, len(episodes), reward.price, normalizer)
    most = settings.most_price or _most_price(messages, normalizer)
    prices = [float(one) for one in np.linspace(0, most, settings.points)]
    drawn = curve(messages, len(episodes), prices, normalizer)
    records = tuple(episodes), tuple(found), tuple(messages)
    return Demand(*records, measured, drawn, reward.price, normalizer, replays)


@dataclass(frozen=True, slots=True)
class FollowDemand:
    """Measures demand after every evaluation of a training, on its first tasks."""

    tasks: int | None = None
    """How many; None for none."""

    def __post_init__(self) -> None:
        """Check the setting."""
        whole("evaluation.demand", self.tasks, 1, optional=True)

    def __call__(self, evaluation: EvaluationRun) -> Findings:
        """Measure, write it down, and return the metrics."""
        if self.tasks is None:
            return Findings()
        starts = evaluation.starts[: self.tasks]

        def work() -> dict[str, float]:
            found = measure(evaluation.environments, evaluation.policies, starts, Settings())
            evaluation.folder.append_row(FILE, row(found, evaluation.step))
            return prefixed({name: one.mean for name, one in found.figures.items()}, "demand/")

        return Findings(metrics=evaluation.by_main(work))


def row(found: Demand, step: int) -> dict[str, Any]:
    """One line of `demand.jsonl`: figures and curve at a step of training."""
    drawn = {
        "price": found.curve.prices,
        "bought": [asdict(one) for one in found.curve.bought],
        "bought_cut": [asdict(one) for one in found.curve.bought_cut],
        "reached": reached(found.messages),
    }
    measured = {name: asdict(one) for name, one in found.figures.items()}
    return {
        "step": step,
        "episodes": len(found.episodes),
        "price": found.price,
        "figures": measured,
        "curve": drawn,
    }


def reached(messages: Sequence[Message], points: int = 21) -> list[float]:
    """How much of their worth useful messages have after 0, 5, ..., 100 % of their tokens, mean."""
    useful = [one for one in messages if one.useful and one.worth[-1] > 0]
    at = np.linspace(0, 1, points)
    shares = [
        [one.worth[int(part * one.tokens + 1e-9)] / one.worth[-1] for part in at] for one in useful
    ]
    return [float(one) for one in np.mean(shares, axis=0)] if shares else []


def write(found: Demand, folder: RunFolder) -> None:
    """Write the tables: `demand.csv`, a line a price; `messages.csv`; `tokens.csv`."""
    names = ("bought", "bought_cut")
    heads = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    both = zip(found.curve.bought, found.curve.bought_cut, strict=True)
    ends = [[x for one in pair for x in (one.mean, one.low, one.high)] for pair in both]
    more = zip(found.curve.prices, ends, found.curve.pays, found.curve.surplus, strict=True)
    rows = [(price, *cells, pays, surplus) for price, cells, pays, surplus in more]
    _table(folder, "demand.csv", ("price", *heads, "pays", "surplus"), rows)
    head = ("task", "round", "agent", "informed")
    pairs = list(zip(found.worths, found.messages, strict=True))
    who = [(found.episodes[w.episode].task, w.turn.round, w.turn.agent, m.useful) for w, m in pairs]
    _table(
        folder,
        "messages.csv",
        (*head, "tokens", "charged", "own_worth", "team_worth", "needed", "message"),
        [
            (*one, m.tokens, m.charged[-1], w.own[-1], w.team[-1], m.needed, w.turn.message)
            for one, (w, m) in zip(who, pairs, strict=True)
        ],
    )
    _table(
        folder,
        "tokens.csv",
        (*head, "place", "token", "own_marginal_worth", "team_marginal_worth"),
        [
            (*one, k, w.pieces[k], w.own[k + 1] - w.own[k], w.team[k + 1] - w.team[k])
            for one, (w, _) in zip(who, pairs, strict=True)
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
    found: Sequence[Worth],
    worth: str,
) -> Iterator[Message]:
    count = _counter(environment)
    told = any(turn.informed is not None for one in episodes for turn in one.turns)
    committed: set[tuple[int, str]] = set()
    for one in found:
        who = one.episode, one.turn.agent
        texts = ("".join(one.pieces[:k]) for k in range(len(one.pieces) + 1))
        task = episodes[one.episode].task
        free = who not in committed
        charged = [count(task, one.turn.agent, text, free) for text in texts]
        if charged[-1] < len(one.pieces):
            committed.add(who)
        at = 1 if worth == "own" else 2
        yield Message(
            one.episode,
            one.turn.informed if told else True,
            one.own if worth == "own" else one.team,
            tuple(charged),
            tuple((span[0], span[at]) for span in one.spans),
        )


def _counter(environment: ParallelEnv[str, Any, Any]) -> Callable[[str, str, str, bool], int]:
    """Counts the charged tokens of what an agent says on a task, perhaps with a free answer."""
    env: Any = environment
    tasks, tokenize = tasks_of(environment), env.tokenize

    def count(task: str, agent: str, text: str, free: bool) -> int:
        tokens = len(tokenize(text))
        # In a world there is no answer that could be free.
        graded = isinstance(env, DialogueEnv) and agent in env.answering
        if not (free and graded and env.reward.exempt_answer):
            return tokens
        return max(0, tokens - (free_tokens(env.benchmark, tasks[task], text, tokenize) or 0))

    return count


def _most_price(messages: Sequence[Message], normalizer: float) -> float:
    """Three times the price that half of the useful messages are worth; 1 without any."""
    rates = [one.highest for one in messages if one.useful and 0 < one.highest < np.inf]
    return 3 * float(np.median(rates)) * normalizer if rates else 1.0


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
