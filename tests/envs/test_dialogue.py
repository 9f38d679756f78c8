"""The rules of a dialogue, with the team solver_0, helper_0, helper_1 and one character a token.

The task `fruit` has the answer 7; `#7` commits to it (two tokens).
"""

from __future__ import annotations

import copy
import math
import pickle
import random

import numpy as np
import pytest

from envs.budget import UNLIMITED, Budget
from envs.dialogue import DialogueEnv
from envs.errors import SettingError, UnknownNameError
from envs.reward import Reward
from envs.task import Task
from envs.tokens import split_words

TEAM = {"solver": 1, "helper": 2}
AGENTS = ["solver_0", "helper_0", "helper_1"]


@pytest.fixture
def start(make_env):
    """Makes an environment and starts the task `fruit` in it."""

    def begin(*, seed=0, task="fruit", **settings):
        env = make_env(**{"team": TEAM, "rounds": 3, **settings})
        env.reset(seed=seed, options={"task": task})
        return env

    return begin


def _say(env, *texts):
    """One round in which the agents say these texts, in their order."""
    return env.step(dict(zip(env.possible_agents, texts, strict=False)))


def _said(infos):
    return [info["tokens_said"] for info in infos.values()]


def _messages(infos):
    return [info["message"] for info in infos.values()]


def _values(returned):
    return list(returned.values())


# Settings


def test_without_a_task_there_is_no_environment(make_env):
    with pytest.raises(SettingError, match="at least one task"):
        make_env(tasks=())


def test_two_tasks_of_one_key_are_refused(make_env, tasks):
    with pytest.raises(SettingError, match="2 tasks have the key 'fruit'"):
        make_env(tasks=(*tasks, tasks[0]))


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, "2", None])
def test_rounds_must_be_a_whole_number_of_at_least_one(make_env, rounds):
    with pytest.raises(SettingError, match=r"env\.rounds must be a whole number of at least 1"):
        make_env(rounds=rounds)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"information": "spilt"}, r"env\.information 'spilt'. Did you mean 'split'"),
        ({"instructions": "breif"}, r"env\.instructions 'breif'. Did you mean 'brief'"),
        ({"render_mode": "humn"}, r"env\.render_mode 'humn'. Did you mean 'human'"),
        ({"topology": "chian"}, "topology 'chian'. Did you mean 'chain'"),
        ({"answer": "sovler"}, r"role in env\.answer 'sovler'. Did you mean 'solver'"),
        ({"schedule": ["helpr"]}, r"role in env\.schedule 'helpr'. Did you mean 'helper'"),
    ],
)
def test_an_unknown_word_names_the_nearest(make_env, settings, words):
    with pytest.raises(UnknownNameError, match=words):
        make_env(**settings)


def test_an_empty_team_is_refused_and_none_gives_the_default_team(make_env):
    with pytest.raises(SettingError, match=r"env\.team"):
        make_env(team={})
    assert make_env(team=None).possible_agents == ["solver_0", *(f"helper_{i}" for i in range(3))]


def test_a_schedule_that_never_lets_the_answering_role_speak_is_refused(make_env):
    with pytest.raises(SettingError, match="must give solver_0 a turn to answer.*rounds=1"):
        make_env(schedule=["helper", "solver"], rounds=1)
    make_env(schedule=["helper", "solver"], rounds=1, answer="majority")


# Reset


def test_a_reset_shows_every_agent_its_first_text_and_an_untouched_budget(make_env):
    env = make_env(team=TEAM, budget=Budget(message=4, agent=5, round=7, episode=12))
    observations, infos = env.reset(seed=0)
    assert list(observations) == list(infos) == env.agents == AGENTS
    for agent, seen in observations.items():
        assert seen["text"].startswith(f"You are {agent} in a team of 3")
        assert seen["tokens_left"].tolist() == [4, 5, 7, 12]
        assert seen["tokens_left"].dtype == np.int32
        assert infos[agent]["tokens_read"] == len(seen["text"])


def test_without_caps_everything_left_is_unlimited(start):
    observations, *_ = _say(start(), "hello")
    assert observations["helper_0"]["tokens_left"].tolist() == [UNLIMITED] * 4


def test_the_first_infos_say_what_is_known(make_env):
    _, infos = make_env(team=TEAM, rounds=3).reset(seed=0, options={"task": "fruit"})
    shared = {"task": "fruit", "round": 0, "rounds": 3, "share": (0, 1, 2, 3), "informed": None}
    quiet = {"message": "", "cut": False, "tokens_said": 0}
    read = infos["helper_0"]["tokens_read"]
    assert infos["helper_0"] == {**shared, **quiet, "answering": False, "tokens_read": read}
    assert infos["solver_0"]["answering"] is True


@pytest.mark.parametrize("key", ["fruit", "birds", "unknown"])
def test_the_named_task_is_started(make_env, key):
    env = make_env()
    _, infos = env.reset(seed=0, options={"task": key})
    assert {info["task"] for info in infos.values()} == {key}


def test_an_unknown_task_names_the_nearest(make_env):
    with pytest.raises(UnknownNameError, match="unknown task 'friut'. Did you mean 'fruit'"):
        make_env().reset(options={"task": "friut"})


def test_other_options_are_ignored(make_env):
    one, two = make_env(), make_env()
    texts = [
        {agent: seen["text"] for agent, seen in observations.items()}
        for observations, _ in (one.reset(seed=4), two.reset(seed=4, options={"options": 1}))
    ]
    assert texts[0] == texts[1]


def test_every_task_is_drawn_sooner_or_later_and_without_a_seed_the_draw_goes_on(make_env):
    env = make_env()
    env.reset(seed=0)
    drawn = [env.reset()[1]["solver_0"]["task"] for _ in range(30)]
    assert set(drawn) == {"fruit", "birds", "unknown"}
    env.reset(seed=0)
    assert drawn == [env.reset()[1]["solver_0"]["task"] for _ in range(30)]


def test_equal_seed_and_task_give_an_equal_deal_drawn_or_named(make_env):
    for seed in range(20):
        _, drawn = make_env(information="split").reset(seed=seed)
        task = drawn["solver_0"]["task"]
        _, named = make_env(information="split").reset(seed=seed, options={"task": task})
        assert named == drawn


def test_the_deal_changes_with_the_seed(make_env):
    env = make_env(information="split")
    shares = set()
    for seed in range(10):
        _, infos = env.reset(seed=seed, options={"task": "fruit"})
        shares.add(infos["helper_0"]["share"])
    assert len(shares) > 2


def test_process_wide_generators_stay_untouched(make_env):
    random.seed(5)
    np.random.seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist()
    env = make_env(information="split")
    env.reset()
    env.reset(seed=1)
    _say(env, "a", "b", "c", "d")
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


# Information


def test_split_deals_the_statements_to_the_helpers_and_shows_the_question_to_all(make_env, tasks):
    observations, infos = make_env(team=TEAM, information="split").reset(
        seed=0, options={"task": "fruit"}
    )
    shares = [infos[agent]["share"] for agent in AGENTS]
    assert shares[0] == ()
    assert sorted(shares[1] + shares[2]) == [0, 1, 2, 3]
    for agent, share in zip(AGENTS, shares, strict=True):
        text = observations[agent]["text"]
        assert tasks[0].question in text
        for index, statement in enumerate(tasks[0].statements):
            assert (statement in text) == (index in share)


@pytest.mark.parametrize("settings", [{"answer": "majority"}, {"team": {"solver": 3}}])
def test_where_everybody_answers_everybody_holds_a_part(make_env, settings):
    env = make_env(**{"team": TEAM, "information": "split", **settings})
    _, infos = env.reset(seed=0, options={"task": "fruit"})
    dealt = [index for info in infos.values() for index in info["share"]]
    assert sorted(dealt) == [0, 1, 2, 3]
    assert all(info["share"] for info in infos.values())


def test_informed_is_who_holds_something_that_matters_and_has_not_spoken(start):
    env = start(information="split", rounds=3)
    # Statements 0 and 2 of `fruit` matter.
    matters = {agent: any(i in (0, 2) for i in env.shares[agent]) for agent in AGENTS[1:]}
    _, _, _, _, infos = _say(env)
    for agent, expected in matters.items():
        assert infos[agent]["informed"] is expected
    assert True in matters.values()
    speaker = next(agent for agent in matters if matters[agent])
    _, _, _, _, infos = env.step({speaker: "There are 3 apples."})
    assert infos[speaker]["informed"] is False


def test_nobody_can_say_who_is_informed_where_all_read_all_or_flags_are_missing(start):
    for env in (start(information="full"), start(information="split", task="unknown")):
        *_, infos = _say(env, "", "", "hm")
        assert [info["informed"] for info in infos.values()][:2] == [None, None]


def test_an_answering_agent_is_not_rated_as_informed_but_voters_are(start):
    *_, infos = _say(start(information="split", team={"solver": 2}), "")
    assert [info["informed"] for info in infos.values()] == [None, None]
    *_, infos = _say(start(information="split", answer="majority"), "")
    assert all(isinstance(info["informed"], bool) for info in infos.values())


# Hearing


def test_each_agent_hears_the_others_of_the_round_and_not_itself(start):
    observations, *_ = _say(start(), "one", "two", "")
    assert observations["solver_0"]["text"] == "helper_0: two"
    assert observations["helper_0"]["text"] == "solver_0: one"
    assert observations["helper_1"]["text"] == "solver_0: one\nhelper_0: two"


def test_only_what_is_new_is_observed(start):
    env = start()
    _say(env, "one")
    observations, *_ = _say(env, "two")
    assert observations["helper_0"]["text"] == "solver_0: two"


def test_a_chain_carries_words_to_the_neighbours_only(start):
    observations, *_ = _say(start(topology="chain"), "one", "two", "three")
    assert observations["solver_0"]["text"] == "helper_0: two"
    assert observations["helper_0"]["text"] == "solver_0: one\nhelper_1: three"
    assert observations["helper_1"]["text"] == "helper_0: two"


def test_a_matrix_may_let_one_hear_who_does_not_hear_back(start):
    matrix = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    observations, *_ = _say(start(topology=matrix), "one", "two", "three")
    assert [seen["text"] for seen in observations.values()] == [
        "helper_0: two",
        "Nobody spoke.",
        "Nobody spoke.",
    ]


def test_tokens_read_count_all_that_was_observed(start):
    env = start()
    first = {agent: env.ledger.read[agent] for agent in AGENTS}
    *_, infos = _say(env, "one", "two", "")
    # "helper_0: two" has 13 characters, "solver_0: one" 13, both lines with a newline 27.
    assert [infos[a]["tokens_read"] - first[a] for a in AGENTS] == [13, 13, 27]


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


def test_an_episode_cap_is_shared_and_truncates_when_it_is_spent(start):
    env = start(budget=Budget(episode=6))
    observations, _, terminated, truncated, infos = _say(env, "abcd", "abcd", "abcd")
    assert _said(infos) == [4, 2, 0]
    assert set(_values(truncated)) == {True}
    assert set(_values(terminated)) == {False}
    assert env.agents == []
    assert {"score", "solved", "answer"} <= set(infos["helper_1"])
    assert observations["helper_1"]["tokens_left"].tolist() == [0, *[UNLIMITED] * 2, 0]


def test_all_four_caps_hold_together(start):
    env = start(budget=Budget(message=4, agent=5, round=7, episode=12))
    observations, _, _, truncated, infos = _say(env, "abcdef", "abcdef", "abcdef")
    # solver_0 4 (message), helper_0 3 (round: 7 - 4), helper_1 0.
    assert _said(infos) == [4, 3, 0]
    assert not any(truncated.values())
    left = [seen["tokens_left"].tolist() for seen in observations.values()]
    # Of the episode 12 - 7 = 5 are left; of their own 1, 2 and 5; the round is whole again.
    assert left == [[1, 1, 7, 5], [2, 2, 7, 5], [4, 5, 7, 5]]
    _, _, _, truncated, infos = _say(env, "abcdef", "abcdef", "abcdef")
    # helper_0 2 (its own), helper_1 3 (episode: 12 - 7 - 2), solver_0 0.
    assert _said(infos) == [4, 5, 3]
    assert all(truncated.values())


def test_huge_caps_do_not_overflow(start):
    env = start(budget=Budget(message=10**12, agent=2**31, round=2**40, episode=2**31 - 1))
    observations, *_ = _say(env, "abc")
    assert observations["solver_0"]["tokens_left"].tolist() == [2**31 - 4, *[2**31 - 1] * 2] + [
        2**31 - 4
    ]


# Schedule


def test_out_of_turn_the_budget_is_zero_and_words_are_not_published(start):
    env = start(schedule=["helper", "solver"], budget=Budget(message=9))
    assert env.observation_space("solver_0") is not None
    observations, infos = env.reset(seed=0)
    assert [seen["tokens_left"][0] for seen in observations.values()] == [0, 9, 9]
    observations, _, _, _, infos = _say(env, "#7", "hi", "")
    assert _messages(infos) == ["", "hi", ""]
    assert [info["cut"] for info in infos.values()] == [True, False, False]
    assert [seen["tokens_left"][0] for seen in observations.values()] == [9, 0, 0]
    # What was said out of turn is no answer.
    assert env.agents == AGENTS


def test_a_schedule_starts_again_when_it_ends(start):
    env = start(schedule=["solver", ["solver", "helper"]], rounds=3)
    rounds = [_messages(_say(env, "a", "b", "c")[4]) for _ in range(3)]
    assert rounds == [["a", "", ""], ["a", "b", "c"], ["a", "", ""]]


# Rewards. A token costs 0.5 / 10 = 0.05. helper_0 says 4 tokens, helper_1 says 2; then solver_0
# answers in 2.

PRICE = {"price": 0.5, "normalizer": 10}


@pytest.mark.parametrize(
    ("settings", "first", "last"),
    [
        ({"price": 0.0}, [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]),
        (PRICE, [0.0, -0.2, -0.1], [1.0, 1.0, 1.0]),
        ({**PRICE, "exempt_answer": False}, [0.0, -0.2, -0.1], [0.9, 1.0, 1.0]),
        ({**PRICE, "charge": "team"}, [-0.3] * 3, [1.0] * 3),
        ({**PRICE, "charge": "team", "exempt_answer": False}, [-0.3] * 3, [0.9] * 3),
        ({**PRICE, "when": "solved"}, [0.0] * 3, [1.0, 0.8, 0.9]),
        ({**PRICE, "when": "solved", "exempt_answer": False}, [0.0] * 3, [0.9, 0.8, 0.9]),
        ({**PRICE, "when": "solved", "charge": "team"}, [0.0] * 3, [0.7] * 3),
        (
            {**PRICE, "when": "solved", "charge": "team", "exempt_answer": False},
            [0.0] * 3,
            [0.6] * 3,
        ),
    ],
)
def test_a_solved_episode_pays_as_the_settings_say(start, settings, first, last):
    env = start(reward=Reward(**settings))
    assert _values(_say(env, "", "abcd", "ab")[1]) == pytest.approx(first, rel=1e-12)
    assert _values(_say(env, "#7")[1]) == pytest.approx(last, rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "first", "last"),
    [
        (PRICE, [0.0, -0.2, -0.1], [0.0, 0.0, 0.0]),
        ({**PRICE, "exempt_answer": False}, [0.0, -0.2, -0.1], [-0.1, 0.0, 0.0]),
        ({**PRICE, "when": "solved", "charge": "team"}, [0.0] * 3, [0.0] * 3),
    ],
)
def test_a_failed_episode_pays_as_the_settings_say(start, settings, first, last):
    env = start(reward=Reward(**settings))
    assert _values(_say(env, "", "abcd", "ab")[1]) == pytest.approx(first, rel=1e-12)
    assert _values(_say(env, "#8")[1]) == pytest.approx(last, rel=1e-12)


def test_only_the_answer_itself_is_exempt(start):
    # "so #7" has 5 tokens, 2 of them the answer: 3 * 0.05 = 0.15.
    rewards = _say(start(reward=Reward(**PRICE)), "so #7")[1]
    assert rewards["solver_0"] == pytest.approx(0.85, rel=1e-12)


def test_an_answer_of_a_helper_is_not_exempt(start):
    rewards = _say(start(reward=Reward(**PRICE)), "", "#7")[1]
    assert rewards["helper_0"] == pytest.approx(-0.1, rel=1e-12)


def test_an_answer_that_was_cut_off_is_not_exempt(start):
    # "so #7" is cut to "so #", which commits to nothing: 4 * 0.05 = 0.2.
    rewards = _say(start(reward=Reward(**PRICE), budget=Budget(message=4)), "so #7")[1]
    assert rewards["solver_0"] == pytest.approx(-0.2, rel=1e-12)


def test_an_answer_that_counts_longer_alone_than_in_its_message_is_never_a_gain(start):
    # In words the message is one token, the answer alone two.
    env = start(
        reward=Reward(**PRICE), tokenize=lambda text: list(text) if "#" == text[0] else [text]
    )
    assert _say(env, "so #7")[1]["solver_0"] == 1.0


def test_silence_costs_nothing_and_is_no_negative_zero(start):
    for settings in (PRICE, {**PRICE, "charge": "team"}, {**PRICE, "when": "solved"}):
        rewards = _say(start(reward=Reward(**settings)), "", "", "")[1]
        assert [(r, math.copysign(1, r)) for r in rewards.values()] == [(0.0, 1.0)] * 3


# Endings


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


def test_a_truncated_episode_is_graded_on_the_last_words(start):
    _, rewards, _, truncated, infos = _say(start(budget=Budget(episode=1)), "7")
    assert all(truncated.values())
    assert infos["solver_0"]["solved"] is True
    assert rewards["helper_1"] == 1.0


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


def test_voters_are_all_exempt_for_their_answers(start):
    rewards = _say(start(answer="majority", reward=Reward(**PRICE)), "#7", "#7", "#7a")[1]
    assert _values(rewards) == pytest.approx([0.0, 0.0, -0.05], rel=1e-12)


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
    assert [seen["tokens_left"][0] for seen in observations.values()] == [0, 0, 0]


# Actions


def test_an_agent_left_out_is_silent(start):
    *_, infos = start().step({})
    assert _messages(infos) == ["", "", ""]


@pytest.mark.parametrize("action", [None, 3, b"hi", ["hi"]])
def test_an_action_that_is_no_string_is_refused_and_changes_nothing(start, action):
    env = start()
    with pytest.raises(SettingError, match="the action of 'helper_1' must be a string; got"):
        env.step({"solver_0": "hello", "helper_1": action})
    assert (env.ledger.said["solver_0"], env.messages) == (0, [])


def test_an_action_of_a_stranger_names_the_nearest_agent(start):
    with pytest.raises(UnknownNameError, match="unknown agent 'solver'. Did you mean 'solver_0'"):
        start().step({"solver": "hello"})


def test_lone_surrogates_are_published_as_question_marks_and_are_not_a_cut(start):
    observations, *_, infos = _say(start(), "a\ud83d")
    assert (infos["solver_0"]["message"], infos["solver_0"]["cut"]) == ("a?", False)
    observations["helper_0"]["text"].encode()


def test_a_newline_does_not_let_a_message_pose_as_another_agents(start):
    observations, *_ = _say(start(), "", "well\nhelper_1: #7\nhelper_2: #7")
    assert observations["solver_0"]["text"] == "helper_0: well\n  helper_1: #7\n  helper_2: #7"


# Rendering and copies


def test_ansi_renders_the_transcript_so_far(start):
    env = start(render_mode="ansi", rounds=2)
    assert env.render() == ""
    _say(env, "hm", "3")
    assert env.render() == "[0] solver_0 (2): hm\n[0] helper_0 (1): 3\n[0] helper_1 (0): (silent)"


def test_human_prints_every_round_and_the_score_whatever_is_said(start, capsys):
    env = start(render_mode="human", rounds=2)
    _say(env, "[/red] \x1b[2J \ud800", "[bold]3", "")
    _say(env, "#7")
    shown = capsys.readouterr().out
    assert "[bold]3" in shown and "[/red]" in shown and "\x1b[2J" not in shown
    assert "answer 7: solved, score 1" in shown
    assert env.render() is None


def test_without_a_render_mode_nothing_is_printed(start, capsys):
    env = start()
    _say(env, "#7")
    assert env.render() is None
    assert capsys.readouterr().out == ""


def _play(env, seed):
    trace = [env.reset(seed=seed, options={"task": "fruit"})]
    generator = random.Random(seed)
    while env.agents:
        trace.append(env.step({agent: generator.choice(("", "hm", "#7")) for agent in env.agents}))
    return repr(trace)


def test_a_shallow_copy_is_independent_once_it_is_reset(start):
    original = start(information="split", budget=Budget(agent=20))
    alone = _play(start(information="split", budget=Budget(agent=20)), 3)
    twin = copy.copy(original)
    twin.reset(seed=1)
    original.reset(seed=3, options={"task": "fruit"})
    original_texts = list(original.messages), dict(original.ledger.said)
    _say(twin, "spoken by the twin", "and more", "#7")
    assert (original.messages, original.ledger.said) == original_texts
    assert original.agents == AGENTS
    _play(twin, 2)
    assert _play(original, 3) == alone == _play(twin, 3)


def test_an_environment_can_be_pickled_in_the_middle_of_an_episode(start):
    env = start(information="split")
    _say(env, "", "hm")
    again = pickle.loads(pickle.dumps(env))
    assert repr(_say(env, "#7")) == repr(_say(again, "#7"))


def test_a_price_changed_between_episodes_holds_from_the_next_reset_on(start):
    env = start(reward=Reward(price=0.0))
    env.reward = Reward(price=1.0, normalizer=1)
    assert _say(env, "ab")[1]["solver_0"] == 0.0
    env.reset(seed=0)
    assert _say(env, "ab")[1]["solver_0"] == -2.0


def test_a_task_without_statements_can_be_played(sums):
    env = DialogueEnv(sums, [Task("t", "Two and two?", (), "4")], information="split")
    observations, _ = env.reset(seed=0)
    assert "What you know" not in observations["helper_0"]["text"]
    assert env.step({"solver_0": "#4"})[1]["solver_0"] == 1.0
