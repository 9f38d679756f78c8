"""The first texts of agents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic import envs
from laconic.envs.dialogue.briefing import (
    FORMS,
    PromptBuilder,
    Rules,
    Templates,
    known_and_asked,
    templates,
)
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.roster import Roster, role_of
from laconic.envs.errors import SettingError, UnknownNameError

TEAM = {"solver": 1, "helper": 1}


def roster(answer="solver"):
    return Roster.of(TEAM, "complete", "all", answer, 3)


def openings(task, shares, rules, explained, form):
    parts = known_and_asked(task, shares, explained.separator)
    return PromptBuilder(rules, explained, form).openings(parts)


def written(*settings):
    """Write the first observation of each agent, in one text."""
    return {
        agent: "\n".join(filter(None, (opening.general, opening.own)))
        for agent, opening in openings(*settings).items()
    }


RULES = Rules(roster(), rounds=3, budget=Budget(), priced=False)
SHARES = {"solver_0": (), "helper_0": (0, 2)}


@pytest.fixture
def texts(sums, tasks):
    def write(form="full", **changes):
        rules = replace(RULES, **changes)
        return written(tasks[0], SHARES, rules, sums, templates(form))

    return write


def test_the_role_is_the_name_without_its_number():
    assert role_of("solver_0") == "solver"
    assert role_of("fact_checker_12") == "fact_checker"


def test_the_full_text_goes_from_the_rules_and_roles_to_name_share_and_question(texts):
    assert texts()["helper_0"] == (
        "The team: solver_0, helper_0.\n"
        "There are at most 3 rounds; in each, those whose turn it is speak at the same time or stay"
        " silent. The answer of the team is what solver_0 says.\n"
        "solver: A solver adds up.\n"
        "helper: A helper adds up.\n"
        "You are helper_0.\n"
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


def test_the_general_part_is_the_same_for_all_agents_and_tasks(sums, tasks):
    parts = {
        value.general
        for task, shares in ((tasks[0], SHARES), (tasks[1], {"solver_0": (0,), "helper_0": ()}))
        for value in openings(task, shares, RULES, sums, FORMS["full"]).values()
    }
    assert len(parts) == 1 and "helper_0" in parts.pop()


def test_what_the_roles_are_told_alike_is_told_once_as_the_goal(sums, tasks):
    class Told(type(sums)):
        def instructions(self, role, style="full"):
            return f"Add up. All numbers count. {'Answer' if role == 'solver' else 'Help'}."

    form = Templates("goal: {goal}\n{duties}", "{agent}: {duty}")
    result = written(tasks[0], SHARES, RULES, Told(), form)
    assert result["helper_0"] == (
        "goal: Add up. All numbers count.\nsolver: Answer.\nhelper: Help.\nhelper_0: Help."
    )


def test_a_role_by_itself_is_told_all_as_its_duty(sums, tasks):
    alone = Roster.of({"solver": 2}, "complete", "all", "majority", 3)
    shares = {"solver_0": (), "solver_1": (0,)}
    form = Templates("{goal}\n{duties}", "{agent}")
    result = written(tasks[0], shares, replace(RULES, roster=alone), sums, form)
    assert result["solver_1"] == "A solver adds up.\nsolver_1"


@pytest.mark.parametrize("name", ["gsm8k", "math", "strategyqa", "sports", "signal", "checkmate"])
def test_seven_tenths_of_a_first_prompt_are_the_same_for_all(name):
    env = envs.make(name, free=True, tasks=8, information="split", split="evaluation")
    texts = []
    for task in list(env.tasks)[:4]:
        observations, infos = env.reset(seed=0, options={"task": task})
        texts += [
            (observation["text"], infos[agent]["general"])
            for agent, observation in observations.items()
        ]
    for text, general in texts:
        assert text.startswith(general)
        assert len(general) >= 0.7 * len(text)


def test_a_price_that_moves_leaves_the_prompt_as_it_is():
    env = envs.make("gsm8k", free=True, tasks=2, reward={"price": 0.5, "normalizer": 100})
    before = env.reset(seed=0)[0]
    env.reward = replace(env.reward, price=0.0)
    after = env.reset(seed=0)[0]
    assert [value["text"] for value in before.values()] == [
        value["text"] for value in after.values()
    ]
    assert "Every token you say costs reward" in before["solver_0"]["text"]
    free = envs.make("gsm8k", free=True, tasks=2, reward={"price": 0.0, "normalizer": 100})
    assert "costs reward" not in free.reset(seed=0)[0]["solver_0"]["text"]


def test_templates_of_a_users_own_are_filled_in():
    own = {"general": "Be brief. {{no field}}", "own": "{role} {agent}\nKnown: {known}\n{question}"}
    env = envs.make("gsm8k", free=True, tasks=2, information="split", instructions=own)
    observations, infos = env.reset(seed=0)
    first, second, *rest = observations["solver_0"]["text"].splitlines()
    # A solver that holds no statement has no line for what is known.
    assert (first, second, len(rest)) == ("Be brief. {no field}", "solver solver_0", 1)
    assert infos["helper_0"]["general"] == "Be brief. {no field}"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ("shrot", r"env\.instructions 'shrot'. Did you mean 'short'"),
        ({"general": ""}, "two texts, `general` and `own`"),
        ({"general": "", "own": "", "mine": ""}, "part of env.instructions 'mine'"),
        ({"general": "{agent}", "own": ""}, "field in env.instructions.general 'agent'"),
        ({"general": "", "own": "{kwnon}"}, "Did you mean 'known'"),
        ({"general": "{", "own": ""}, "braces that name nothing are doubled"),
        ({"general": 3, "own": ""}, "must be a text for str.format"),
    ],
)
def test_templates_that_cannot_be_filled_in_are_refused(overrides, message):
    with pytest.raises((SettingError, UnknownNameError), match=message):
        templates(overrides)
