"""Scripted voters play in trees, where the closed forms predict what they reach."""

from __future__ import annotations

from functools import cache

import pytest

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.extras.analysis.synergy import Vote
from laconic.extras.analysis.voter import VoterTeam, tree
from laconic.learners.metrics import wilson
from laconic.learners.rollout.play import Start, play

COLORS = {"colors": 2, "distractors": 3}
LARGE = "of 3 and 9"
BINARY = {"solver": 1, "middle": 2, "leaf": 4}
# Trees by name: number of votes of each agent above the leaves, depth, settings.
TREES = {
    "star of 4": (4, 1, {"topology": "star", "team": {"solver": 1, "helper": 4}, "rounds": 2}),
    "binary": (2, 2, {"topology": "tree", "team": BINARY, "rounds": 3}),
    LARGE: (3, 2, tree(3, 2)),
}
SCHEDULES = {"star of 4": ["helper", "solver"], "binary": ["leaf", "middle", "solver"]}
# Accuracy of a voter, ρ and γ.
VOTERS = ((0.7, 0.0, 1.0), (0.65, 0.3, 0.8), (0.8, 0.15, 0.6))
EPISODES = 500


@cache
def environments(name: str):
    settings = TREES[name][2] | {"information": "full"}
    if name in SCHEDULES:
        settings |= {"schedule": SCHEDULES[name]}
    return [
        envs.make("signal", free=True, tasks=EPISODES, generator=COLORS, **settings)
        for _ in range(10)
    ]


def episodes(name: str, voters: tuple[float, float, float], seed: int = 0):
    made = environments(name)
    starts = [Start(number, key) for number, key in enumerate(made[0].tasks)]
    return play(made, VoterTeam(*voters).policies(made[0]), starts, seed=seed)


def predicted(name: str, voters: tuple[float, float, float]) -> float:
    """Return the accuracy of the root."""
    fan_in, depth, _ = TREES[name]
    accuracy, shared, fidelity = voters
    return (1 + Vote(fan_in, fidelity, shared).by_depth(2 * accuracy - 1, depth)[-1]) / 2


@pytest.mark.parametrize("voters", VOTERS, ids=str)
@pytest.mark.parametrize("name", [*SCHEDULES, pytest.param(LARGE, marks=pytest.mark.slow)])
def test_the_prediction_is_inside_the_interval(name, voters):
    solved = sum(bool(episode.solved) for episode in episodes(name, voters))
    low, high = wilson(solved, EPISODES)
    assert low <= predicted(name, voters) <= high


def test_the_predictions_differ_by_more_than_an_interval():
    # Nine cells that all trees or all voters share would say little. 500 episodes tell 0.045.
    table = [[predicted(name, voters) for name in TREES] for voters in VOTERS]
    assert table == [
        pytest.approx(row, abs=5e-4)
        for row in (
            # p = 0.7: p^3 + 3 p^2 q = .784; two votes are as good as one; .784 again: .8802.
            (0.7840, 0.7000, 0.8802),
            # u = .3, γ u = .24: .3 * .24 + .7 * f_3(.24), f_3(.24) = .36 - .0069 = .3531.
            (0.6596, 0.5960, 0.6694),
            # u = .6, γ u = .36: .15 * .36 + .85 * f_3(.36), f_3(.36) = .54 - .0233 = .5167.
            (0.7466, 0.6080, 0.7053),
        )
    ]


def test_siblings_share_a_vote_with_its_flip():
    # ρ is the correlation of the messages of siblings. They are all equal with probability
    # ρ + (1 - ρ) (h^4 + (1 - h)^4), where h = (1 + γ u) / 2 = .62 of accuracy .65 and γ = .8.
    played = episodes("star of 4", (0.65, 0.3, 0.8))
    equal = sum(len({turn.message for turn in each.turns[:4]}) == 1 for each in played)
    low, high = wilson(equal, EPISODES)
    assert low <= 0.3 + 0.7 * (0.62**4 + 0.38**4) <= high


def test_all_agents_of_a_ballot_vote_by_themselves():
    settings = {"team": {"solver": 5}, "answer": "majority", "rounds": 1, "topology": "none"}
    made = [
        envs.make("signal", free=True, tasks=EPISODES, generator=COLORS, **settings)
        for _ in range(10)
    ]
    starts = [Start(number, key) for number, key in enumerate(made[0].tasks)]
    # A ballot is no message, so nothing is flipped.
    policies = VoterTeam(0.7, 0.4, 0.5).policies(made[0])
    solved = sum(bool(each.solved) for each in play(made, policies, starts, seed=0))
    low, high = wilson(solved, EPISODES)
    assert low <= (1 + Vote(5, 1.0, 0.4)(0.4)) / 2 <= high


def test_the_first_vote_decides_a_tie_and_certain_voters_are_certain():
    assert all(each.solved for each in episodes("binary", (1.0, 0.0, 1.0)))
    assert not any(each.solved for each in episodes("binary", (0.0, 0.0, 1.0)))
    for each in episodes("star of 4", (0.5, 0.0, 1.0))[:50]:
        votes = [turn.message for turn in each.turns[:4]]
        assert each.turns[4].message == max(votes, key=votes.count)


def test_equal_seeds_play_equal_votes():
    first, again, other = (episodes("binary", VOTERS[1], seed) for seed in (3, 3, 4))
    assert [e.solved for e in first] == [e.solved for e in again] != [e.solved for e in other]


def test_a_tree_is_laid_out_level_by_level():
    settings = tree(3, 2)
    assert settings["team"] == {"solver": 1, "level1": 3, "level2": 9}
    assert settings["schedule"] == ["level2", "level1", "solver"] and settings["rounds"] == 3
    (hears,) = envs.make("signal", free=True, tasks=2, **settings).hearing
    assert hears["solver_0"] == ("level1_0", "level1_1", "level1_2")
    assert hears["level1_1"] == ("level2_3", "level2_4", "level2_5") and hears["level2_3"] == ()
    assert sum(map(len, hears.values())) == 12


def test_wrong_settings_are_refused():
    with pytest.raises(SettingError, match="agent.fidelity must be"):
        VoterTeam(fidelity=1.5)
    with pytest.raises(SettingError, match="depth must be"):
        tree(3, 0)
    with pytest.raises(SettingError, match="questions with different answers"):
        VoterTeam().policies(envs.make("signal", free=True, tasks=1))
