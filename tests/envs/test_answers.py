"""Which message of an answering agent is graded. `#7` commits to an answer."""

from __future__ import annotations

import pytest

from envs.answers import Answers, answering_agents
from envs.errors import UnknownNameError

AGENTS = ("solver_0", "solver_1", "helper_0")


@pytest.fixture
def answers(sums):
    return Answers(sums, AGENTS[:2])


def test_the_agents_of_the_answering_role_answer():
    assert answering_agents("solver", AGENTS) == ("solver_0", "solver_1")
    assert answering_agents("majority", AGENTS) == AGENTS


def test_an_unknown_role_names_the_nearest():
    with pytest.raises(UnknownNameError, match="'solvr'. Did you mean 'solver'.*majority"):
        answering_agents("solvr", AGENTS)


def test_nothing_said_leaves_nothing_to_grade(answers):
    assert answers.graded == {}
    assert not answers.complete


def test_silence_and_agents_that_do_not_answer_change_nothing(answers):
    answers.note("solver_0", "")
    answers.note("helper_0", "#7")
    assert answers.graded == {}


def test_the_last_words_count_without_a_commitment(answers):
    answers.note("solver_0", "maybe 5")
    answers.note("solver_0", "or 6")
    answers.note("solver_0", "")
    assert answers.graded == {"solver_0": "or 6"}
    assert not answers.complete


def test_a_commitment_is_withdrawn_by_another_one_only(answers):
    answers.note("solver_0", "#7")
    answers.note("solver_0", "sure, 8 is wrong")
    assert answers.graded == {"solver_0": "#7"}
    answers.note("solver_0", "rather #9")
    assert answers.graded == {"solver_0": "rather #9"}


def test_the_answers_are_complete_when_every_agent_has_committed(answers):
    answers.note("solver_1", "#7")
    assert not answers.complete
    answers.note("solver_0", "#8")
    assert answers.complete


def test_the_order_is_that_of_the_agents_not_of_speaking(answers):
    answers.note("solver_1", "#7")
    answers.note("solver_0", "8")
    assert list(answers.graded) == ["solver_0", "solver_1"]
