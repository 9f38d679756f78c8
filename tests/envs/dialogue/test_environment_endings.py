"""The end of a dialogue, and its grading.

The team: solver_0, helper_0 and helper_1; one character is one token. `#7` commits to the
answer, in two tokens; the task `fruit` has the answer 7.
"""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.budget import Budget
from laconic.envs.errors import SettingError

AGENTS = ["solver_0", "helper_0", "helper_1"]


def _say(env, *texts):
    """Play one round in which the agents say these texts, in their order."""
    return env.step(dict(zip(env.possible_agents, texts, strict=False)))


def _values(returned):
    return list(returned.values())


def test_a_committed_answer_terminates_the_episode(start):
    env = start()
    _, _, terminated, truncated, infos = _say(env, "#7", "hm")
    assert set(_values(terminated)) == {True}
    assert set(_values(truncated)) == {False}
    assert env.agents == []
    for info in infos.values():
        assert (info["score"], info["solved"], info["answer"], info["round"]) == (1.0, True, "7", 1)


def test_words_without_commitment_and_a_helpers_commitment_go_on(start):
    env = start()
    _, _, terminated, _, infos = _say(env, "7", "#7")
    assert not any(terminated.values())
    assert "score" not in infos["solver_0"]
    assert env.agents == AGENTS


def test_the_last_round_terminates_and_its_uncommitted_words_are_graded(start):
    env = start(rounds=2)
    _say(env, "", "3 and 4")
    _, rewards, terminated, truncated, infos = _say(env, "so 7")
    assert all(terminated.values()) and not any(truncated.values())
    assert infos["helper_0"]["solved"] is True
    assert _values(rewards) == [1.0, 1.0, 1.0]


def test_a_single_round_is_first_and_last(start):
    env = start(rounds=1)
    _, _, terminated, _, infos = _say(env, "", "", "")
    assert all(terminated.values())
    assert (infos["solver_0"]["solved"], infos["solver_0"]["answer"]) == (False, "")


def test_nobody_speaking_terminates_after_the_first_round_only(start):
    env = start()
    assert not any(_say(env, "", "", "")[2].values())
    _, _, terminated, truncated, _ = _say(env, "", "", "")
    assert all(terminated.values()) and not any(truncated.values())


def test_an_answering_agent_silent_at_the_end_is_graded_on_what_it_said_before(start):
    env = start()
    _say(env, "7 I think")
    *_, infos = _say(env, "", "", "")
    assert infos["solver_0"]["answer"] == "7"


def test_a_commitment_stands_until_the_whole_role_has_committed(start):
    env = start(team={"solver": 2})
    assert not any(_say(env, "#7", "hm")[2].values())
    assert not any(_say(env, "8 is wrong", "hm")[2].values())
    *_, infos = _say(env, "or 9", "#7")
    assert infos["solver_0"]["answer"] == "7"


def test_every_agent_of_the_answering_role_must_commit_to_end_early(start):
    env = start(team={"solver": 2})
    _say(env, "#7", "")
    assert all(_say(env, "", "#8")[2].values())


def test_a_budget_spent_in_the_round_of_the_answer_terminates(start):
    _, _, terminated, truncated, _ = _say(start(budget=Budget(episode=2)), "#7")
    assert all(terminated.values()) and not any(truncated.values())


def test_a_budget_spent_in_the_last_round_terminates(start):
    _, _, terminated, truncated, _ = _say(start(budget=Budget(episode=1), rounds=1), "hm")
    assert all(terminated.values()) and not any(truncated.values())


def test_an_episode_whose_budget_is_spent_is_graded_on_the_last_words(start):
    _, rewards, terminated, truncated, infos = _say(start(budget=Budget(episode=1)), "7")
    assert all(terminated.values()) and not any(truncated.values())
    assert infos["solver_0"]["solved"] is True
    assert rewards["helper_1"] == 1.0


@pytest.mark.parametrize(
    ("settings", "rounds", "ended_by"),
    [
        ({}, [("#7", "hm")], "answer"),
        ({"rounds": 1}, [("hm",)], "rounds"),
        ({"rounds": 2}, [("7",), ("8",)], "rounds"),
        ({}, [("hm",), ("",)], "silence"),
        ({"budget": Budget(episode=2)}, [("hm",)], "budget"),
        ({"budget": Budget(episode=4)}, [("hm",), ("", "so", "and")], "budget"),
        ({"stop_at": 1.0}, [("7",)], "score"),
        ({"answer": "majority", "agree_at": 0.6, "rounds": 3}, [("#7", "#7", "hm")], "answer"),
        # Two endings in one round: an answer, and a last round, come before a spent budget ...
        ({"budget": Budget(episode=2)}, [("#7",)], "answer"),
        ({"budget": Budget(episode=2), "rounds": 1}, [("hm",)], "rounds"),
        ({"budget": Budget(episode=1), "stop_at": 1.0}, [("7",)], "score"),
        # ... and an answer before the last round and before a score that is good enough.
        ({"rounds": 1, "stop_at": 1.0}, [("#7",)], "answer"),
        ({"rounds": 1, "answer": "majority", "agree_at": 0.6}, [("#7", "#7", "hm")], "rounds"),
    ],
)
def test_the_last_infos_say_what_ended_the_episode(start, settings, rounds, ended_by):
    env = start(**settings)
    for texts in rounds:
        assert env.agents
        _, _, terminated, truncated, infos = _say(env, *texts)
        if env.agents:
            assert not any("ended_by" in info for info in infos.values())
    assert [info["ended_by"] for info in infos.values()] == [ended_by] * 3
    assert all(terminated.values()) and not any(truncated.values())


def test_when_every_agent_has_used_up_its_own_budget_the_silence_ends_the_episode(start):
    env = start(budget=Budget(agent=1), rounds=9)
    assert not any(_say(env, "a", "b", "c")[2].values())
    assert all(_say(env, "a", "b", "c")[2].values())


def test_a_majority_is_counted_at_the_end_and_the_commonest_answer_wins(start):
    env = start(answer="majority", rounds=2)
    assert not any(_say(env, "#8", "#7", "#5")[2].values())
    _, _, terminated, _, infos = _say(env, "", "", "#7")
    assert all(terminated.values())
    assert (infos["solver_0"]["answer"], infos["solver_0"]["solved"]) == ("7", True)


def test_a_tie_is_broken_by_the_order_of_agents_not_of_speaking(start):
    env = start(answer="majority", rounds=2)
    _say(env, "", "", "#5")
    *_, infos = _say(env, "#8", "#7", "")
    assert infos["solver_0"]["answer"] == "8"


def test_one_agent_alone_plays_too(make_env):
    env = make_env(team={"solver": 1}, information="split", rounds=2)
    _, infos = env.reset(seed=0, options={"task": "fruit"})
    assert infos["solver_0"]["share"] == (0, 1, 2, 3)
    observations, rewards, terminated, _, _ = env.step({"solver_0": "#7"})
    assert observations["solver_0"]["text"] == "Nobody spoke."
    assert (rewards, terminated) == ({"solver_0": 1.0}, {"solver_0": True})


def test_after_the_end_and_before_a_reset_a_step_returns_nothing(start, make_env):
    env = start(rounds=1)
    _say(env, "#7")
    assert env.step({"solver_0": "more"}) == ({}, {}, {}, {}, {})
    assert make_env().step({}) == ({}, {}, {}, {}, {})


def test_after_the_end_nobody_may_say_anything(start):
    observations, *_ = _say(start(budget=Budget(message=3)), "#7")
    assert [observation["tokens_left"][0] for observation in observations.values()] == [0, 0, 0]


def test_a_vote_is_over_when_enough_agree_and_earns_what_it_would_have_earned(start):
    env = start(answer="majority", agree_at=0.6, rounds=4)
    assert not any(_say(env, "#7", "#8", "")[2].values())
    _, rewards, terminated, _, infos = _say(env, "", "#7", "")
    assert all(terminated.values()) and infos["helper_0"]["solved"] is True
    assert _values(rewards) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"answer": "solver"}, r"needs several agents that answer one question"),
        ({"answer": "joint"}, r"needs several agents that answer one question"),
        ({"answer": "majority", "agree_at": 0}, r"env\.agree_at must be null or a finite number"),
        ({"answer": "majority", "agree_at": 1.5}, r"at most 1; got 1\.5"),
    ],
)
def test_a_share_that_nobody_could_reach_is_refused(start, settings, words):
    with pytest.raises(SettingError, match=words):
        start(**{"agree_at": 0.7, **settings})
