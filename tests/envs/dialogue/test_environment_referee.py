"""Which message is graded, and when a dialogue is over. `#7` commits to an answer."""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.environment import Referee
from laconic.envs.dialogue.roster import Roster

TEAM = {"solver": 2, "helper": 1}
SAID = {"solver_0": "hm", "solver_1": "", "helper_0": ""}
QUIET = dict.fromkeys(SAID, "")


@pytest.fixture
def make(sums, tasks):
    def make_referee(answer="solver", rounds=3, **ends):
        roster = Roster.of(TEAM, "complete", "all", answer, rounds)
        return Referee(sums, tasks[0], roster, rounds=rounds, **ends)

    return make_referee


@pytest.fixture
def answers(make):
    return make()


def test_nothing_said_leaves_nothing_to_grade(answers):
    assert answers.graded() == {}
    assert len(answers.commitments) < 2


def test_silence_and_agents_that_do_not_answer_change_nothing(answers):
    answers.note({"solver_0": ""})
    answers.note({"helper_0": "#7"})
    assert answers.graded() == {}


def test_the_last_words_count_without_a_commitment(answers):
    answers.note({"solver_0": "maybe 5"})
    answers.note({"solver_0": "or 6"})
    answers.note({"solver_0": ""})
    assert answers.graded() == {"solver_0": "or 6"}
    assert len(answers.commitments) < 2


def test_a_commitment_is_withdrawn_by_another_one_only(answers):
    answers.note({"solver_0": "#7"})
    answers.note({"solver_0": "sure, 8 is wrong"})
    assert answers.graded() == {"solver_0": "#7"}
    answers.note({"solver_0": "rather #9"})
    assert answers.graded() == {"solver_0": "rather #9"}


def test_the_answers_are_complete_when_every_agent_has_committed(answers):
    answers.note({"solver_1": "#7"})
    assert len(answers.commitments) < 2
    answers.note({"solver_0": "#8"})
    assert len(answers.commitments) == 2


def test_the_order_is_that_of_the_agents_not_of_speaking(answers):
    answers.note({"solver_1": "#7"})
    answers.note({"solver_0": "8"})
    assert list(answers.graded()) == ["solver_0", "solver_1"]


def test_what_is_graded_is_scored(answers):
    answers.note({"solver_0": "#7"})
    assert (answers.score().solved, answers.score().answer) == (True, "7")
    answers.note({"solver_0": "#8"})
    assert not answers.score().solved


def test_it_is_over_when_all_of_the_role_have_committed_but_not_with_a_vote_or_a_joint_work(make):
    for answer, over in (("solver", True), ("majority", False), ("joint", False)):
        referee = make(answer)
        for agent in SAID:
            referee.note({agent: "#7"})
        assert len(referee.commitments) == len(referee.roster.answering)
        assert bool(referee.ending(0, SAID, None)) is over


def test_it_is_over_after_the_last_round_or_a_silent_one_that_is_not_the_first(answers):
    assert [answers.ending(index, SAID, None) for index in range(3)] == ["", "", "rounds"]
    assert [answers.ending(index, QUIET, None) for index in range(3)] == ["", *["silence"] * 2]


def test_silence_ends_nothing_before_somebody_was_asked_to_answer(sums, tasks):
    schedule = ["helper", "helper", "solver", "helper"]
    roster = Roster.of(TEAM, "complete", schedule, "solver", 9)
    referee = Referee(sums, tasks[0], roster, rounds=9)
    endings = [referee.ending(index, QUIET, None) for index in range(4)]
    assert endings == ["", "", "silence", "silence"]


def test_it_is_over_when_the_score_is_good_enough(make):
    referee = make("joint", stop_at=1.0)
    referee.note({"helper_0": "#8"})
    assert referee.ending(0, SAID, referee.score()) == ""
    for agent in SAID:
        referee.note({agent: "#7"})
    assert referee.ending(0, SAID, referee.score()) == "score"
    assert make("joint").ending(0, SAID, referee.score()) == ""


def test_it_is_over_when_enough_of_those_who_answer_give_one_answer(make):
    # Three vote; 70 % of them are all three, 60 % are two.
    for share, endings in ((0.7, ["", "", "answer"]), (0.6, ["", "answer", "answer"])):
        referee = make("majority", agree_at=share)
        results = []
        for agent in SAID:
            referee.note({agent: "#8"})
            results.append(referee.ending(0, SAID, None))
        assert results == endings
    referee = make("majority", agree_at=0.6)
    for agent, text in zip(SAID, ("#7", "#8", "no idea"), strict=True):
        referee.note({agent: text})
    assert referee.ending(0, SAID, None) == ""
