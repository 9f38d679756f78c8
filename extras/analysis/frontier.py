"""Compute the fewest tokens that a team needs for an accuracy, with `split` information.

A frontier gives the fewest tokens said per episode at each accuracy. Between its corners a team
mixes two strategies. Some frontiers are exact, others are bounds:

- `enumerated`: exact for one agent who holds one of a few contents. It tries every codebook from
  contents to words or silence, decoded optimally.
- `coded`: a lower bound for every team, exact for `signal`. Silence stands for one answer of a
  question, and every other answer takes one token.
- `verbatim`: a bound for teams that guess nothing and say the relevant statements as they are.
- `telegraphic`: the same for teams that say the few words that distinguish a statement.

Under `coded` an answer takes one token; otherwise it has the form of the benchmark.

The laconic index places a team between the `coded` frontier (0) and the verbose script (1), each at
the accuracy of the team: the script in as many tasks as the team solves.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from typing import Any

import numpy as np
from omegaconf import OmegaConf

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import Tokenize
from laconic.envs.errors import SettingError
from laconic.envs.task import Task, relevant_statements
from laconic.experiments.session.evaluation import EvaluationRun, Findings
from laconic.experiments.session.setup import Environments
from laconic.learners.agents.scripted import ScriptedTeam, telegrams
from laconic.learners.episode import Episode
from laconic.learners.metrics import RESAMPLES, Interval, resample
from laconic.learners.rollout.play import Start, play

__all__ = ["Floors", "Frontier", "coded", "enumerated", "measure_index"]

Corner = tuple[float, float]
"""Tokens said per episode, and the accuracy that they buy."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """Fewest tokens at every accuracy, a concave line through corners."""

    corners: tuple[Corner, ...]
    """Corners (tokens, accuracy), from the silent team to the most accurate."""

    @classmethod
    def of(cls, points: Iterable[Corner]) -> Frontier:
        """Return the frontier of teams that reach these points, and of their mixtures."""
        corners: list[Corner] = []
        # Tokens rise, and of equally accurate points only the cheapest counts.
        for tokens, accuracy in sorted(points, key=lambda point: (point[0], -point[1])):
            if corners and accuracy <= corners[-1][1]:
                continue
            while len(corners) > 1 and _below(corners[-2], corners[-1], (tokens, accuracy)):
                corners.pop()
            corners.append((tokens, accuracy))
        return cls(tuple(corners))

    def tokens(self, accuracy: float) -> float:
        """Return the fewest tokens for an accuracy; infinite if no team reaches it."""
        before = self.corners[0]
        for corner in self.corners:
            if accuracy <= corner[1] + 1e-12:
                rise = corner[1] - before[1]
                part = max(accuracy - before[1], 0.0) / rise if rise else 0.0
                return before[0] + min(part, 1.0) * (corner[0] - before[0])
            before = corner
        return math.inf

    def best_return(self, price: float) -> float:
        """Return the highest return of a team, task reward less bills, at a price per token."""
        return max(accuracy - price * tokens for tokens, accuracy in self.corners)

    def answered(self, tokens: float) -> Frontier:
        """Return the frontier if the answer of a solved task takes this number of tokens more."""
        points = ((tokens_said + solved * tokens, solved) for tokens_said, solved in self.corners)
        return Frontier.of([(0.0, 0.0), *points])


def enumerated(chances: Sequence[float], lengths: Sequence[float]) -> Frontier:
    """Return the exact frontier of an agent who holds a content and another who has to name it.

    Args:
        chances: probability of each content.
        lengths: tokens of each word besides silence; more words than contents are of no use.
    """
    signals, points = (0.0, *lengths), []
    for book in product(range(len(signals)), repeat=len(chances)):
        best = [0.0] * len(signals)
        for chance, signal in zip(chances, book, strict=True):
            best[signal] = max(best[signal], chance)
        tokens = sum(chance * signals[signal] for chance, signal in zip(chances, book, strict=True))
        points.append((tokens, sum(best)))
    return Frontier.of(points)


def coded(guessed: float) -> Frontier:
    """Return the bound for a team that solves this share of the tasks by guessing."""
    return Frontier.of([(0.0, guessed), (1.0 - guessed, 1.0)])


def guessed(tasks: Sequence[Task]) -> float:
    """Return the share of tasks whose answer is the most common one of their question."""
    most_common = _most_common(tasks)
    return sum(task.answer == most_common[task.question] for task in tasks) / len(tasks)


def spoken(tasks: Sequence[Task], tokenize: Tokenize, words: Callable[[str], str]) -> Frontier:
    """Return the frontier of teams that say the relevant statements and the answer, or nothing.

    Args:
        tasks: tasks with flags of relevance.
        tokenize: cuts text into tokens. A statement counts as at the beginning of a message or
            within it, whichever takes fewer tokens.
        words: returns the words in which a statement is said.
    """
    costs = []
    for task in tasks:
        texts = map(words, relevant_statements(task, range(len(task.statements))))
        least = sum(min(len(tokenize(text)), len(tokenize(f" {text}"))) for text in texts)
        costs.append(least + len(tokenize(task.answer_text)))
    points = [
        (total / len(tasks), solved / len(tasks))
        for solved, total in enumerate(accumulate(sorted(costs)), start=1)
    ]
    return Frontier.of([(0.0, 0.0), *points])


def floors(environment: object, telegraphic: bool = False) -> dict[str, Frontier]:
    """Return the frontiers of an environment by name, answers included; `telegraphic` is slow.

    Empty if frontiers have no meaning: all agents read the whole task, the answering agent holds a
    part of it, or tasks have no flags of relevance.
    """
    env = environment
    if not isinstance(env, DialogueEnv) or env.information != "split":
        return {}
    tasks = tuple(env.tasks.values())
    if set(env.answering) & set(env.holders) or any(task.relevant is None for task in tasks):
        return {}
    frontiers = {"coded": coded(guessed(tasks)).answered(1.0)}
    if telegraphic:
        short = telegrams(text for task in tasks for text in task.statements)
        frontiers["telegraphic"] = spoken(tasks, env.tokenize, short.__getitem__)
    return frontiers | {"verbatim": spoken(tasks, env.tokenize, str)}


class Floors:
    """Records the frontiers of an environment, which reports and comparisons draw."""

    def __call__(self, evaluation: EvaluationRun) -> Findings:
        """Record all but `telegraphic`, which is slow, as `floors` of an evaluation."""
        least = _corners(floors(evaluation.environments[0])) if evaluation.episodes else {}
        return Findings(facts={"floors": least} if least else {})

    def begin(self, environment: object) -> dict[str, Any]:
        """Return all frontiers, for a comparison."""
        return {"floors": _corners(floors(environment, telegraphic=True))}


def _corners(frontiers: Mapping[str, Frontier]) -> dict[str, tuple[Corner, ...]]:
    return {name: frontier.corners for name, frontier in frontiers.items()}


def _below(first: Corner, middle: Corner, last: Corner) -> bool:
    """Return whether a point lies on or under the line between two others."""
    rise = (last[1] - first[1]) * (middle[0] - first[0])
    return (middle[1] - first[1]) * (last[0] - first[0]) <= rise + 1e-12


def _most_common(tasks: Sequence[Task]) -> Mapping[str, str]:
    answers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for task in tasks:
        answers[task.question][task.answer] += 1
    return {question: counts.most_common(1)[0][0] for question, counts in answers.items()}


NAME = "laconic_index"
_SCRIPTED = 200
"""Largest number of tasks on which the verbose script is played."""


def measure_index(evaluation: EvaluationRun) -> Findings:
    """Measure the laconic index after an evaluation, or of an entry of layout `team`."""
    cfg = evaluation.cfg
    if OmegaConf.select(cfg, "entry.layout", default="team") != "team":
        return Findings()
    # The samples of a task stand beside each other.
    starts = evaluation.starts[:: cfg.evaluation.get("samples", 1)]

    def measure() -> dict[str, Interval]:
        return laconic_index(evaluation.environments, starts, evaluation.episodes)

    return Findings(figures=evaluation.by_main(measure))


def laconic_index(
    environments: Environments, starts: Sequence[Start], episodes: Sequence[Episode]
) -> dict[str, Interval]:
    """Return the laconic index of a team with its 95 % bootstrap interval, by its name.

    Empty if there is no frontier (`floors`), or if no episode was played or solved.
    """
    floor = floors(environments[0]).get("coded")
    counted = all(episode.solved is not None and episode.tokens_said for episode in episodes)
    if floor is None or not episodes or not counted:
        return {}
    try:
        policies = ScriptedTeam("verbose").policies(environments[0])
    except SettingError:
        return {}
    wordy = play(environments, policies, starts[:_SCRIPTED], seed=0)
    verbose = float(np.mean([_tokens(played) for played in wordy]))
    totals = np.array([(_tokens(episode), float(bool(episode.solved))) for episode in episodes])
    tokens, solved = totals.mean(axis=0)
    mean = index(tokens, solved, floor, verbose)
    weights = resample(RESAMPLES, len(totals), np.random.default_rng(0))
    indices = [
        index(tokens_said, share, floor, verbose)
        for tokens_said, share in weights @ totals / len(totals)
    ]
    if not np.isfinite(mean):
        return {}
    low, high = np.nanpercentile(indices, (2.5, 97.5))
    return {NAME: Interval(mean, float(low), float(high), len(totals))}


def index(tokens: float, accuracy: float, floor: Frontier, verbose: float) -> float:
    """Return the laconic index of a team; NaN if it solves nothing.

    Args:
        tokens: tokens that it says per episode.
        accuracy: share of tasks that it solves.
        floor: `coded` frontier of the environment.
        verbose: tokens that the verbose script says per episode.
    """
    least = floor.tokens(accuracy)
    most = accuracy * verbose
    return float((tokens - least) / (most - least)) if most > least else float("nan")


def _tokens(episode: Episode) -> int:
    return sum(episode.tokens_said.values())
