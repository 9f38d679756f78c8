"""Dealing the statements of a task."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from laconic.envs.dialogue.roster import deal, facts_told, informed
from laconic.envs.task import Task

AGENTS = ("solver_0", "helper_0", "helper_1", "helper_2")
HELPERS = AGENTS[1:]


@pytest.fixture
def task():
    statements = tuple(f"Fact {number}." for number in range(7))
    return Task("t", "Why?", statements, "1", relevant=(True,) + (False,) * 6)


def _deal(task, seed=0, information="split", holders=HELPERS):
    return deal(task, information, AGENTS, holders, np.random.default_rng(seed))


def test_full_information_gives_everybody_everything_and_draws_nothing(task):
    generator = np.random.default_rng(0)
    shares = deal(task, "full", AGENTS, HELPERS, generator)
    assert shares == dict.fromkeys(AGENTS, (0, 1, 2, 3, 4, 5, 6))
    assert generator.integers(2**31) == np.random.default_rng(0).integers(2**31)


@pytest.mark.parametrize("seed", range(20))
def test_every_statement_is_dealt_exactly_once_and_evenly_among_holders(task, seed):
    shares = _deal(task, seed)
    assert Counter(index for share in shares.values() for index in share) == Counter(range(7))
    assert shares["solver_0"] == ()
    # Seven statements among three holders: 3, 2 and 2.
    assert sorted(len(shares[helper]) for helper in HELPERS) == [2, 2, 3]
    assert all(list(share) == sorted(share) for share in shares.values())


def test_fewer_statements_than_holders_leave_some_with_nothing(task):
    short = replace(task, statements=task.statements[:1], relevant=(True,))
    shares = _deal(short)
    assert sorted(shares[helper] for helper in HELPERS) == [(), (), (0,)]
    lucky = {agent for seed in range(50) for agent, share in _deal(short, seed).items() if share}
    assert lucky == set(HELPERS)


def test_a_task_without_statements_is_dealt_as_nothing():
    assert _deal(Task("t", "Why?", (), "1")) == dict.fromkeys(AGENTS, ())


def test_a_single_holder_gets_everything(task):
    assert _deal(task, holders=["solver_0"])["solver_0"] == tuple(range(7))


def test_the_deal_follows_the_seed_and_reaches_every_holder(task):
    assert _deal(task, 3) == _deal(task, 3)
    holders_of_the_first = {
        agent for seed in range(50) for agent, share in _deal(task, seed).items() if 0 in share
    }
    assert holders_of_the_first == set(HELPERS)


def test_the_process_wide_generators_stay_untouched(task):
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()
    _deal(task)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_an_agent_is_informed_when_one_of_its_statements_matters(task):
    assert informed(task, "split", (0, 4), has_spoken=False) is True
    assert informed(task, "split", (1, 4), has_spoken=False) is False
    assert informed(task, "split", (), has_spoken=False) is False


def test_an_agent_that_has_spoken_has_nothing_to_add(task):
    assert informed(task, "split", (0, 4), has_spoken=True) is False


def test_who_was_dealt_nothing_is_not_informed_though_nobody_knows_what_matters(task):
    assert informed(replace(task, relevant=None), "split", (), has_spoken=False) is False
    assert informed(replace(task, relevant=None), "full", (), has_spoken=False) is None
    nothing = replace(task, relevant=None, statements=())
    assert informed(nothing, "split", (), has_spoken=False) is None


def test_nobody_knows_who_is_informed_without_flags_or_where_all_read_all(task):
    assert informed(replace(task, relevant=None), "split", (0,), has_spoken=False) is None
    assert informed(task, "full", (0,), has_spoken=False) is None


@pytest.mark.parametrize(
    ("message", "part"),
    [
        ({}, 0.0),
        ({"helper_0": "Fact 0.", "helper_1": "Fact 1. Fact 5."}, 2 / 3),
        ({"helper_0": "I hear: fact  0. ok", "helper_1": "\nFACT\n1. fact 3."}, 1.0),
        # The words of a fact in another order, half of one, and an answer in its place.
        ({"helper_0": "0 Fact.", "helper_1": "Fact 1 and Fact 3"}, 0.0),
        ({"helper_0": "#### 1", "helper_1": "#### 1"}, 0.0),
        # Useless facts, and facts that who says them does not hold.
        ({"helper_0": "Fact 2. Fact 1. Fact 3.", "helper_2": "Fact 0. Fact 4."}, 0.0),
    ],
)
def test_facts_are_told_where_their_holder_says_them_word_for_word(task, message, part):
    useful = replace(task, relevant=(True, True, False, True, False, False, False))
    shares = {"solver_0": (), "helper_0": (0, 2), "helper_1": (1, 3, 5), "helper_2": (4, 6)}
    assert facts_told(useful, "split", shares, message) == pytest.approx(part)


def test_nobody_knows_what_was_told_of_facts_without_flags_or_where_all_read_all(task):
    shares, messages = {"helper_0": tuple(range(7))}, {"helper_0": "Fact 0."}
    assert facts_told(replace(task, relevant=None), "split", shares, messages) is None
    assert facts_told(task, "full", shares, messages) is None
    assert facts_told(replace(task, relevant=(False,) * 7), "split", shares, messages) is None
    assert facts_told(Task("t", "Why?", (), "1", relevant=()), "split", {}, {}) is None
