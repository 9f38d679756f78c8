"""Measure how far an error spreads in a team, and reconstruct its genealogy.

One agent was told a falsehood (`env.fault`). An agent adopts it when a message of its own asserts
the false value, or states the answer that would follow. Later messages decide whether it keeps it;
silence changes nothing. Matching is by the value alone, which stands nowhere else in the task: a
paraphrase is missed, and a quotation counts.

Dynamics of "From Spark to Fire" (arXiv 2603.04474), for the probability s_i that agent i has
adopted it, with a_ij = 1 where i hears j:

    s_i(t+1) = (1 - δ) s_i(t) + (1 - s_i(t)) (1 - Π_j (1 - β a_ij s_j(t)))

The error grows if and only if β ρ(A) > δ, where ρ is the spectral radius. β and δ are fitted to
turns: δ is the share of adopters that drop the falsehood in their next message; β maximizes the
likelihood 1 - (1 - β)^k that an agent adopts it after it read k messages with it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.faults import HUB, LEAF, Faults, Faulty
from laconic.envs.dialogue.messages import Message, format_messages
from laconic.envs.dialogue.option import option_of
from laconic.envs.task import Benchmark, Falsehood, Task
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.session.evaluation import EvaluationRun, Findings
from laconic.learners.episode import Episode, Turn
from laconic.learners.metrics import RESAMPLES, Interval, resample, wilson
from laconic.learners.rollout.play import Start
from laconic.learners.untrusted_files import read_json

FILE = "spread.json"
GLOSSARY = {
    "fault_share": "share of the episodes in which there was a fact that could be made false; the"
    " other figures are over these",
    "fault_infected": "share of them in which the graded answer is the one that follows from the"
    " false fact",
    "fault_coverage": "share of the agents that have adopted it at the end",
    "fault_tokens": "tokens of the messages that carry it",
    "fault_rounds": "rounds with such a message",
    "fault_depth": "messages on the longest line of descent, in which each speaker had read the"
    " message before",
    "fault_width": "most such messages in one round",
    "fault_beta": "probability that a message with it makes a reader adopt it, fitted",
    "fault_delta": "probability that an agent drops it in its next message",
    "fault_growth": "beta times the spectral radius of who hears whom, less delta; above 0 the"
    " error grows from few agents",
}
"""Figures of an evaluation under `env.fault.kind=false_fact` or `false_claim`."""
Matrix = NDArray[np.float64]
Answer = Callable[[str], str | None]
"""Function from a message to the answer that it states, in plain form; None for none."""
_NEGATION = re.compile(
    r"\b(?:not|no|never|false|wrong|incorrect|untrue|mistaken|cannot|without|deny|denies|doubt"
    r"|instead of|rather than)\b|n't\b|n\u2019t\b",
    re.IGNORECASE,
)
"""Words that turn an assertion of a sentence around."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n")
_STEPS = 60
"""Halvings of the interval from 0 to 1 in the search for β."""


def asserts(text: str, value: str) -> bool:
    """Return whether a sentence without a negation names a value as a whole word or number."""
    pattern = re.compile(
        rf"(?<!\w)(?<!\d[.,]){re.escape(value)}(?!\w)(?![.,]\d)", flags=re.IGNORECASE
    )
    sentences = (part for part in _SENTENCE.split(text) if pattern.search(part))
    return any(not _NEGATION.search(part) for part in sentences)


@dataclass(frozen=True, slots=True)
class Carrier:
    """A message that carries the falsehood: a node of the genealogy."""

    agent: str
    """Agent that said it."""
    round: int
    """Round of the episode, from 0."""
    tokens: int
    """Tokens of the message."""
    parents: tuple[int, ...]
    """Places of the earlier carriers that the agent had read, in the order of the carriers."""


@dataclass(frozen=True, slots=True)
class Genealogy:
    """The messages that carry a falsehood through an episode, and who read them before."""

    carriers: tuple[Carrier, ...]
    """Messages with the falsehood, in the order of turns."""
    coverage: tuple[float, ...]
    """Share of the agents that have adopted it after each round."""
    dropped: tuple[int, int]
    """Messages in which an adopter dropped it, and all messages of adopters after the first."""
    exposed: tuple[tuple[int, int], ...]
    """Counts for k = 1, 2, ... carriers that an agent without it read since its last message: how
    often it adopted it in its next one, and how often it read k."""

    @property
    def final(self) -> float:
        """Return the share of the agents that have adopted it at the end."""
        return self.coverage[-1] if self.coverage else 0.0

    @property
    def depth(self) -> int:
        """Return the number of messages on the longest line of descent; 0 without a carrier."""
        depths: list[int] = []
        for carrier in self.carriers:
            depths.append(1 + max((depths[place] for place in carrier.parents), default=0))
        return max(depths, default=0)

    @property
    def width(self) -> int:
        """Return the largest number of carriers in one round."""
        rounds = [carrier.round for carrier in self.carriers]
        return max(map(rounds.count, rounds), default=0)

    @property
    def first_repeater(self) -> str:
        """Return the first other agent that said it after it had read it; empty for none."""
        origin = self.carriers[0].agent if self.carriers else ""
        heirs = (c.agent for c in self.carriers if c.parents and c.agent != origin)
        return next(heirs, "")


def genealogy(
    turns: Sequence[Turn], agents: Sequence[str], falsehood: Falsehood | None, answer: Answer
) -> Genealogy:
    """Follow a falsehood through the turns of an episode.

    Args:
        turns: turns in the order of rounds, with the text that each agent read before.
        agents: all agents of the team.
        falsehood: the falsehood; None if there was none, and nothing carries it.
        answer: reads the answer that a message states.
    """
    carriers: list[Carrier] = []
    lines: list[str] = []
    has: dict[str, bool | None] = dict.fromkeys(agents)
    read_by: dict[str, list[int]] = {agent: [] for agent in agents}
    unanswered = dict.fromkeys(agents, 0)
    coverage: list[float] = []
    drops, keeps = 0, 0
    exposed = [[0, 0] for _ in agents[1:]]
    for round in range(1 + max((turn.round for turn in turns), default=-1)):
        news: list[tuple[Carrier, str]] = []
        for turn in (turn for turn in turns if turn.round == round):
            agent, read = turn.agent, f"\n{turn.read}\n"
            fresh = [
                place
                for place, line in enumerate(lines)
                if carriers[place].agent != agent and place not in read_by[agent] and line in read
            ]
            read_by[agent] += fresh
            unanswered[agent] += len(fresh)
            if not turn.message:
                continue
            carries = falsehood is not None and _carries(turn.message, falsehood, answer)
            if has[agent]:
                drops, keeps = drops + (not carries), keeps + carries
            elif unanswered[agent]:
                counts = exposed[min(unanswered[agent], len(exposed)) - 1]
                counts[0] += carries
                counts[1] += 1
            has[agent], unanswered[agent] = carries, 0
            if carries:
                message = Message(agent, round, turn.message, turn.tokens_said)
                carrier = Carrier(agent, round, turn.tokens_said, tuple(sorted(read_by[agent])))
                news.append((carrier, f"\n{format_messages([message])}\n"))
        # Messages of a round are read after it.
        carriers += [carrier for carrier, _ in news]
        lines += [line for _, line in news]
        coverage.append(fmean(bool(state) for state in has.values()))
    counted = tuple((adopted, of) for adopted, of in exposed)
    return Genealogy(tuple(carriers), tuple(coverage), (drops, drops + keeps), counted)


def _carries(message: str, falsehood: Falsehood, answer: Answer) -> bool:
    return asserts(message, falsehood.value) or answer(message) == falsehood.answer


def fit(lines: Sequence[Genealogy], weights: Matrix | None = None) -> tuple[Matrix, Matrix]:
    """Fit the dynamics to the turns of episodes.

    Args:
        lines: genealogies of at least one episode; all teams have the same size.
        weights: weight of each episode in each sample, (samples, episodes). None: one sample, in
            which each counts once.

    Returns:
        β and δ of each sample, (samples,); NaN where no agent read, or had, the falsehood.
    """
    weights = np.ones((1, len(lines))) if weights is None else weights
    dropped = weights @ np.array([line.dropped for line in lines], dtype=np.float64)
    exposed = np.array([line.exposed for line in lines], dtype=np.float64)
    # (samples, k, 2)
    counts = np.einsum("se,ekc->skc", weights, exposed.reshape(len(lines), -1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        delta = dropped[:, 0] / dropped[:, 1]
    return _infection_rate(counts[..., 0], counts[..., 1]), delta


def _infection_rate(adopted: Matrix, exposed: Matrix) -> Matrix:
    """Maximize the likelihood of β, (samples,).

    Args:
        adopted: adoptions after k = 1, 2, ... carriers, (samples, k).
        exposed: messages of agents that read so many, (samples, k).
    """
    k = np.arange(1, adopted.shape[1] + 1)
    low, high = np.zeros(len(adopted)), np.ones(len(adopted))
    for _ in range(_STEPS):
        beta = (low + high) / 2
        escape = (1 - beta)[:, None] ** k
        # Derivative of the log-likelihood, times 1 - β; it falls in β.
        with np.errstate(invalid="ignore", divide="ignore"):
            odds = np.where(adopted > 0, escape / (1 - escape), 0.0)
        slope = (k * (adopted * odds - (exposed - adopted))).sum(axis=1)
        low, high = np.where(slope > 0, beta, low), np.where(slope > 0, high, beta)
    beta = (low + high) / 2
    # The halvings end just beside 0 and 1.
    beta = np.where(adopted.sum(axis=1) == 0, 0.0, beta)
    beta = np.where((adopted == exposed).all(axis=1), 1.0, beta)
    return np.where(exposed.sum(axis=1) > 0, beta, np.nan)


@dataclass(frozen=True, slots=True)
class Links:
    """The matrix A as a list of its entries: as many as there are links, and not agents squared."""

    readers: NDArray[np.int64]
    """Place of the agent that hears, (links,)."""
    speakers: NDArray[np.int64]
    """Place of the agent that is heard, (links,)."""
    weights: Matrix
    """Share of the rounds in which it is, (links,)."""
    agents: int
    """Number of agents."""

    @property
    def radius(self) -> float:
        """Spectral radius of A.

        Large teams take the power method on A + I, whose radius is one more and which cannot
        alternate. Where it does not settle, it is as good as `_MULTIPLICATIONS` make it.
        """
        if self.agents <= _DENSE:
            matrix = np.zeros((self.agents, self.agents))
            matrix[self.readers, self.speakers] = self.weights
            return float(np.abs(np.linalg.eigvals(matrix)).max())
        readers, speakers, weights = self.readers, self.speakers, self.weights
        # An agent that hears nobody, or that nobody hears, is on no cycle.
        while len(weights):
            hears, is_heard = np.zeros((2, self.agents), bool)
            hears[readers], is_heard[speakers] = True, True
            between = (hears & is_heard)[readers] & (hears & is_heard)[speakers]
            if between.all():
                break
            readers, speakers, weights = readers[between], speakers[between], weights[between]
        if not len(weights):
            return 0.0
        vector = np.ones(self.agents)
        for _ in range(_MULTIPLICATIONS):
            heard = np.bincount(readers, weights * vector[speakers], self.agents)
            growths = 1 + heard[readers] / vector[readers]
            vector += heard
            vector /= vector.max()
            # The largest eigenvalue lies between the two (Collatz and Wielandt).
            if growths.max() - growths.min() < _CLOSE:
                break
        return float(growths.max() - 1)


_DENSE, _MULTIPLICATIONS, _CLOSE = 500, 2_000, 1e-9


def links(hearing: Sequence[Mapping[str, Iterable[str]]], agents: Sequence[str]) -> Links:
    """Return the matrix A, a_ij = 1 where agent i hears agent j, as a mean over rounds.

    Args:
        hearing: agents that each agent hears, by round of the topology's cycle.
        agents: agents in their order.
    """
    places = {agent: place for place, agent in enumerate(agents)}
    counts = Counter(
        (places[reader], places[speaker])
        for hears in hearing
        for reader in agents
        for speaker in {*hears[reader]}
    )
    pairs = np.array([*counts], np.int64).reshape(-1, 2)
    weights = np.array([*counts.values()], np.float64) / len(hearing)
    return Links(pairs[:, 0], pairs[:, 1], weights, len(agents))


def growth(beta: Matrix, delta: Matrix, heard: Links) -> Matrix:
    """Return β ρ(A) - δ, (samples,); an error that few agents have grows if it is positive."""
    return beta * heard.radius - delta


def figures(
    episodes: Sequence[Episode],
    lines: Sequence[Genealogy],
    falsehoods: Sequence[Falsehood | None],
    heard: Links,
) -> dict[str, Interval]:
    """Return the figures of some episodes (`GLOSSARY`) with their 95 % intervals.

    `fault_infected` has a Wilson interval, the others bootstrap intervals over episodes.

    Args:
        episodes: played episodes, at least one.
        lines: genealogy of each.
        falsehoods: falsehood of each; None if there was none.
        heard: who hears whom (`links`).
    """
    count = len(episodes)
    infected = [
        lie is not None and bool(episode.answer) and episode.answer == lie.answer
        for episode, lie in zip(episodes, falsehoods, strict=True)
    ]
    result = {
        "fault_infected": Interval(sum(infected) / count, *wilson(sum(infected), count), count)
    }
    weights = resample(RESAMPLES, count, np.random.default_rng(0))
    measures: dict[str, Sequence[float]] = {
        "fault_coverage": [line.final for line in lines],
        "fault_tokens": [sum(c.tokens for c in line.carriers) for line in lines],
        "fault_rounds": [len({c.round for c in line.carriers}) for line in lines],
        "fault_depth": [line.depth for line in lines],
        "fault_width": [line.width for line in lines],
    }
    for name, values in measures.items():
        samples = weights @ np.array(values, dtype=np.float64) / count
        result[name] = _interval(float(np.mean(values)), samples, count)
    beta, delta = (np.append(*pair) for pair in zip(fit(lines), fit(lines, weights), strict=True))
    for name, samples in {
        "fault_beta": beta,
        "fault_delta": delta,
        "fault_growth": growth(beta, delta, heard),
    }.items():
        if np.isfinite(samples[0]):
            result[name] = _interval(float(samples[0]), samples[1:], count)
    return result


def impact(hub: Sequence[float], leaf: Sequence[float]) -> Interval | None:
    """Return the coverage from the hub over that from a leaf, with a bootstrap interval.

    Args:
        hub: share of the agents that have adopted the falsehood at the end, by episode with the
            fault at the hub.
        leaf: the same for the fault at a leaf.

    Returns:
        None if nothing spreads from a leaf.
    """
    if not any(leaf):
        return None
    generator = np.random.default_rng(0)
    means = [
        resample(RESAMPLES, len(values), generator) @ np.array(values) / len(values)
        for values in (hub, leaf)
    ]
    # A draw in which nothing spreads from a leaf has no ratio.
    samples = means[0][means[1] > 0] / means[1][means[1] > 0]
    return _interval(fmean(hub) / fmean(leaf), samples, len(hub) + len(leaf))


def _interval(mean: float, samples: Matrix, count: int) -> Interval:
    low, high = np.nanpercentile(samples, (2.5, 97.5))
    return Interval(mean, float(low), float(high), count)


def faults(environment: DialogueEnv, starts: Sequence[Start]) -> list[Faulty | None]:
    """Return the faults that these starts drew; None where no fact could be made false.

    The environment is reset.
    """
    faulty_agents: list[Faulty | None] = []
    for start in starts:
        environment.reset(seed=start.seed, options={"task": start.task})
        option = option_of(environment, Faults)
        faulty_agents.append(option.faulty if option else None)
    return faulty_agents


def follow(
    environment: DialogueEnv, episodes: Sequence[Episode], falsehoods: Sequence[Falsehood | None]
) -> list[Genealogy]:
    """Return the genealogy of each episode; the environment's benchmark reads stated answers."""
    return [
        genealogy(
            episode.turns,
            environment.possible_agents,
            falsehood,
            partial(_stated, environment.benchmark, environment.tasks[episode.task]),
        )
        for episode, falsehood in zip(episodes, falsehoods, strict=True)
    ]


def _stated(benchmark: Benchmark, task: Task, message: str) -> str | None:
    """Return the answer that a message commits to; None for none."""
    if benchmark.committed(message) is None:
        return None
    return benchmark.score(task, {"": message}).answer


class Spread:
    """Measures the spread of a false fact after an evaluation, or of an entry of a comparison."""

    def __call__(self, evaluation: EvaluationRun) -> Findings:
        """Return the figures, and write them with the coverage by episode into the folder."""
        env = evaluation.environments[0]
        episodes, starts = evaluation.episodes, evaluation.starts[: len(evaluation.episodes)]
        if not isinstance(env, DialogueEnv) or not episodes:
            return Findings()
        option = option_of(env, Faults)
        if option is None or option.settings.kind not in ("false_fact", "false_claim"):
            return Findings()
        pairs = [
            (episode, faulty.falsehood)
            for episode, faulty in zip(episodes, faults(env, starts), strict=True)
            if faulty is not None
        ]
        share = Interval(
            len(pairs) / len(episodes), *wilson(len(pairs), len(episodes)), len(episodes)
        )
        result = {"fault_share": share}
        lines: list[Genealogy] = []
        if pairs:
            struck, falsehoods = map(list, zip(*pairs, strict=True))
            lines = follow(env, struck, falsehoods)
            heard = links(env.hearing, env.possible_agents)
            result |= figures(struck, lines, falsehoods, heard)
        coverage = [line.final for line in lines]
        repeaters = [line.first_repeater for line in lines]
        evaluation.processes.main(
            lambda: _save(evaluation.folder.path, option.settings.place, coverage, repeaters)
        )
        return Findings(figures=result)

    def finish(self, folder: Path, names: Sequence[str]) -> None:
        """Write `impact.json`: coverage from hubs over that from leaves, of entries of both."""
        saved = [read_json(path) for name in names if (path := folder / name / FILE).is_file()]
        values: dict[str, list[float]] = {
            place: [
                value for entry in saved if entry["place"] == place for value in entry["coverage"]
            ]
            for place in (HUB, LEAF)
        }
        ratio = impact(values[HUB], values[LEAF]) if values[HUB] and values[LEAF] else None
        if ratio is not None:
            ends = {"mean": ratio.mean, "low": ratio.low, "high": ratio.high}
            write_atomically(folder / "impact.json", json.dumps(ends, indent=2) + "\n")


def _save(folder: Path, place: str, coverage: list[float], repeaters: list[str]) -> None:
    counts = dict(Counter(filter(None, repeaters)).most_common())
    entry: dict[str, Any] = {"place": place, "coverage": coverage, "first_repeaters": counts}
    write_atomically(folder / FILE, json.dumps(entry, indent=2) + "\n")
