"""The engine of this process changes nothing."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.engines.base import AsyncSampler, Engine, Sampler, speaking
from laconic.learners.engines.batched import Batched
from laconic.learners.engines.probe import scores


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
            own = scores(policy, [*turn.prompt_ids, *turn.reply_ids], policy.speech.temperature)
            own = own[len(turn.prompt_ids) - 1 :]
            pairs = zip(own, turn.behaviour_logprobs, strict=True)
            worst = max(worst, *(abs(a - b) for a, b in pairs))
    assert 0 < worst < 1e-4
    assert policy.sampler is None and not policy.recompute_logprobs


def test_settings_of_the_batching_are_checked():
    for name in ("page_tokens", "batch_tokens"):
        with pytest.raises(SettingError, match=f"engine.{name}"):
            Batched(**{name: 0})
