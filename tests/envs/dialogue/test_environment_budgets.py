"""Caps and turns in a dialogue.

The team: solver_0, helper_0 and helper_1; one character is one token.
"""

from __future__ import annotations

from laconic.envs.dialogue.budget import UNLIMITED, Budget, split_words

AGENTS = ["solver_0", "helper_0", "helper_1"]


def _say(env, *texts):
    """Play one round in which the agents say these texts, in their order."""
    return env.step(dict(zip(env.possible_agents, texts, strict=False)))


def _said(infos):
    return [info["tokens_said"] for info in infos.values()]


def _messages(infos):
    return [info["message"] for info in infos.values()]


def _values(returned):
    return list(returned.values())


# Budgets


def test_a_message_that_fits_exactly_is_not_cut(start):
    *_, infos = _say(start(budget=Budget(message=3)), "abc")
    assert (infos["solver_0"]["message"], infos["solver_0"]["cut"]) == ("abc", False)


def test_a_message_over_its_cap_is_cut_and_the_infos_say_so(start):
    observations, _, _, _, infos = _say(start(budget=Budget(message=3)), "abcdef", "ab")
    assert _messages(infos) == ["abc", "ab", ""]
    assert [info["cut"] for info in infos.values()] == [True, False, False]
    assert _said(infos) == [3, 2, 0]
    assert observations["helper_0"]["text"] == "solver_0: abc"
    # The cap holds for every message anew.
    assert observations["solver_0"]["tokens_left"].tolist() == [3, *[UNLIMITED] * 3]


def test_a_message_is_cut_at_a_token_border(start):
    *_, infos = _say(start(budget=Budget(message=2), tokenize=split_words), "one two three")
    assert infos["solver_0"]["message"] == "one two"
    assert infos["solver_0"]["tokens_said"] == 2


def test_an_agent_with_nothing_left_is_silent(start):
    env = start(budget=Budget(agent=5))
    _say(env, "abc")
    *_, infos = _say(env, "defg", "x")
    assert (infos["solver_0"]["message"], infos["solver_0"]["tokens_said"]) == ("de", 5)
    observations, *_, infos = _say(env, "h", "y")
    assert (infos["solver_0"]["message"], infos["solver_0"]["cut"]) == ("", True)
    assert infos["solver_0"]["tokens_said"] == 5
    assert observations["helper_0"]["text"] == "Nobody spoke."


def test_who_is_served_first_by_a_round_cap_rotates(start):
    env = start(budget=Budget(round=5))
    rounds = [_said(_say(env, "abcd", "abcd", "abcd")[4]) for _ in range(3)]
    # Round 0: solver_0 4, helper_0 1. Round 1: helper_0 4, helper_1 1. Round 2: helper_1 4,
    # solver_0 1.
    assert rounds == [[4, 1, 0], [4, 5, 1], [5, 5, 5]]


def test_an_episode_cap_is_shared_and_ends_the_episode_when_it_is_spent(start):
    env = start(budget=Budget(episode=6))
    observations, _, terminated, truncated, infos = _say(env, "abcd", "abcd", "abcd")
    assert _said(infos) == [4, 2, 0]
    # What is left of the budget was observed, so nothing is to be expected after it.
    assert set(_values(terminated)) == {True}
    assert set(_values(truncated)) == {False}
    assert env.agents == [] and infos["solver_0"]["ended_by"] == "budget"
    assert {"score", "solved", "answer"} <= set(infos["helper_1"])
    assert observations["helper_1"]["tokens_left"].tolist() == [0, *[UNLIMITED] * 2, 0]


def test_all_four_caps_hold_together(start):
    env = start(budget=Budget(message=4, agent=5, round=7, episode=12))
    observations, _, terminated, _, infos = _say(env, "abcdef", "abcdef", "abcdef")
    # solver_0 4 (message), helper_0 3 (round: 7 - 4), helper_1 0.
    assert _said(infos) == [4, 3, 0]
    assert not any(terminated.values())
    tokens_left = [observation["tokens_left"].tolist() for observation in observations.values()]
    # Of the episode 12 - 7 = 5 are left; of their own 1, 2 and 5; the round is whole again.
    assert tokens_left == [[1, 1, 7, 5], [2, 2, 7, 5], [4, 5, 7, 5]]
    _, _, terminated, _, infos = _say(env, "abcdef", "abcdef", "abcdef")
    # helper_0 2 (its own), helper_1 3 (episode: 12 - 7 - 2), solver_0 0.
    assert _said(infos) == [4, 5, 3]
    assert all(terminated.values())


def test_huge_caps_do_not_overflow(start):
    env = start(budget=Budget(message=10**12, agent=2**31, round=2**40, episode=2**31 - 1))
    observations, *_ = _say(env, "abc")
    # Own: 2**31 - 3. The round is whole again, more than int32 holds. Episode: 2**31 - 1 - 3.
    expected = [2**31 - 4, 2**31 - 3, UNLIMITED, 2**31 - 4]
    assert observations["solver_0"]["tokens_left"].tolist() == expected


# Schedule


def test_out_of_turn_the_budget_is_zero_and_words_are_not_published(start):
    env = start(schedule=["helper", "solver"], budget=Budget(message=9))
    assert env.observation_space("solver_0") is not None
    observations, infos = env.reset(seed=0)
    assert [observation["tokens_left"][0] for observation in observations.values()] == [0, 9, 9]
    observations, _, _, _, infos = _say(env, "#7", "hi", "")
    assert _messages(infos) == ["", "hi", ""]
    assert [info["cut"] for info in infos.values()] == [True, False, False]
    assert [observation["tokens_left"][0] for observation in observations.values()] == [9, 0, 0]
    # What was said out of turn is no answer.
    assert env.agents == AGENTS


def test_a_schedule_starts_again_when_it_ends(start):
    env = start(schedule=["solver", ["solver", "helper"]], rounds=3)
    rounds = [_messages(_say(env, "a", "b", "c")[4]) for _ in range(3)]
    assert rounds == [["a", "", ""], ["a", "b", "c"], ["a", "", ""]]


def test_an_agent_that_sees_its_own_caps_alone_learns_nothing_of_who_spoke(start):
    caps = Budget(message=5, agent=8, round=9, episode=20)

    def left(words, **settings):
        env = start(topology="none", budget=caps, **settings)
        return env.step({"helper_0": words})[0]["solver_0"]["tokens_left"].tolist()

    assert left("abc") == [5, 8, 9, 17] and left("") == [5, 8, 9, 20]
    assert (
        left("abc", tokens_left="own")
        == left("", tokens_left="own")
        == [5, 8, UNLIMITED, UNLIMITED]
    )


def test_what_is_not_seen_still_holds(start):
    env = start(budget=Budget(episode=2), tokens_left="own")
    *_, infos = env.step({"solver_0": "abc"})
    assert infos["solver_0"]["message"] == "ab" and infos["solver_0"]["cut"]
