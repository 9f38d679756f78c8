"""What a card says of the best team, and of teams that try to be paid without knowing anything."""

from __future__ import annotations

from typing import Any

import pytest

from laconic import envs
from laconic.envs.task import Score
from laconic.experiments.run_folder.records import Evaluation
from laconic.experiments.session.evaluation import evaluation_starts
from laconic.extras.benchmark.exploits import ATTACKS, attack
from laconic.extras.benchmark.results import reached
from laconic.extras.benchmark.sets import frontier_of


def _solved(env: Any, name: str) -> float:
    episodes = attack([env], evaluation_starts([env], 10), name)
    return sum(episode.solved for episode in episodes) / len(episodes)


def test_a_lenient_grader_is_exploited_and_the_shipped_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    env = envs.make("gsm8k", tasks=10, budget=None)
    assert {name: _solved(env, name) for name in ("all answers", "flood")} == {
        "all answers": 0.0,
        "flood": 0.0,
    }

    def find(self: Any, task: Any, answers: Any) -> Score:
        solved = any(task.answer in text.split() for text in answers.values())
        return Score(float(solved), solved, "")

    monkeypatch.setattr(type(env.unwrapped.benchmark), "score", find)
    small = sum(0 <= int(task.answer) < 100 for task in env.tasks.values()) / len(env.tasks)
    assert _solved(env, "all answers") == small > 0
    assert _solved(env, "flood") == 0.0


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_say_something_in_every_turn(name: str) -> None:
    env = envs.make("signal", tasks=2)
    (episode, *_) = attack([env], evaluation_starts([env], 2), name)
    assert all(turn.message for turn in episode.turns)


def test_the_best_team_is_that_of_the_sets() -> None:
    assert frontier_of("signal") == "coded" and frontier_of("gsm8k") is None
    evaluation = Evaluation(0, 1, {}, floors={"coded": [[0.0, 0.0], [1.6, 1.0]]})
    # 1 - 1.6 x 0.12 / 5 = 0.9616.
    best = reached(evaluation, {"price": 0.12, "normalizer": 5}, "coded")
    assert best == {"coded frontier": pytest.approx(0.9616)}
    assert reached(evaluation, {"price": 0.12, "normalizer": 5}, None) == {}
