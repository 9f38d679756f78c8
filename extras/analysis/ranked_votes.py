"""Ranked votes: count comparisons of answers in place of answers, and weigh who makes them.

A judge says of two answers which is better. Strengths of a question's answers follow from all its
comparisons, and the strongest answer wins (R. A. Bradley and M. E. Terry, 1952):

    P(a is better than b) = 1 / (1 + exp(s_b - s_a))

A judge's reputation r is the probability that it prefers the best answer of a question to another.
It is fitted without knowing the best answers, by expectation and maximization over all questions
(A. P. Dawid and A. M. Skene, 1979). Comparisons count by its log odds, the best weight of
independent judges (S. Nitzan and J. Paroush, 1982). A judge that is mostly wrong counts nothing.

Voters compare without a word: each holds its own last answer for better than each other answer that
was given, or than any other where all agree. With equal weights the strengths are the logarithms of
the numbers of votes, up to a constant, so that the most common answer wins as in a plain vote.

Source: Fortytwo (arXiv 2510.24801), of which only the abstract was read. There agents are asked to
compare, and reputations last beyond a set of questions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.autograd.functional import hessian
from torch.nn.functional import logsigmoid

from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.session.evaluation import Findings
from laconic.extras.analysis.coordination import graded_rounds
from laconic.extras.compare.columns import PlayedEntry
from laconic.learners.metrics import Z95, Interval, wilson

FILE = "ranked_votes.json"
_PRIOR = 10.0
"""Standard deviation of strengths before any comparison, which keeps those finite of answers that
won or lost every comparison."""
_EQUAL = 1e-6
"""Difference of strengths up to which answers are tied; the one that was given first wins."""
_FIRST = 0.75
"""Reputation of every judge before the first turn."""
_TURNS = 1000
"""Most turns of expectation and maximization."""
OTHER = ""
"""Stands for any other answer where all voters give the same."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A judge's comparison of two answers."""

    judge: str
    """Name of the judge."""
    better: str
    """Answer that it holds for better."""
    worse: str
    """Answer that it holds for worse."""


def strengths(
    comparisons: Sequence[Comparison], weights: Mapping[str, float] | None = None
) -> dict[str, Interval]:
    """Fit the strength of each answer, in natural log odds; strengths of a question sum to 0.

    Args:
        comparisons: comparisons of the answers to one question.
        weights: weight of each judge, at least 0; None: 1 each.

    Returns:
        Strengths in the order in which answers first appear, with 95 % Wald intervals for
        independent comparisons of weight 1.

    Raises:
        SettingError: there are no comparisons, or no judge has a weight above 0.
    """
    counts = [1.0 if weights is None else weights[each.judge] for each in comparisons]
    if not sum(counts) > 0:
        raise SettingError(
            "strengths need at least one comparison by a judge of a weight above 0; got"
            f" {len(comparisons)} comparisons with weights {counts[:10]}"
        )
    places = _places([comparisons])
    pairs = _pairs([comparisons], places)
    scale = torch.tensor(counts, dtype=torch.float64)
    best = _fit(pairs, scale, len(places))
    center = torch.eye(len(places), dtype=torch.float64) - 1 / len(places)
    curvature = hessian(lambda values: _loss(values, pairs, scale), best)
    spread = center @ torch.linalg.inv(curvature) @ center
    half = (Z95 * spread.diagonal().clamp_min(0.0).sqrt()).tolist()
    means = (center @ best).tolist()
    compared = Counter(pairs.flatten().tolist())
    return {
        answer: Interval(means[i], means[i] - half[i], means[i] + half[i], compared[i])
        for (_, answer), i in places.items()
    }


Places = Mapping[tuple[int, str], int]
"""Question and answer -> its place among all answers, in the order in which they first appear."""


def _places(questions: Sequence[Sequence[Comparison]]) -> Places:
    answers = (
        (number, answer)
        for number, comparisons in enumerate(questions)
        for each in comparisons
        for answer in (each.better, each.worse)
    )
    return {answer: place for place, answer in enumerate(dict.fromkeys(answers))}


def _pairs(questions: Sequence[Sequence[Comparison]], places: Places) -> torch.Tensor:
    """Return the places of the better and the worse answer, (comparisons, 2)."""
    return torch.tensor(
        [
            (places[number, each.better], places[number, each.worse])
            for number, comparisons in enumerate(questions)
            for each in comparisons
        ]
    )


def _loss(values: torch.Tensor, pairs: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return minus the logarithm of the posterior of strengths (answers,)."""
    margins = values[pairs[:, 0]] - values[pairs[:, 1]]
    return (values @ values) / (2 * _PRIOR**2) - weights @ logsigmoid(margins)


def _fit(pairs: torch.Tensor, weights: torch.Tensor, count: int) -> torch.Tensor:
    """Return the strengths (answers,) of all questions; they sum to 0 over each question."""
    best = torch.zeros(count, dtype=torch.float64, requires_grad=True)
    solver = torch.optim.LBFGS(
        [best],
        max_iter=1000,
        tolerance_grad=1e-9,
        tolerance_change=1e-12,
        line_search_fn="strong_wolfe",
    )

    def step() -> torch.Tensor:
        solver.zero_grad()
        value = _loss(best, pairs, weights)
        value.backward()
        return value

    solver.step(step)
    return best.detach()


@dataclass(frozen=True, slots=True)
class Ranking:
    """Winners of several questions, and the reputations of the judges."""

    winners: tuple[str, ...]
    """(questions,) strongest answer of each question."""
    reputations: Mapping[str, Interval]
    """Probability that a judge prefers the best answer of a question, with Wilson's interval.
    Missing for a judge that is not expected to have compared a best answer."""


def rank(questions: Sequence[Sequence[Comparison]]) -> Ranking:
    """Fit the reputations of the judges, then the strengths of all answers.

    Args:
        questions: comparisons of the answers to each question; at least one each.
    """
    if not questions:
        return Ranking((), {})
    places = _places(questions)
    pairs = _pairs(questions, places)
    judges = [each.judge for question in questions for each in question]
    names = [*dict.fromkeys(judges)]
    place_of = {name: place for place, name in enumerate(names)}
    judge_of = np.array([place_of[judge] for judge in judges])
    question_of = np.array([question for question, _ in places])
    yes, of = _agreements(pairs.numpy(), judge_of, question_of)
    odds = (yes + 1) / (of - yes + 1)
    weights = np.log(odds).clip(0.0)[judge_of]
    # Where no judge of a question weighs anything, all weigh the same.
    compared_in = question_of[pairs[:, 0].numpy()]
    weights[np.bincount(compared_in, weights)[compared_in] == 0] = 1.0
    values = _fit(pairs, torch.from_numpy(weights), len(places)).tolist()
    shares = {
        name: Interval(yes[i] / of[i], *wilson(yes[i], round(of[i])), round(of[i]))
        for i, name in enumerate(names)
        if round(of[i])
    }
    return Ranking(_strongest(places, values), shares)


def _agreements(
    pairs: np.ndarray, judge_of: np.ndarray, question_of: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many comparisons of each judge are expected to prefer a best answer, of how many.

    Args:
        pairs: (comparisons, 2) places of the better and the worse answer.
        judge_of: (comparisons,) places of the judges.
        question_of: (answers,) question of each answer.

    Returns:
        Two arrays (judges,). A comparison counts by the probability that one of its two answers is
        the best.
    """
    better, worse = pairs.T
    size = len(question_of)
    yes: np.ndarray = np.empty(0)
    of: np.ndarray = np.empty(0)
    reputations = np.full(judge_of.max() + 1, _FIRST)
    for _ in range(_TURNS):
        # A comparison without the best answer says nothing: both ways have probability 1/2.
        right, wrong = np.log(2 * reputations), np.log(2 * (1 - reputations))
        evidence = np.bincount(better, right[judge_of], size)
        evidence += np.bincount(worse, wrong[judge_of], size)
        most = np.full(question_of.max() + 1, -np.inf)
        np.maximum.at(most, question_of, evidence)
        best = np.exp(evidence - most[question_of])
        best /= np.bincount(question_of, best)[question_of]
        yes = np.bincount(judge_of, best[better])
        of = yes + np.bincount(judge_of, best[worse])
        before, reputations = reputations, (yes + 1) / (of + 2)
        if np.abs(reputations - before).max() < 1e-9:
            break
    return yes, of


def _strongest(places: Places, values: Sequence[float]) -> tuple[str, ...]:
    """Return the strongest answer of each question; of equal ones that which appears first."""
    best: dict[int, tuple[str, float]] = {}
    for (question, answer), place in places.items():
        if question not in best or values[place] > best[question][1] + _EQUAL:
            best[question] = answer, values[place]
    return tuple(answer for answer, _ in best.values())


def comparisons_of(answers: Mapping[str, str]) -> list[Comparison]:
    """Return the comparisons of voters: each prefers its answer to each other one that was given.

    Args:
        answers: answer of each voter that has one.
    """
    different = [*dict.fromkeys(answers.values())]
    others = different if len(different) > 1 else [OTHER]
    return [
        Comparison(voter, own, other)
        for voter, own in answers.items()
        for other in others
        if other != own
    ]


@dataclass(frozen=True, slots=True)
class RankedVotes:
    """Column of a comparison: accuracy of teams that vote if their votes are ranked."""

    def __call__(self, played: PlayedEntry) -> Findings | None:
        """Return `accuracy_ranked`, and write the reputations; None for a team without a vote."""
        ballots = [
            {
                agent: answer
                for number in sorted(rounds)
                for agent, (_, *answer) in rounds[number].items()
            }
            for rounds in (
                graded_rounds(episode, played.environments[0]) for episode in played.episodes
            )
        ]
        if not any(ballots):
            return None
        solved, ranking = recount(ballots)
        reputations: dict[str, Any] = {
            judge: [share.mean, share.low, share.high, share.count]
            for judge, share in ranking.reputations.items()
        }
        text = json.dumps(reputations, indent=2) + "\n"
        played.processes.main(lambda: write_atomically(played.folder.path / FILE, text))
        share = Interval(sum(solved) / len(solved), *wilson(sum(solved), len(solved)), len(solved))
        return Findings(figures={"accuracy_ranked": share})


def recount(ballots: Sequence[Mapping[str, Sequence[Any]]]) -> tuple[list[bool], Ranking]:
    """Count the votes of several questions by ranking.

    Args:
        ballots: for each question, answer of each voter and whether it is right.

    Returns:
        Whether the winner of each question is right, and the ranking of those that were answered.
    """
    answers = [{voter: str(answer) for voter, (answer, _) in ballot.items()} for ballot in ballots]
    ranking = rank([comparisons for each in answers if (comparisons := comparisons_of(each))])
    winners = iter(ranking.winners)
    solved = []
    for ballot in ballots:
        best = next(winners) if ballot else OTHER
        solved.append(any(right for answer, right in ballot.values() if answer == best))
    return solved, ranking
