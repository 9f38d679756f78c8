"""Rewards of a dialogue.

The team: solver_0, helper_0 and helper_1; one character is one token. `#7` commits to the
answer, in two tokens.
"""

from __future__ import annotations

import math

import pytest

from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.reward import Reward


def _say(env, *texts):
    """Play one round in which the agents say these texts, in their order."""
    return env.step(dict(zip(env.possible_agents, texts, strict=False)))


def _values(returned):
    return list(returned.values())


# A token costs 0.5 / 10 = 0.05. helper_0 says 4 tokens, helper_1 says 2; then solver_0
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
    # The message is one token, the answer alone two.
    def words(text):
        return list(text) if text[0] == "#" else [text]

    env = start(reward=Reward(**PRICE), tokenize=words)
    assert _say(env, "so #7")[1]["solver_0"] == 1.0


def test_voters_are_all_exempt_for_their_answers(start):
    rewards = _say(start(answer="majority", reward=Reward(**PRICE)), "#7", "#7", "#7a")[1]
    assert _values(rewards) == pytest.approx([0.0, 0.0, -0.05], rel=1e-12)


def test_silence_costs_nothing_and_is_no_negative_zero(start):
    for settings in (PRICE, {**PRICE, "charge": "team"}, {**PRICE, "when": "solved"}):
        rewards = _say(start(reward=Reward(**settings)), "", "", "")[1]
        assert [(r, math.copysign(1, r)) for r in rewards.values()] == [(0.0, 1.0)] * 3


def test_where_every_round_earns_the_score_an_early_answer_earns_as_much_as_a_late_one(start):
    # Three rounds: the right answer at once earns 3 scores of 1, in the last one it earns 1 ...
    early = start(reward=Reward(paid="round"))
    assert _say(early, "#7")[1]["solver_0"] == 3.0
    # ... and 7 said without committing to it earns 1 each round, which is no more.
    held_back = start(reward=Reward(paid="round"))
    assert [_say(held_back, "7", "a")[1]["solver_0"] for _ in range(3)] == [1.0] * 3
    # A team that falls silent in the second round has two scores to come.
    silent = start(reward=Reward(paid="round"))
    assert [_say(silent, text)[1]["solver_0"] for text in ("7", "")] == [1.0, 2.0]


def test_what_is_heard_when_an_episode_is_over_is_no_token_read(start):
    env = start()
    first = _say(env, "one", "two")[-1]["solver_0"]["tokens_read"]
    observations, *_, infos = _say(env, "#7", "three")
    assert observations["solver_0"]["text"] == "helper_0: three"
    assert infos["solver_0"]["tokens_read"] == first
