"""The fidelity of credits, in a game whose values are known and on made-up credits."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy.stats import spearmanr

from laconic.envs.errors import SettingError
from laconic.extras.analysis.fidelity import (
    HEADS,
    Context,
    Fidelity,
    canonical,
    fidelities,
    figures,
    interval,
    measure,
    mutual_information,
    spearman,
    write,
)
from laconic.learners.episode import Turn
from laconic.learners.rollout.collectors.base import Players
from laconic.learners.rollout.play import Start

FEW = {"replies": 3, "budget": 1, "plays": 1, "seed": 0}


@pytest.fixture
def guessers(relayers):
    """Agents as `Relayers`, of whom x opens with one of three messages if it samples."""

    class Guesser(relayers):
        def reply(self, requests, *, seed, greedy):
            draw = np.random.default_rng(seed)
            replies = super().reply(requests, seed=seed, greedy=greedy)
            for place, request in enumerate(requests):
                if not request.history and not greedy:
                    replies[place] = self._one(["left", "", "c c c"][int(draw.integers(3))])
            return replies

    return {"x_0": Guesser(tokens=True), "y_0": relayers(), "z_0": relayers()}


@pytest.mark.parametrize("seed", range(5))
def test_ranks_correlate_as_scipy_says(seed):
    draw = np.random.default_rng(seed)
    # Few different numbers, so that many tie.
    x, y = draw.integers(4, size=(2, 12)).tolist()
    assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic)


def test_a_constant_credit_tells_nothing_and_a_constant_value_asks_nothing():
    assert spearman([1.0, 1.0], [0.0, 2.0]) == 0.0
    assert spearman([0.0, 2.0], [1.0, 1.0]) is None
    # Equal up to the last bits is equal.
    assert spearman([0.1 + 0.2, 0.3], [0.0, 1.0]) == 0.0


def made_up(credit) -> list[Context]:
    draw, contexts = np.random.default_rng(0), []
    for _ in range(300):
        value = draw.normal(size=4)
        context = Context(Start(0), Start(0), Turn("x", 0, ""))
        context.value = [[float(each)] for each in value]
        context.credits = {"made_up": [[float(each)] for each in credit(value, draw)]}
        contexts.append(context)
    return contexts


def test_the_exact_credit_has_fidelity_1_and_a_shuffled_one_0():
    exact = interval(fidelities(made_up(lambda value, draw: value - value.mean()), "made_up"))
    assert (exact.mean, exact.low, exact.high, exact.count) == (1.0, 1.0, 1.0, 300)
    shuffled = interval(fidelities(made_up(lambda value, draw: draw.permutation(value)), "made_up"))
    assert shuffled.low < 0 < shuffled.high
    # Four ranks correlate with a deviation of sqrt(1/3): 1.96 * sqrt(1/3 / 300) = 0.065.
    assert shuffled.high - shuffled.low == pytest.approx(2 * 0.065, abs=0.02)


def test_contexts_whose_replies_are_worth_the_same_do_not_count():
    contexts = made_up(lambda value, draw: value)
    contexts[0].value = [[1.0]] * 4
    assert len(fidelities(contexts, "made_up")) == 299


def test_in_a_greedy_team_every_value_and_credit_is_the_one_worked_out(relay, guessers):
    # The others say "right" and "hm", and z closes with the halves it read. One task reward of 6.
    # x says "left": 6 - 1 - 2 - 2 = 1. x says nothing: 0 - 2 - 1 = -3. "c c c": 0 - 5 - 1 = -6.
    values = {"left": 1.0, "": -3.0, "c c c": -6.0}
    expected = {
        # x's own part: 6 - 1, 0 and 0 - 3.
        "own": {"left": 5.0, "": 0.0, "c c c": -3.0},
        "team": values,
        # Against silence: 1 - (-3) and -6 - (-3).
        "silence": {"left": 4.0, "": 0.0, "c c c": -3.0},
        # Less the mean of the others: 1 + 9/2, -3 + 5/2 and -6 + 1.
        "c3": {"left": 5.5, "": -0.5, "c c c": -5.0},
    }
    players = Players([relay, type(relay)()], guessers)
    starts = [Start(seed, f"t{seed}") for seed in range(8)]
    contexts = measure(players, starts, greedy=True, **FEW)
    # x is silent in round 1 in any case, so contexts of round 0 alone have several replies.
    assert 2 <= len(contexts) < 8
    for context in contexts:
        assert (context.turn.agent, context.turn.round) == ("x_0", 0)
        # Nine equal texts of twelve count once.
        messages = [reply.message for reply in context.replies]
        assert sorted(messages) == ["", "c c c", "left"]
        assert context.value == [[values[message]] for message in messages]
        for name, credit in expected.items():
            measured = [measurement for (measurement,) in context.credits[name]]
            assert measured == pytest.approx([credit[message] for message in messages]), name
    measures = figures(contexts)
    for name in ("own", "team", "group", "silence", "shapley", "c3"):
        assert (measures[f"fidelity/{name}"].low, measures[f"fidelity/{name}"].high) == (1.0, 1.0)
    # Of y and z, z alone says another word after "left": 2/3 of the closings are "right". Entropy
    # of the closing log2 3 - 2/3 = 0.918, of the reply log2 3, of both log2 3; corrections of
    # (2 - 1), (3 - 1) and -(3 - 1) over 2 * 3 nats add 1/6 nat = 0.240. y adds 0: half of that.
    assert measures["influence"].mean == pytest.approx((0.9183 + 0.2404) / 2, abs=1e-3)


def test_with_several_plays_each_credit_spends_the_same_number_of_them(relay, guessers, tmp_path):
    players = Players([relay], guessers)
    starts = [Start(seed, f"t{seed}") for seed in range(8)]
    settings = {**FEW, "budget": 12, "plays": 4}
    contexts = measure(players, starts, greedy=False, **settings)
    assert contexts
    for context in contexts:
        for place, reply in enumerate(context.replies):
            measured = {name: len(rows[place]) for name, rows in context.credits.items()}
            # A difference takes three plays; a Shapley value of three speakers nine.
            spoke = bool(reply.message)
            assert measured == {
                **dict.fromkeys(("own", "team", "group", "c3"), 12),
                "silence": 4 if spoke else 12,
                "shapley": 1 if spoke else 12,
            }
            assert len(context.value[place]) == 4
    write(contexts, tmp_path / "fidelity.csv")
    with (tmp_path / "fidelity.csv").open(encoding="utf-8") as file:
        rows = {row["measure"]: row for row in csv.DictReader(file)}
    assert tuple(rows["fidelity/team"]) == HEADS
    # The team goes on deterministically, so equal measurements are equal.
    assert float(rows["fidelity/team"]["variance"]) == 0.0
    assert float(rows["fidelity/value"]["mean"]) == 1.0


def test_equal_actions_are_equal_in_any_form():
    assert canonical("It is  1,200.50 \n") == canonical("it is 1200.5") == "it is 1200.5"
    assert canonical("3.0, 4") == "3, 4" != canonical("3, 5")


def test_mutual_information_is_that_of_the_table_and_corrected():
    # Two replies, each always answered in its own way: 1 bit, and 1 / (2 * 4) nats.
    told = [(0, "a"), (0, "a"), (1, "b"), (1, "b")]
    assert mutual_information(told) == pytest.approx(1 + 1 / 8 / np.log(2))
    # Independent: 0 bits, and (1 + 1 - 3) / (2 * 4) nats.
    deaf = [(0, "a"), (0, "b"), (1, "a"), (1, "b")]
    assert mutual_information(deaf) == pytest.approx(-1 / 8 / np.log(2))


def test_no_contexts_give_no_figures(relay, relayers, tmp_path):
    players = Players([relay], dict.fromkeys(relay.possible_agents, relayers()))
    contexts = measure(players, [Start(0)], greedy=True, **FEW)
    assert contexts == [] and figures(contexts) == {}


@pytest.mark.slow
def test_an_evaluation_measures_it_on_demand(run, tmp_path, rows):
    arguments = ["evaluation.tasks=6", "evaluation.fidelity=3", "threads=1"]
    outcome = run("evaluate", *arguments, f"hydra.run.dir={tmp_path}/e")
    assert outcome.code == 0, outcome.err
    (row,) = rows(tmp_path / "e" / "metrics.jsonl")
    assert row["eval/fidelity/team"] == row["eval/fidelity/c3"] == 1.0
    assert (tmp_path / "e" / "fidelity.csv").exists()


def test_the_setting_is_checked():
    with pytest.raises(SettingError, match="evaluation.after.fidelity.contexts must be .*got 0"):
        Fidelity(contexts=0)
