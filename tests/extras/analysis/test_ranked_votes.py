"""Ranked votes: strengths by hand and recovered, reputations, and a recount of a comparison."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest

from laconic.envs.errors import SettingError
from laconic.extras.analysis.ranked_votes import (
    FILE,
    OTHER,
    Comparison,
    comparisons_of,
    rank,
    recount,
    strengths,
)


def times(count: int, judge: str, better: str, worse: str) -> list[Comparison]:
    return [Comparison(judge, better, worse)] * count


def test_the_strengths_of_two_answers_are_half_the_log_odds():
    fitted = strengths(times(30, "j", "a", "b") + times(10, "j", "b", "a"))
    # Log odds log(3); the prior moves it by less than 0.2 %.
    assert fitted["a"].mean == pytest.approx(math.log(3) / 2, rel=2e-3)
    assert fitted["b"].mean == pytest.approx(-fitted["a"].mean, abs=1e-9)
    # The variance of log odds is 1 / (40 x 0.75 x 0.25), and half of it has a quarter.
    half = 1.959964 / 2 / math.sqrt(40 * 0.75 * 0.25)
    assert fitted["a"].high - fitted["a"].mean == pytest.approx(half, rel=2e-3)
    assert fitted["a"].count == 40


def test_a_weight_counts_as_that_number_of_comparisons():
    weighed = strengths(
        times(1, "often", "a", "b") + times(1, "seldom", "b", "a"), {"often": 30, "seldom": 10}
    )
    plain = strengths(times(30, "j", "a", "b") + times(10, "j", "b", "a"))
    assert weighed["a"].mean == pytest.approx(plain["a"].mean, abs=1e-7)


def test_an_answer_that_always_wins_is_strong_and_finite():
    fitted = strengths(times(5, "j", "a", "b") + times(5, "j", "b", "c"))
    assert 3 < fitted["a"].mean < 20
    assert fitted["a"].mean > fitted["b"].mean > fitted["c"].mean
    assert fitted["a"].low < 0 < fitted["a"].high


def test_strengths_of_generated_comparisons_are_recovered():
    # Of 300 independent intervals of 95 %, 270 to 296 cover the truth with probability 0.999.
    true = np.array([1.2, 0.5, 0.0, -0.6, -1.1])
    covered = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        comparisons = []
        for _ in range(600):
            a, b = generator.choice(5, 2, replace=False)
            if generator.random() > 1 / (1 + math.exp(true[b] - true[a])):
                a, b = b, a
            comparisons.append(Comparison("j", f"{a}", f"{b}"))
        fitted = strengths(comparisons)
        for place, value in enumerate(true):
            own = fitted[f"{place}"]
            covered += own.low <= value <= own.high
            assert own.mean == pytest.approx(value, abs=0.5)
    assert 270 <= covered <= 296


@pytest.mark.parametrize("weights", [None, {"j": 0.0}])
def test_strengths_without_comparisons_that_count_are_refused(weights):
    comparisons = [] if weights is None else times(2, "j", "a", "b")
    with pytest.raises(SettingError, match="a judge of a weight above 0"):
        strengths(comparisons, weights)


def test_strengths_of_a_plain_vote_are_the_logarithms_of_the_votes():
    answers = {"v0": "4", "v1": "7", "v2": "4", "v3": "9", "v4": "4", "v5": "7"}
    fitted = strengths(comparisons_of(answers))
    votes = Counter(answers.values())
    center = sum(map(math.log, votes.values())) / len(votes)
    for answer, count in votes.items():
        # The prior pulls a little.
        assert fitted[answer].mean == pytest.approx(math.log(count) - center, abs=0.01)


def test_with_equal_weights_the_most_common_answer_wins_and_the_first_of_equal_ones():
    generator = np.random.default_rng(0)
    disputes = ties = 0
    for _ in range(40):
        answers = {f"v{n}": str(generator.integers(3)) for n in range(generator.integers(2, 7))}
        votes = Counter(answers.values()).most_common()
        if len(votes) == 1:
            continue
        disputes += 1
        ties += votes[0][1] == votes[1][1]
        fitted = strengths(comparisons_of(answers))
        most = max(strength.mean for strength in fitted.values())
        assert fitted[votes[0][0]].mean > most - 1e-6
        assert next(answer for answer in fitted if fitted[answer].mean > most - 1e-6) == votes[0][0]
    assert disputes > 25 and ties > 5


def ballots_of(accuracies: list[float], count: int, seed: int) -> list[dict]:
    """Return questions with two answers, on which voters are right with some probability."""
    generator = np.random.default_rng(seed)
    right = generator.random((count, len(accuracies))) < np.array(accuracies)
    return [
        {f"v{n}": ("yes" if is_right else "no", bool(is_right)) for n, is_right in enumerate(row)}
        for row in right
    ]


def best_possible(accuracies: list[float], ballot: dict) -> bool:
    """Return whether the vote with the log odds of the true accuracies as weights is right."""
    odds = [math.log(accuracy / (1 - accuracy)) for accuracy in accuracies]
    votes = [right for _, right in ballot.values()]
    return sum(w if right else -w for w, right in zip(odds, votes, strict=True)) > 0


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "accuracies",
    [[0.9, 0.7, 0.7, 0.55, 0.55, 0.55, 0.55], [0.95, 0.75, 0.6, 0.6, 0.6], [0.7] * 5],
    ids=["seven", "an expert", "equal"],
)
def test_reputations_are_the_accuracies_and_the_recount_is_the_best(accuracies, seed):
    ballots = ballots_of(accuracies, 600, seed)
    solved, ranking = recount(ballots)
    for place, accuracy in enumerate(accuracies):
        assert ranking.reputations[f"v{place}"].mean == pytest.approx(accuracy, abs=0.12)
    half = len(accuracies) / 2
    plain = np.mean([sum(right for _, right in ballot.values()) > half for ballot in ballots])
    best = np.mean([best_possible(accuracies, ballot) for ballot in ballots])
    assert best - 0.05 < np.mean(solved) < best + 0.02
    # The plain vote loses at least 4 points where voters differ, and none where they are equal.
    assert bool(np.mean(solved) > plain + 0.04) is (len(set(accuracies)) > 1)


def test_voters_who_are_mostly_wrong_weigh_nothing():
    # Three are right in 80 %, two in 20 %. The three alone reach 0.8^3 + 3 x 0.8^2 x 0.2 = 0.896.
    ballots = ballots_of([0.8, 0.8, 0.8, 0.2, 0.2], 600, seed=2)
    solved, ranking = recount(ballots)
    plain = np.mean([sum(right for _, right in ballot.values()) > 2 for ballot in ballots])
    assert plain < 0.7
    assert np.mean(solved) == pytest.approx(0.896, abs=0.03)
    shares = [ranking.reputations[f"v{n}"] for n in range(5)]
    assert min(share.low for share in shares[:3]) > 0.7
    assert max(share.high for share in shares[3:]) < 0.3


def test_one_turn_of_expectation_and_maximization_by_hand(monkeypatch):
    # At r = 0.75 the votes x, x, y make x the best with 0.75^2 x 0.25 : 0.75 x 0.25^2 = 3 : 1. So
    # a and b are expected to agree in 0.75 of 1 comparison, and c in 0.25.
    monkeypatch.setattr("laconic.extras.analysis.ranked_votes._TURNS", 1)
    ranking = rank([comparisons_of({"a": "x", "b": "x", "c": "y"})])
    shares = {judge: share.mean for judge, share in ranking.reputations.items()}
    assert shares == pytest.approx({"a": 0.75, "b": 0.75, "c": 0.25})
    assert ranking.winners == ("x",)
    # Of x, y and z each is the best with 1/3. The vote for x says x > y and x > z.
    ranking = rank([comparisons_of({"a": "x", "b": "y", "c": "z"})])
    # It agrees twice if x is the best (2/3), and disagrees once if y or z is (1/3 + 1/3).
    assert ranking.reputations["a"].mean == pytest.approx(1 / 2)


def test_a_vote_without_dispute_speaks_for_its_voters():
    assert comparisons_of({"a": "4", "b": "4"}) == [
        Comparison("a", "4", OTHER),
        Comparison("b", "4", OTHER),
    ]
    ranking = rank([comparisons_of({"a": "4", "b": "4"})] * 20)
    assert ranking.winners == ("4",) * 20 and ranking.reputations["a"].mean > 0.9


def test_a_question_without_an_answer_is_wrong_and_one_without_dispute_is_plain():
    solved, ranking = recount([{}, {"a": ("4", True), "b": ("4", True)}, {"a": ("5", False)}])
    assert solved == [False, True, False] and ranking.winners == ("4", "5")
    assert recount([{}]) == ([False], rank([]))


def test_a_comparison_reports_the_recount_of_a_team_that_votes(run, tmp_path, small):
    folder = tmp_path / "compare"
    settings = ["agent=voter", "env=signal", "env.information=full", "evaluation.tasks=30"]
    teams = "+entries.five={layout: debate, agents: 5, greedy: false}"
    outcome = run("compare", *settings, "entry=[single]", teams, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    rows = json.loads((folder / "comparison.json").read_text("utf-8"))["entries"]
    figures = {row["name"]: row["figures"] for row in rows}
    assert "accuracy_ranked" not in figures["single"]
    assert figures["five"]["accuracy_ranked"]["count"] == 30
    reputations = json.loads((folder / "five" / FILE).read_text("utf-8"))
    assert [*reputations] == [f"solver_{number}" for number in range(5)]
    assert all(0 <= low <= mean <= high <= 1 for mean, low, high, _ in reputations.values())
