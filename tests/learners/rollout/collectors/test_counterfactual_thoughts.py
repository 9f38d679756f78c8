"""The credit of thoughts: a thought goes with its message, and before silence it costs."""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.reward import Reward
from laconic.learners.interfaces import Reply
from laconic.learners.rollout.collectors.counterfactual import silence
from laconic.learners.rollout.play import Start


class Thinkers:
    """The helper thinks and is silent; the solver thinks and answers."""

    def reply(self, requests, *, seed, greedy):
        replies = {"helper_0": Reply("", thought="abcd"), "solver_0": Reply("#### 7", thought="ab")}
        return [replies[request.agent] for request in requests]


@pytest.mark.parametrize(("weight", "helper", "solver"), [(1.0, 0.4, 0.2), (0.0, 0.0, 0.0)])
def test_credits_hold_the_price_of_thoughts(make_env, weight, helper, solver):
    # The team earns 1, the answer is free, a character thought costs a tenth: 0.4 and 0.2.
    # Without the helper's thought 0.4 less is billed; without the solver's thought and answer
    # nothing is earned and 0.2 less is billed.
    price = Reward(price=1.0, normalizer=10.0, thought_weight=weight)
    env = make_env(team={"solver": 1, "helper": 1}, rounds=1, tokenize=list, reward=price)
    collector = silence()
    policies = dict.fromkeys(env.possible_agents, Thinkers())
    (group,) = collector([env], policies, [Start(0, "fruit")], 2, seed=0)
    for episode in group.episodes:
        results = {turn.agent: turn.credit for turn in episode.turns}
        assert results["helper_0"] == pytest.approx((0.0, helper))
        assert results["solver_0"] == pytest.approx((1.0, solver))
        assert episode.tokens_thought == {"solver_0": 2, "helper_0": 4}
