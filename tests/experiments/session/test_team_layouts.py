"""What each layout makes of an environment by role, by majority and with joint work."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.experiments.session.team_layouts import LAYOUTS, LayoutError, TeamSettings

BY_ROLE = {
    "team": {"solver": 1, "helper": 3},
    "answer": "solver",
    "rounds": 2,
    "topology": "star",
    "schedule": ["helper", "solver"],
}
JOINT = {"team": {"auxiliary": 1, "main": 1}, "answer": "joint", "rounds": 1, "topology": "none"}
MAJORITY = {"team": {"solver": 3}, "answer": "majority"}


def laid_out(layout, env, agents=None):
    return LAYOUTS[layout](TeamSettings.of(env), agents)


def turns(layout, env, agents=None):
    return TeamSettings.of({**env, **laid_out(layout, env, agents)}).turns


def test_messages_of_an_episode_are_counted_from_schedule_and_rounds():
    # Three helpers, then the solver.
    assert TeamSettings.of(BY_ROLE).turns == 4
    assert TeamSettings.of({**BY_ROLE, "rounds": 3}).turns == 7
    assert TeamSettings.of(JOINT).turns == 2
    # The constructor's own rounds are two.
    assert TeamSettings.of(MAJORITY).turns == 6


def test_the_team_is_left_as_it_is():
    assert laid_out("team", BY_ROLE) == {}


@pytest.mark.parametrize(
    ("env", "role", "answer"),
    [(BY_ROLE, "solver", "solver"), (MAJORITY, "solver", "solver"), (JOINT, "writer", "joint")],
)
def test_alone_is_one_agent_that_reads_everything_and_speaks_once(env, role, answer):
    settings = laid_out("alone", env)
    assert (settings["team"], settings["answer"]) == ({role: 1}, answer)
    assert settings["information"] == "full"
    assert turns("alone", env) == 1


def test_a_debate_has_full_exchange_one_revision_and_a_majority():
    settings = laid_out("debate", BY_ROLE)
    assert settings["team"] == {"solver": 3}
    values = [settings[key] for key in ("topology", "rounds", "answer")]
    assert values == ["complete", 2, "majority"]
    assert laid_out("debate", BY_ROLE, 5)["team"] == {"solver": 5}
    assert turns("debate", BY_ROLE) == 6


def test_in_a_discussion_answering_agents_have_heard_all_others_twice():
    settings = laid_out("discussion", BY_ROLE)
    assert settings["schedule"] == [["helper"], ["helper"], ["solver"]]
    assert turns("discussion", BY_ROLE) == 7
    assert laid_out("discussion", JOINT)["rounds"] == 2
    assert turns("discussion", JOINT) == 4


def test_a_pipeline_goes_role_by_role_with_the_answer_last():
    assert laid_out("sequential", BY_ROLE)["schedule"] == [["helper"], ["solver"]]
    assert laid_out("sequential", JOINT)["schedule"] == [["auxiliary"], ["main"]]
    assert turns("sequential", JOINT) == 2


def test_parts_are_concatenated_without_anybody_hearing_anybody():
    assert laid_out("concatenation", JOINT) == {"rounds": 1, "topology": "none", "schedule": "all"}


@pytest.mark.parametrize(
    ("layout", "env", "words"),
    [
        ("concatenation", BY_ROLE, "no parts to join"),
        ("debate", JOINT, "a joint answer has none"),
        ("sequential", MAJORITY, "a pipeline needs two roles"),
        ("discussion", {**BY_ROLE, "team": {"solver": 2}}, "a discussion needs a role besides"),
    ],
)
def test_a_layout_without_sense_for_an_environment_says_why(layout, env, words):
    with pytest.raises(LayoutError, match=words):
        laid_out(layout, env)


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_every_layout_of_the_shipped_game_is_a_dialogue(layout):
    if layout == "concatenation":
        pytest.skip("this game has no parts to concatenate")
    settings = {**BY_ROLE, **laid_out(layout, BY_ROLE)}
    environment = envs.make("gsm8k", free=True, tasks=2, **settings)
    observations, _ = environment.reset(seed=0)
    assert set(observations) == set(environment.possible_agents)
