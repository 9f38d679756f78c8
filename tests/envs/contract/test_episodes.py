"""Episodes that are played to check a contract."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from laconic import envs
from laconic.envs.contract.episodes import (
    Maker,
    PlayedEpisode,
    Transition,
    difference,
    play,
    random_action,
    require,
    saying,
)
from laconic.envs.errors import ContractError


@pytest.fixture
def make():
    """Makes one small environment of two agents and three rounds."""
    return lambda: envs.make("gsm8k", free=True, tasks=2, team={"solver": 1, "helper": 1}, rounds=3)


def test_an_episode_has_its_reset_and_every_step_with_who_was_there(make):
    episode = play(make(), 0, saying("one"))
    # Nobody commits to an answer and all speak, so all three rounds are played.
    assert len(episode.steps) == 3 and len(list(episode)) == 4
    agents = ("solver_0", "helper_0")
    assert (episode.start.alive, episode.start.remaining) == ((), agents)
    assert [step.alive for step in episode.steps] == [agents] * 3
    assert [step.remaining for step in episode.steps] == [agents, agents, ()]
    assert episode.steps[-1].infos["helper_0"]["tokens_said"] == 3
    assert "helper_0: one" in episode.steps[0].observations["solver_0"]["text"]


def test_what_is_sampled_follows_from_the_seed_and_the_first_difference_is_told(make):
    episode, same, other = (play(make(), seed, random_action) for seed in (5, 5, 6))
    assert difference(episode, same) == ""
    assert difference(episode, other).startswith("different after 0 steps")
    messages = play(make(), 5, saying("a")), play(make(), 5, saying("b"))
    assert difference(*messages).startswith("different after 1 steps")


def test_all_rules_read_one_sampled_episode_of_a_seed(make):
    maker = Maker(make)
    env, episode = maker.sampled(5)
    assert maker.sampled(5)[1] is episode and maker() is not env
    assert difference(episode, play(make(), 5, random_action)) == ""
    assert difference(episode, maker.sampled(6)[1])


@dataclass
class Seen:
    """A record of a user that stands in infos."""

    at: np.ndarray


def test_records_within_infos_are_compared_by_their_fields():
    def episode(*at):
        infos = {"a_0": {"seen": [Seen(np.array(at))]}}
        return PlayedEpisode(Transition((), ({}, infos), ("a_0",)), ())

    assert difference(episode(1, 2), episode(1, 2)) == ""
    assert difference(episode(1, 2), episode(1, 3)).startswith("different after 0 steps")


def test_a_broken_rule_is_told_by_the_first_line_of_its_docstring():
    def rule():
        """Nothing breaks.

        More words.
        """

    require(True, rule, "this")
    with pytest.raises(ContractError, match=r"^Nothing breaks\. Agent 'a_0': got this$"):
        require(False, rule, "this", "a_0")
