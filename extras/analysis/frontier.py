"""How few tokens would do? Frontiers of accuracy against tokens said, for `split` information.

A frontier is the least that a team has to say on average at each accuracy; between its corners a
team mixes two ways. Some are exact, and others bounds:

- `enumerated`, exact for one agent who holds one of a few contents: all codebooks from contents to
  words or silence, each decoded in the best way.
- `coded`, a lower bound for every team: silence tells one answer for each question, and every other
  answer takes a word of one token at the least. For `signal` it is the frontier itself.
- `verbatim`: what matters is said as it stands, in the tasks that are solved.
- `telegraphic`: the same in few words of a statement, which no other of the source has all of.

The last two bound the teams that speak so and guess nothing, and no others. An answer is stated in
the fewest tokens there are (one) under `coded`, and in the benchmark's own form elsewhere.
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
from laconic.experiments.running.evaluation import EvaluationRun, Findings
from laconic.experiments.running.setup import Environments
from laconic.learners.agents.scripted import ScriptedTeam, telegrams
from laconic.learners.episode import Episode
from laconic.learners.metrics import RESAMPLES, Interval, resample
from laconic.learners.rollout.play import Start, play

Corner = tuple[float, float]
"""Tokens said, and the accuracy that they buy."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """The fewest tokens at every accuracy, by its corners: both rise, ever more slowly."""

    corners: tuple[Corner, ...]
    """(tokens, accuracy), from the silent team to the most accurate."""

    @classmethod
    def of(cls, points: Iterable[Corner]) -> Frontier:
        """The frontier of teams that reach some points, and of their mixtures."""
        kept: list[Corner] = []
        # Of equally accurate ones the thriftiest; from the thriftiest of all upwards.
        for tokens, accuracy in sorted(points, key=lambda one: (one[0], -one[1])):
            if kept and accuracy <= kept[-1][1]:
                continue
            while len(kept) > 1 and _below(kept[-2], kept[-1], (tokens, accuracy)):
                kept.pop()
            kept.append((tokens, accuracy))
        return cls(tuple(kept))

    def tokens(self, accuracy: float) -> float:
        """The fewest tokens at which so many tasks are solved; infinite where no team does."""
        before = self.corners[0]
        for corner in self.corners:
            if accuracy <= corner[1] + 1e-12:
                rise = corner[1] - before[1]
                part = max(accuracy - before[1], 0.0) / rise if rise else 0.0
                return before[0] + min(part, 1.0) * (corner[0] - before[0])
            before = corner
        return math.inf

    def best_return(self, price: float) -> float:
        """Return the most that a team earns, task reward less all bills, at a price per token."""
        return max(accuracy - price * tokens for tokens, accuracy in self.corners)

    def answered(self, tokens: float) -> Frontier:
        """The frontier when every solved task takes so many tokens more, for its answer."""
        told = ((said + solved * tokens, solved) for said, solved in self.corners)
        return Frontier.of([(0.0, 0.0), *told])


def enumerated(chances: Sequence[float], lengths: Sequence[float]) -> Frontier:
    """The exact frontier of one who holds one of some contents and of one who has to name it.

    Args:
        chances: how likely each content is.
        lengths: tokens of each word there is, beside silence; more words than contents serve none.
    """
    signals, points = (0.0, *lengths), []
    for book in product(range(len(signals)), repeat=len(chances)):
        best = [0.0] * len(signals)
        for chance, signal in zip(chances, book, strict=True):
            best[signal] = max(best[signal], chance)
        said = sum(one * signals[signal] for one, signal in zip(chances, book, strict=True))
        points.append((said, sum(best)))
    return Frontier.of(points)


def coded(guessed: float) -> Frontier:
    """The bound for a team that solves a share of the tasks when nobody tells it anything."""
    return Frontier.of([(0.0, guessed), (1.0 - guessed, 1.0)])


def guessed(tasks: Sequence[Task]) -> float:
    """The share of tasks whose answer is the commonest one of their question."""
    commonest = _commonest(tasks)
    return sum(task.answer == commonest[task.question] for task in tasks) / len(tasks)


def spoken(tasks: Sequence[Task], tokenize: Tokenize, words: Callable[[str], str]) -> Frontier:
    """The frontier of teams that say what matters in these words, and the answer, or nothing.

    Args:
        tasks: with flags of what matters.
        tokenize: counts the tokens; a statement has those that it takes at the beginning or within
            a message, whichever are fewer.
        words: the words in which a statement is said.
    """
    costs = []
    for task in tasks:
        said = map(words, relevant_statements(task, range(len(task.statements))))
        least = sum(min(len(tokenize(one)), len(tokenize(f" {one}"))) for one in said)
        costs.append(least + len(tokenize(task.answer_text)))
    points = [
        (total / len(tasks), solved / len(tasks))
        for solved, total in enumerate(accumulate(sorted(costs)), start=1)
    ]
    return Frontier.of([(0.0, 0.0), *points])


def floors(environment: object, telegraphic: bool = False) -> dict[str, Frontier]:
    """The frontiers of an environment by name, answers included; `telegraphic` takes a while.

    Empty where they mean nothing: everybody reads the whole task, who answers holds a share, or
    nobody can say what matters.
    """
    env = environment
    if not isinstance(env, DialogueEnv) or env.information != "split":
        return {}
    tasks = tuple(env.tasks.values())
    if set(env.answering) & set(env.holders) or any(task.relevant is None for task in tasks):
        return {}
    found = {"coded": coded(guessed(tasks)).answered(1.0)}
    if telegraphic:
        short = telegrams(text for task in tasks for text in task.statements)
        found["telegraphic"] = spoken(tasks, env.tokenize, short.__getitem__)
    return found | {"verbatim": spoken(tasks, env.tokenize, str)}


class Floors:
    """Notes the frontiers of an evaluation's environment, which reports and comparisons draw."""

    def __call__(self, evaluation: EvaluationRun) -> Findings:
        """Note those that take no while, as `floors` of the evaluation."""
        least = _corners(floors(evaluation.environments[0])) if evaluation.episodes else {}
        return Findings(facts={"floors": least} if least else {})

    def begin(self, environment: object) -> dict[str, Any]:
        """Return all of them for a comparison."""
        return {"floors": _corners(floors(environment, telegraphic=True))}


def _corners(frontiers: Mapping[str, Frontier]) -> dict[str, tuple[Corner, ...]]:
    return {name: one.corners for name, one in frontiers.items()}


def _below(first: Corner, middle: Corner, last: Corner) -> bool:
    """Whether a corner lies on or under the line between two others: it is none."""
    rise = (last[1] - first[1]) * (middle[0] - first[0])
    return (middle[1] - first[1]) * (last[0] - first[0]) <= rise + 1e-12


def _commonest(tasks: Sequence[Task]) -> Mapping[str, str]:
    answers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for task in tasks:
        answers[task.question][task.answer] += 1
    return {question: one.most_common(1)[0][0] for question, one in answers.items()}


NAME = "laconic_index"
_SCRIPTED = 200
"""Tasks on which the verbose script is heard, at most."""


def measure_index(evaluation: EvaluationRun) -> Findings:
    """Measure the index after an evaluation, or of an entry that plays as configured."""
    cfg = evaluation.cfg
    if OmegaConf.select(cfg, "entry.shape", default="team") != "team":
        return Findings()
    # A task may be played several times.
    starts = evaluation.starts[:: cfg.evaluation.get("samples", 1)]

    def measure() -> dict[str, Interval]:
        return laconic_index(evaluation.environments, starts, evaluation.episodes)

    return Findings(figures=evaluation.by_main(measure))


def laconic_index(
    environments: Environments, starts: Sequence[Start], episodes: Sequence[Episode]
) -> dict[str, Interval]:
    """The index of a team over some episodes with its 95 % bootstrap interval, by its name.

    Empty where there is no frontier (`extras.analysis.frontier.floors`), or nothing was played or
    solved.
    """
    floor = floors(environments[0]).get("coded")
    counted = all(one.solved is not None and one.tokens_said for one in episodes)
    if floor is None or not episodes or not counted:
        return {}
    try:
        policies = ScriptedTeam("verbose").policies(environments[0])
    except SettingError:
        return {}
    wordy = play(environments, policies, starts[:_SCRIPTED], seed=0)
    verbose = float(np.mean([_tokens(one) for one in wordy]))
    told = np.array([(_tokens(one), float(bool(one.solved))) for one in episodes])
    tokens, solved = told.mean(axis=0)
    mean = index(tokens, solved, floor, verbose)
    weights = resample(RESAMPLES, len(told), np.random.default_rng(0))
    drawn = [index(said, share, floor, verbose) for said, share in weights @ told / len(told)]
    if not np.isfinite(mean):
        return {}
    low, high = np.nanpercentile(drawn, (2.5, 97.5))
    return {NAME: Interval(mean, float(low), float(high), len(told))}


def index(tokens: float, accuracy: float, floor: Frontier, verbose: float) -> float:
    """The index of a team that says so many tokens; NaN where it solves nothing."""
    least = floor.tokens(accuracy)
    most = accuracy * verbose
    return float((tokens - least) / (most - least)) if most > least else float("nan")


def _tokens(episode: Episode) -> int:
    return sum(episode.tokens_said.values())
