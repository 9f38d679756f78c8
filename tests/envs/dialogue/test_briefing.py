"""What agents read first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.envs.dialogue.briefing import Rules, first_texts
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.roster import Roster, role_of

TEAM = {"solver": 1, "helper": 1}


def roster(answer="solver"):
    return Roster.of(TEAM, "complete", "all", answer, 3)


RULES = Rules(roster(), rounds=3, budget=Budget(), priced=False)
SHARES = {"solver_0": (), "helper_0": (0, 2)}


@pytest.fixture
def texts(sums, tasks):
    def write(style="full", **changes):
        return first_texts(tasks[0], SHARES, replace(RULES, **changes), sums, style)

    return write


def test_the_role_is_the_name_without_its_number():
    assert role_of("solver_0") == "solver"
    assert role_of("fact_checker_12") == "fact_checker"


def test_the_full_text_has_name_role_rules_share_and_question(texts):
    assert texts()["helper_0"] == (
        "You are helper_0 in a team of 2: solver_0, helper_0.\n"
        "A helper adds up.\n"
        "There are at most 3 rounds; in each, those whose turn it is speak at the same time or stay"
        " silent. The answer of the team is what solver_0 says.\n"
        "What you know: There are 3 apples. There are 4 pears.\n"
        "Question: How many fruits are there?"
    )


def test_an_empty_share_is_left_out(texts):
    assert "What you know" not in texts()["solver_0"]
    assert texts()["solver_0"].endswith("Question: How many fruits are there?")


def test_the_brief_text_has_name_share_and_question_only(texts):
    assert texts("brief") == {
        "solver_0": "solver_0\nHow many fruits are there?",
        "helper_0": "helper_0\nThere are 3 apples. There are 4 pears.\nHow many fruits are there?",
    }


def test_the_price_is_mentioned_where_there_is_one(texts):
    words = "Every token you say costs reward; silence is free."
    assert words in texts(priced=True)["solver_0"]
    assert words not in texts(priced=False)["solver_0"]


def test_each_cap_is_named_with_what_it_holds_for(texts):
    budget = Budget(message=4, agent=9, round=12, episode=30)
    assert (
        "Token budget: 4 for a message, 9 for you in all, 12 for all agents in a round,"
        " 30 for all agents together." in texts(budget=budget)["solver_0"]
    )
    assert " Token budget: 5 for a message." in texts(budget=Budget(message=5))["solver_0"]
    assert "Token budget" not in texts()["solver_0"]


def test_several_answering_agents_are_told_that_most_count(texts):
    both = texts(roster=roster("majority"))["solver_0"]
    assert "The answer of the team is what most of solver_0, helper_0 say." in both


def test_a_joint_work_is_told_to_be_graded_as_one(texts):
    both = texts(roster=roster("joint"))["solver_0"]
    assert "What solver_0, helper_0 wrote last is graded as one piece of work." in both
    assert "The answer of the team" not in both
