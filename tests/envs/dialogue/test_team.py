"""Behavior that all environments share, tested on one that only talks."""

from __future__ import annotations

import pytest

from laconic.envs.contract import check_env
from laconic.envs.dialogue.briefing import InitialPrompt, Rules
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.reward import Outcome, Reward
from laconic.envs.dialogue.roster import Roster
from laconic.envs.dialogue.team import TeamEnv
from laconic.envs.task import Task


class Chat(TeamEnv):
    """Two agents talk for three rounds; the first earns 1 in each."""

    def __init__(self, **settings):
        budget = settings.pop("budget", Budget())
        roster = Roster.of({"a": 1, "b": 1}, "complete", "all", "majority", 3)
        defaults = {
            "reward": None,
            "tokens_left": "all",
            "instructions": "brief",
            "tokenize": list,
            "render_mode": None,
        }
        rules = Rules(roster, 3, budget, priced=False)
        super().__init__([Task("chat", "", (), "")], rules, **defaults | settings)

    def _begin(self, generator):
        pass

    def _openings(self):
        return {agent: InitialPrompt("All.", agent) for agent in self.agents}

    def _resolve(self):
        earned = {"a_0": 1.0, "b_0": 0.0}
        over = self.round == 2
        return Outcome(
            self._account.settle(earned, self._charged(), due=False), None, "rounds" if over else ""
        )

    def _own_info(self, agent):
        return {}


def test_a_subclass_of_a_few_lines_keeps_the_contract():
    check_env(Chat)
    check_env(lambda: Chat(budget=Budget(2, 4, 3, 5), reward=Reward(price=1.0, charge="team")))


def test_what_was_said_is_heard_charged_and_cut():
    env = Chat(reward=Reward(price=1.0, normalizer=10), budget=Budget(message=3))
    assert (env.metadata["charge"], env.metadata["max_reward"]) == ("own", 1.0)
    observations, infos = env.reset(seed=0)
    assert observations["b_0"]["text"] == "All.\nb_0" and infos["b_0"]["general"] == "All."
    observations, rewards, _, _, infos = env.step({"a_0": "Hello", "b_0": "<think>ab</think>Hi"})
    assert observations["b_0"]["text"] == "a_0: Hel" and infos["a_0"]["cut"]
    # 3 of 10 tokens; 2 said and 2 thought.
    assert rewards == pytest.approx({"a_0": 0.7, "b_0": -0.4}, rel=1e-12)
    assert env.offered("a_0") is None


def test_only_what_says_what_comes_of_a_round_can_be_made():
    with pytest.raises(TypeError, match="abstract"):
        TeamEnv([], None)
