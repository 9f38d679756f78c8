"""Fresh weights: the same seed makes the same policy, whose tokenizer has learned the game."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from laconic import envs
from laconic.envs.dialogue.budget import split_words
from laconic.envs.errors import SettingError
from laconic.learners.agents.recipes import SILENCE
from laconic.learners.agents.tiny.new import ModelConfig, NewTeam
from laconic.learners.rollout.play import Start, play

CONFIG = ModelConfig(vocabulary=400, hidden=16, layers=1, heads=2, intermediate=16)


@pytest.fixture(scope="module")
def env():
    return envs.make("gsm8k", tasks=20, generator={"level": [1, 8]})


@pytest.fixture(scope="module")
def team(env):
    team = NewTeam(model_config=CONFIG, seed=1)
    return team, team.policies(env)


def test_one_policy_speaks_for_all_and_knows_the_silence_word(env, team):
    _, policies = team
    assert list(policies) == env.possible_agents
    (policy,) = set(policies.values())
    assert policy.parse(policy.write(""))[0] == ""
    assert SILENCE in policy.tokenizer.all_special_tokens
    (episode,) = play([env], policies, [Start(0)], seed=0)
    assert all(turn.reply_ids for turn in episode.turns)


def test_words_of_the_game_take_few_tokens(env, team):
    maker, policies = team
    text = "Well, my part of the problem says:"
    tokenizer = policies["solver_0"].tokenizer
    assert "".join(maker.tokenize(text)) == text
    assert len(maker.tokenize(text)) == len(tokenizer.encode(text)) < len(text) / 1.5


def test_acts_take_few_tokens_and_long_conversations_their_positions():
    env = envs.make("commons", free=True, tasks=4, months=3, talk_rounds=1, instructions="brief")
    team = NewTeam(model_config=replace(CONFIG, positions=2048))
    policy = team.policies(env)["fisher_0"]
    # `>`, ` catch`, and a digit each.
    assert len(team.tokenize("> catch 10")) == 4
    assert policy.model.config.max_position_embeddings == 2048


def test_tokens_are_words_until_there_is_a_tokenizer():
    assert list(NewTeam().tokenize("a bee")) == list(split_words("a bee"))


def test_equal_seeds_make_equal_weights(env, team):
    again = NewTeam(model_config=CONFIG, seed=1).policies(env)["solver_0"]
    other = NewTeam(model_config=CONFIG, seed=2).policies(env)["solver_0"]
    mine = team[1]["solver_0"].weights()
    assert all(torch.equal(mine[name], parameter) for name, parameter in again.weights().items())
    assert not all(
        torch.equal(mine[name], parameter) for name, parameter in other.weights().items()
    )


def test_what_a_warm_start_left_speaks_again(env, team, tmp_path):
    policy = team[1]["solver_0"]
    policy.save(tmp_path)
    again = NewTeam(model=str(tmp_path), seed=5)
    text = "Well, my part of the problem says:"
    assert list(again.tokenize(text)) == list(team[0].tokenize(text))
    loaded = again.policies(env)
    assert list(loaded) == env.possible_agents
    mine = policy.weights()
    assert all(
        torch.equal(mine[name], parameter)
        for name, parameter in loaded["solver_0"].weights().items()
    )


def test_an_environment_without_tasks_teaches_no_words():
    class Bare:
        possible_agents = ["a_0"]

    with pytest.raises(SettingError, match="needs an environment with `tasks`"):
        NewTeam(model_config=CONFIG).policies(Bare())
