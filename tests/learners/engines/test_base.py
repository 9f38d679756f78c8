"""The engine of this process changes nothing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from engine_checks import scores

from laconic.envs.dialogue.silence import SilenceWord
from laconic.envs.errors import SettingError
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.agents.silence import ReplyEnd
from laconic.learners.engines import batched
from laconic.learners.engines.base import Engine, speaking
from laconic.learners.engines.batched import Batched, Pages
from laconic.learners.interfaces import AsyncSampler, Prompt, SampledReply, Sampler


def test_the_own_engine_leaves_policies_and_groups_as_they_are(make_team, play_groups, tmp_path):
    policies = make_team()
    before = play_groups(policies)
    with Engine() as engine:
        engine.open(policies, tmp_path)
        engine.sync()
        assert play_groups(policies) == before
        assert (engine.metrics(), engine.version, engine.waits) == ({}, None, False)
    assert all(policy.sampler is None for policy in policies.values())
    assert {turn.version for one in before[0].episodes for turn in one.turns} == {None}


def test_policies_are_found_once_each_by_their_first_agent(make_team, make_env):
    assert list(speaking(make_team("shared"))) == ["solver_0"]
    assert list(speaking(make_team("lora"))) == ["solver_0", "helper_0"]
    with pytest.raises(SettingError, match="set engine=own"):
        speaking(ScriptedTeam("silent").policies(make_env()))


def test_the_batching_of_this_process_samples_whole_rounds(make_team, tmp_path):
    policies = make_team("shared")
    with Batched() as engine:
        engine.open(policies, tmp_path)
        sampler = policies["solver_0"].sampler
        assert isinstance(sampler, Sampler) and not isinstance(sampler, AsyncSampler)


def test_batched_replies_have_the_models_log_probabilities_and_follow_from_the_seed(
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
    for turn in (one for each in groups for episode in each.episodes for one in episode.turns):
        if turn.round == 0:
            own = scores(policy, [*turn.prompt_ids, *turn.reply_ids])
            own = own[len(turn.prompt_ids) - 1 :]
            pairs = zip(own, turn.behaviour_logprobs, strict=True)
            worst = max(worst, *(abs(a - b) for a, b in pairs))
    assert 0 < worst < 1e-4
    assert policy.sampler is None and not policy.recompute_logprobs


def test_settings_of_the_batching_are_checked():
    for name in ("page_tokens", "batch_tokens"):
        with pytest.raises(SettingError, match=f"engine.{name}"):
            Batched(**{name: 0})


def test_conversations_that_would_attend_to_each_other_are_sampled_few_at_a_time(
    make_policy, monkeypatch
):
    policy = make_policy()
    pages = Pages(policy, 16, 2048)
    prompts = [Prompt((3, row % 2, *range(98)), 28, policy.end_ids, 1.0, row) for row in range(66)]
    # 128 tokens each with its reply, and 4,096 together: 32 at a time.
    calls = list(pages._calls(prompts))
    assert [len(one) for one in calls] == [32, 32, 2]
    # Equal prompts stand together.
    assert [row % 2 for call in calls for row in call] == [0] * 33 + [1] * 33
    monkeypatch.setattr(batched, "is_flash_attn_2_available", lambda **_: True)
    assert [len(one) for one in pages._calls(prompts)] == [66]


def test_batched_replies_are_cut_behind_the_silence_word():
    """The batching knows no stop strings: what it sampled behind the word goes."""

    def text_of(ids):
        return "".join({7: "<silence", 8: "> a"}.get(token, "x") for token in ids)

    end = ReplyEnd(SilenceWord("<silence>"), text_of, lambda token: text_of([token]), (1,))
    prompt = Prompt((3, 4), 6, (1,), 1.0, 0, reply_end=end)
    output = SimpleNamespace(
        prompt_ids=[3, 4], generated_tokens=[6, 7, 8, 5, 5, 1], logprobs=[-1.0, -2.0, -3.0] * 2
    )
    assert batched._sampled(output, prompt, 10) == SampledReply((6, 7, 8), (-1.0, -2.0, -3.0))
