"""The engine of this process changes nothing; continuous batching samples as the model does."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from engine_checks import scores

from laconic.envs.dialogue.messages import SilenceWord
from laconic.envs.errors import SettingError
from laconic.learners.agents.chat import ReplyEnd
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.engines import batched
from laconic.learners.engines.base import Engine, model_policies
from laconic.learners.engines.batched import Batched, BatchedSampler
from laconic.learners.interfaces import AsyncSampler, Prompt, SampledReply, Sampler


def test_the_own_engine_leaves_policies_and_groups_unchanged(make_team, play_groups, tmp_path):
    policies = make_team()
    before = play_groups(policies)
    with Engine() as engine:
        engine.open(policies, tmp_path)
        engine.sync()
        assert play_groups(policies) == before
        assert (engine.metrics(), engine.version, engine.sync_overwrites) == ({}, None, False)
    assert all(policy.sampler is None for policy in policies.values())
    turns = [turn for episode in before[0].episodes for turn in episode.turns]
    assert {turn.version for turn in turns} == {None}


def test_policies_are_listed_once_under_their_first_agent(make_team, make_env):
    assert list(model_policies(make_team("shared"))) == ["solver_0"]
    assert list(model_policies(make_team("lora"))) == ["solver_0", "helper_0"]
    with pytest.raises(SettingError, match=r"has only .*\. Set engine=own"):
        model_policies(ScriptedTeam("silent").policies(make_env()))


def test_continuous_batching_samples_whole_rounds(make_team, tmp_path):
    policies = make_team("shared")
    with Batched() as engine:
        engine.open(policies, tmp_path)
        sampler = policies["solver_0"].sampler
        assert isinstance(sampler, Sampler) and not isinstance(sampler, AsyncSampler)


def test_batched_replies_have_the_models_log_probabilities_and_repeat_with_the_seed(
    make_team, play_groups, tmp_path
):
    policies = make_team("shared")
    policy = policies["solver_0"]
    with Batched(page_tokens=16) as engine:
        engine.open(policies, tmp_path)
        assert policy.recompute_logprobs
        groups = play_groups(policies)
        assert groups == play_groups(policies)
    worst = 0.0
    episodes = [episode for group in groups for episode in group.episodes]
    for turn in (turn for episode in episodes for turn in episode.turns):
        if turn.round == 0:
            own = scores(policy, [*turn.prompt_ids, *turn.reply_ids])
            own = own[len(turn.prompt_ids) - 1 :]
            pairs = zip(own, turn.behavior_logprobs, strict=True)
            worst = max(worst, *(abs(a - b) for a, b in pairs))
    assert 0 < worst < 1e-4
    assert policy.sampler is None and not policy.recompute_logprobs


def test_batching_settings_are_checked():
    for name in ("page_tokens", "batch_tokens"):
        with pytest.raises(SettingError, match=f"engine.{name}"):
            Batched(**{name: 0})


def test_without_flash_attention_few_conversations_are_sampled_together(make_policy, monkeypatch):
    policy = make_policy()
    sampler = BatchedSampler(policy, 16, 2048)
    prompts = [Prompt((3, row % 2, *range(98)), 28, policy.end_ids, 1.0, row) for row in range(66)]
    # 128 tokens each with its reply, and 4,096 together: 32 at a time.
    calls = list(sampler._calls(prompts))
    assert [len(rows) for rows in calls] == [32, 32, 2]
    # Equal prompts are neighbors.
    assert [row % 2 for rows in calls for row in rows] == [0] * 33 + [1] * 33
    monkeypatch.setattr(batched, "is_flash_attn_2_available", lambda **_: True)
    assert [len(rows) for rows in sampler._calls(prompts)] == [66]


def test_batched_replies_are_cut_after_the_silence_word():
    """The batching supports no stop strings: tokens it sampled after the word are dropped."""

    def text_of(ids):
        return "".join({7: "<silence", 8: "> a"}.get(token, "x") for token in ids)

    end = ReplyEnd(SilenceWord("<silence>"), text_of, lambda token: text_of([token]), (1,))
    prompt = Prompt((3, 4), 6, (1,), 1.0, 0, reply_end=end)
    output = SimpleNamespace(
        prompt_ids=[3, 4], generated_tokens=[6, 7, 8, 5, 5, 1], logprobs=[-1.0, -2.0, -3.0] * 2
    )
    assert batched._reply(output, prompt, 10) == SampledReply((6, 7, 8), (-1.0, -2.0, -3.0))
