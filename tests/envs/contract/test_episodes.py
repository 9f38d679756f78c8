"""Episodes that are played to check a contract."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.contract.episodes import difference, play, random_action, require, saying
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


def test_a_broken_rule_is_told_by_the_first_line_of_its_docstring():
    def rule():
        """Nothing breaks.

        More words.
        """

    require(True, rule, "this")
    with pytest.raises(ContractError, match=r"^Nothing breaks\. Agent 'a_0': got this$"):
        require(False, rule, "this", "a_0")
