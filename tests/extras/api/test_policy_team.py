"""One model behind a server replies for a whole team."""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.budget import split_words
from laconic.envs.errors import SettingError
from laconic.extras.api.policy import ApiTeam
from laconic.extras.api.settings import Prices, RequestLimits
from laconic.learners.agents.recipes import SHIPPED
from laconic.learners.rollout.play import Start, play

QUICK = RequestLimits(attempts=3)


def test_all_agents_share_one_policy_and_one_client(make_env):
    team = ApiTeam("m")
    first, second = team.policies(make_env()), team.policies(make_env())
    assert list(first) == make_env().possible_agents and len(set(first.values())) == 1
    (policy,), (again,) = set(first.values()), set(second.values())
    assert policy is not again and policy._client is again._client


def test_a_wrong_address_is_refused_before_any_request():
    with pytest.raises(SettingError, match="base_url must be an address"):
        ApiTeam("m", "localhost:8000")


def test_a_team_plays_whole_episodes_with_their_usage(fault_server, make_env):
    team = ApiTeam("m", fault_server.base_url, limits=QUICK, prices=Prices(prompt=1.0))
    fault_server.say = lambda body: "#### 7" if "solver" in body["messages"][0]["content"] else "hm"
    environments = [make_env(rounds=1) for _ in range(2)]
    policies = team.policies(environments[0])
    starts = [Start(0, "fruit"), Start(1, "birds")]
    fruit, birds = play(environments, policies, starts, seed=0, greedy=True)
    assert (fruit.solved, birds.solved) == (True, False)
    assert fault_server.calls == len(fruit.turns) + len(birds.turns) == 8
    assert all(turn.usage.prompt_tokens == 10 for turn in fruit.turns)
    assert all(turn.reply_ids == () for turn in fruit.turns)


def test_budgets_are_counted_in_words_or_in_the_tokens_of_a_tokenizer():
    assert ApiTeam("m").tokenize is split_words
    tokenize = ApiTeam("m", tokenizer=str(SHIPPED)).tokenize
    assert "".join(tokenize("Anna has 12 apples.")) == "Anna has 12 apples."
    with pytest.raises(SettingError, match="agent.tokenizer='/none'"):
        _ = ApiTeam("m", tokenizer="/none").tokenize
