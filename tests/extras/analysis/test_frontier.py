"""Frontiers worked out by hand, by enumeration, and met by scripted teams to the token."""

from __future__ import annotations

import math

import numpy as np
import pytest

from laconic import envs
from laconic.envs.dialogue.budget import split_words
from laconic.envs.task import Task
from laconic.extras.analysis.frontier import (
    Floors,
    Frontier,
    coded,
    enumerated,
    floors,
    guessed,
    spoken,
)

SPLIT = {"information": "split", "topology": "star", "schedule": ["helper", "solver"]}


@pytest.mark.parametrize("colors", [2, 3, 4, 5])
def test_all_codebooks_together_are_the_closed_form(colors):
    frontier = enumerated([1 / colors] * colors, [1.0] * colors)
    closed = coded(1 / colors)
    np.testing.assert_allclose(frontier.corners, closed.corners, atol=1e-12)
    # Accuracy 1 takes a word for all colors but the one that silence tells.
    assert frontier.tokens(1.0) == pytest.approx(1 - 1 / colors)
    assert frontier.best_return(0.1) == pytest.approx(1 - 0.1 * (1 - 1 / colors))


@pytest.mark.parametrize(("colors", "expected"), [(2, 0.95), (3, 0.93333), (4, 0.925), (5, 0.92)])
def test_the_best_returns_are_those_of_the_game(colors, expected):
    # A word is said for all colors but the one that silence tells: 1 - 0.1 * (1 - 1 / colors).
    assert coded(1 / colors).best_return(0.1) == pytest.approx(expected, abs=5e-6)
    # Above 1 a word costs more than a solved task brings.
    assert coded(1 / colors).best_return(1.1) == pytest.approx(1 / colors)
    assert coded(1 / colors).best_return(0.9) > 1 / colors


def test_silence_codes_the_likeliest_content_and_short_words_the_next():
    # .5 told by silence, .3 and .2 by words of 1 and 3 tokens; or both of 1 where there are two.
    corners = enumerated([0.5, 0.3, 0.2], [1.0, 3.0]).corners
    np.testing.assert_allclose(corners, ((0.0, 0.5), (0.3, 0.8), (0.9, 1.0)), atol=1e-12)
    assert enumerated([0.5, 0.3, 0.2], [1.0, 1.0]).tokens(1.0) == pytest.approx(0.5)
    assert enumerated([1.0], [1.0]).corners == ((0.0, 1.0),)


def test_between_corners_a_frontier_mixes_and_above_them_it_is_infinite():
    frontier = Frontier.of([(0.0, 0.25), (0.75, 1.0), (0.5, 0.3), (0.0, 0.1), (2.0, 1.0)])
    assert frontier.corners == ((0.0, 0.25), (0.75, 1.0))
    assert frontier.tokens(0.0) == frontier.tokens(0.25) == 0.0
    assert frontier.tokens(0.625) == pytest.approx(0.375)
    assert frontier.tokens(1.0) == 0.75
    assert coded(0.5).answered(1.0).corners == ((0.0, 0.0), (0.5, 0.5), (1.5, 1.0))
    assert Frontier.of([(0.0, 0.2), (1.0, 0.4)]).tokens(0.5) == math.inf


def test_guesses_are_the_most_common_answer_of_each_question():
    tasks = [
        Task(str(place), question, (), answer)
        for place, (question, answer) in enumerate(
            [("a", "1"), ("a", "1"), ("a", "2"), ("b", "2"), ("b", "3")]
        )
    ]
    assert guessed(tasks) == (2 + 1) / 5


def test_the_cheapest_tasks_are_solved_first():
    def task(key: str, fact: str) -> Task:
        return Task(key, "q", (fact, "It rains."), "7", (True, False))

    frontier = spoken([task("a", "one two three"), task("b", "one")], split_words, str)
    # `#### 7` has five of these tokens beside the fact's.
    answer = len(split_words("#### 7"))
    assert frontier.corners == (
        (0.0, 0.0),
        ((1 + answer) / 2, 0.5),
        ((4 + 2 * answer) / 2, 1.0),
    )


def played(env, script: str) -> float:
    """Mean tokens of a scripted team that solves all."""
    from laconic.learners.agents.scripted import ScriptedTeam
    from laconic.learners.rollout.play import Start, play

    starts = [Start(seed, key) for seed, key in enumerate(env.tasks)]
    episodes = play([env], ScriptedTeam(script).policies(env), starts, seed=0)
    assert all(episode.solved for episode in episodes)
    return sum(sum(episode.tokens_said.values()) for episode in episodes) / len(episodes)


@pytest.mark.parametrize("name", ["signal", "gsm8k", "math"])
def test_the_scripts_meet_their_bounds_and_stay_above_the_coded_one(name):
    env = envs.make(name, free=True, split="evaluation", tasks=30, **SPLIT)
    frontiers = floors(env, telegraphic=True)
    assert played(env, "oracle") == pytest.approx(frontiers["verbatim"].tokens(1.0))
    assert played(env, "telegraph") == pytest.approx(frontiers["telegraphic"].tokens(1.0))
    ordered = [frontiers[code].tokens(1.0) for code in ("coded", "telegraphic", "verbatim")]
    assert ordered == sorted(ordered) and ordered[0] >= 1.0


def test_the_coded_bound_of_signal_is_the_exact_frontier_of_its_tasks():
    env = envs.make("signal", free=True, split="evaluation", tasks=400, **SPLIT)
    share = guessed(tuple(env.tasks.values()))
    corners = ((0.0, 0.0), (share, share), (2 - share, 1.0))
    np.testing.assert_allclose(floors(env)["coded"].corners, corners)
    assert Floors().begin(env)["floors"]["coded"] == floors(env)["coded"].corners
    # On 400 tasks a colour of ten things comes up more often than one time in four.
    assert 0.25 < share < 0.4


@pytest.mark.parametrize(
    "settings",
    [
        {"information": "full"},
        {"information": "split", "answer": "majority"},
    ],
)
def test_without_split_information_there_is_no_frontier(settings):
    assert floors(envs.make("signal", free=True, tasks=5, **settings)) == {}
    assert floors(object()) == {}


@pytest.mark.slow
def test_no_script_lies_below_the_coded_bound_on_ten_thousand_tasks():
    more = {"generator": {"distractors": 4}, **SPLIT}
    env = envs.make("signal", free=True, split="evaluation", tasks=10_000, **more)
    assert 0.25 < guessed(tuple(env.tasks.values())) < 0.29
    for script in ("oracle", "telegraph"):
        assert played(env, script) >= floors(env)["coded"].tokens(1.0)
