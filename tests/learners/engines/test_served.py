"""Served replies have the trainer's weights: the same tokens and log-probabilities."""

from __future__ import annotations

import resource
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from engine_checks import mismatch, turns

from laconic.envs.errors import SettingError
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.engines.served import ServedSampler
from laconic.learners.engines.vllm import VLLM
from laconic.learners.errors import CheckpointError, ServerError
from laconic.learners.interfaces import Request


@pytest.mark.parametrize("sharing", ["lora", "shared"])
def test_replies_have_the_trainers_log_probabilities_before_and_after_an_update(
    sharing, make_team, start_server, opened, play_groups, nudge
):
    policies = make_team(sharing)
    engine = opened(policies, start_server(policies))
    engine.sync()
    assert mismatch(play_groups(policies), policies) < 1e-5
    nudge(policies)
    engine.sync()
    assert mismatch(play_groups(policies), policies) < 1e-5


@pytest.mark.parametrize("overrun", [pytest.param(0, marks=pytest.mark.slow), 3])
def test_a_reply_ends_with_the_silence_word_whether_or_not_the_server_samples_on(
    overrun, make_team, start_server, opened, play_groups
):
    """The word is the letter e, which many tokens of the random tokenizer hold."""
    policies = make_team(sampling={"silence": "e", "max_reply_tokens": 12})
    server = start_server(policies, overrun=overrun)
    opened(policies, server).sync()
    groups = play_groups(policies)
    tokenizer = policies["solver_0"].tokenizer
    ended = 0
    for turn in turns(groups):
        pieces = [tokenizer.decode([token]) for token in turn.reply_ids]
        assert not any("e" in piece for piece in pieces[:-1])
        assert len(turn.reply_ids) == len(turn.behavior_logprobs)
        if "e" in pieces[-1] and turn.reply_ids[-1] not in policies["solver_0"].end_ids:
            ended += 1
            assert "e" not in turn.message and not turn.truncated
    assert ended > 3
    assert mismatch(groups, policies) < 1e-5
    assert server.paths("/v1/completions")[-1]["stop"] == ["e"]
    # Tokens that a server samples after the word change no seed and no reply.
    server.overrun = 0
    assert play_groups(policies) == groups


def test_the_same_seeds_give_the_same_groups_and_others_do_not(
    make_team, start_server, opened, play_groups
):
    policies = make_team()
    opened(policies, start_server(policies)).sync()
    assert play_groups(policies) == play_groups(policies)
    assert play_groups(policies, seed=4) != play_groups(policies)


def test_each_agent_samples_with_its_own_adapter_and_each_version_has_a_fresh_name(
    make_team, start_server, opened, play_groups, nudge
):
    policies = make_team()
    server = start_server(policies)
    engine = opened(policies, server)
    engine.sync()
    nudge(policies)
    engine.sync()
    played = turns(play_groups(policies))
    bodies = server.paths("/v1/completions")[-len(played) :]
    models = {body["model"].split("/", 1)[1] for body in bodies}
    assert models == {"solver_0/v00001", "helper_0/v00001"}
    assert {turn.version for turn in played} == {1}
    loaded = [body["lora_name"].split("/", 1)[1] for body in server.paths("/load_lora_adapter")]
    assert len(set(loaded)) == 4
    # No episode needs the first version any more, so no server and no disk holds it.
    assert {name.split("/")[-1] for name in server.adapters} == {"v00001"}
    folders = engine._versions.folder.glob("*/solver_0/*")
    assert [folder.name for folder in folders] == ["v00001"]


def test_versions_within_the_staleness_stay_loaded(make_team, start_server, opened, nudge):
    policies = make_team()
    server = start_server(policies)
    engine = opened(policies, server, max_staleness=1)
    for step in range(4):
        engine.sync()
        nudge(policies, seed=step)
    assert sorted({name.split("/")[-1] for name in server.adapters}) == ["v00002", "v00003"]


def test_unchanged_weights_are_not_synced_again(make_team, start_server, opened):
    policies = make_team()
    server = start_server(policies)
    engine = opened(policies, server)
    engine.sync()
    before = len(server.asked)
    engine.sync()
    assert len(server.asked) == before


def test_every_server_has_every_adapter_and_a_part_of_the_episodes(
    make_team, start_server, opened, play_groups
):
    policies = make_team()
    servers = [start_server(policies) for _ in range(2)]
    opened(policies, *servers).sync()
    before = [len(server.asked) for server in servers]
    groups = play_groups(policies)
    request_count = [
        len(server.asked) - count for server, count in zip(servers, before, strict=True)
    ]
    assert sum(request_count) == len(turns(groups)) and min(request_count) > 0
    assert all(len(server.adapters) == 2 for server in servers)


def test_a_reply_has_no_more_tokens_than_the_server_has_positions(make_team, start_server, opened):
    policies = make_team()
    opened(policies, start_server(policies)).sync()
    policy = policies["solver_0"]
    policy.positions = 40
    long = Request("solver_0", "one two three " * 30)
    (reply,) = policy.reply([long], seed=0, greedy=False)
    assert reply.reply_ids == ()
    policy.positions = len(policy.read(long)) + 3
    (reply,) = policy.reply([long], seed=0, greedy=False)
    assert 0 < len(reply.reply_ids) <= 3


def test_after_closing_policies_sample_for_themselves_and_nothing_is_left(
    make_team, start_server, opened, play_groups
):
    policies = make_team()
    own = play_groups(policies)
    server = start_server(policies)
    engine = opened(policies, server)
    assert policies["solver_0"].sampler == ServedSampler(engine, "solver_0")
    assert policies["solver_0"].recompute_logprobs
    engine.sync()
    folder = engine._versions.folder
    engine.close()
    assert play_groups(policies) == own
    assert not policies["solver_0"].recompute_logprobs
    assert server.adapters == {} and list(folder.glob("*")) == []


def test_nothing_is_sampled_before_a_sync(make_team, start_server, opened, play_groups):
    policies = make_team()
    opened(policies, start_server(policies))
    with pytest.raises(ServerError, match=r"no weights yet; call sync\(\)"):
        play_groups(policies)


@contextmanager
def full_disk():
    """Limit files to a few bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("sharing", ["lora", "shared"])
def test_a_full_disk_stops_the_sync_with_its_path_and_leaves_other_versions(
    sharing, make_team, start_server, opened, play_groups, nudge
):
    policies = make_team(sharing)
    engine = opened(policies, start_server(policies))
    engine.sync()
    nudge(policies)
    with full_disk(), pytest.raises(CheckpointError, match=r"v00001.*large.*engine\.folder"):
        engine.sync()
    folders = engine._versions.folder.glob("*/solver_0/*")
    assert [folder.name for folder in folders] == ["v00000"]
    engine.sync()
    assert mismatch(play_groups(policies), policies) < 1e-5


def test_a_disk_that_is_full_after_some_adapters_leaves_the_version_before(
    make_team, start_server, opened, play_groups, nudge, monkeypatch
):
    policies = make_team()
    server = start_server(policies)
    engine = opened(policies, server)
    engine.sync()
    undisturbed, last = play_groups(policies), list(policies)[-1]
    nudge(policies)

    def full(folder, weights=None):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(policies[last], "hand_on", full)
        with pytest.raises(CheckpointError, match=rf"{last}/v00001.*No space left"):
            engine.sync()
    assert play_groups(policies) == undisturbed
    engine.sync()
    assert {name[-6:] for name in server.adapters} == {"v00002"}
    assert mismatch(play_groups(policies), policies) < 1e-5


def test_servers_load_an_adapter_while_the_next_is_written(
    make_team, start_server, opened, nudge, monkeypatch
):
    policies = make_team()
    server = start_server(policies)
    engine = opened(policies, server)
    engine.sync()
    nudge(policies)
    *_, last = policies.values()
    write, loaded = last.hand_on, []

    def wait_and_write(folder, weights=None):
        deadline = time.monotonic() + 30
        while not loaded and time.monotonic() < deadline:
            loaded.extend(name for name in server.adapters if name.endswith("v00001"))
            time.sleep(0.01)
        write(folder, weights)

    monkeypatch.setattr(last, "hand_on", wait_and_write)
    engine.sync()
    assert loaded


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"max_staleness": -1}, "engine.max_staleness"),
        ({"tolerance": 0.0}, "engine.tolerance"),
        ({"concurrency": 0}, "engine.concurrency"),
        ({"timeout_seconds": 0}, "engine.timeout_seconds"),
        ({"patience_seconds": -1}, "engine.patience_seconds"),
        ({"start_seconds": 0}, "engine.start_seconds"),
        ({"url": []}, "engine.url"),
    ],
)
def test_settings_out_of_range_are_refused_by_their_key(settings, key):
    with pytest.raises(SettingError, match=key):
        VLLM(**settings)


def test_the_first_ratio_of_an_update_is_one_and_the_mismatch_is_reported(
    make_team, start_server, opened, play_groups
):
    policies = make_team()
    opened(policies, start_server(policies)).sync()
    learner = GroupLearner(policies, torch.optim.SGD, minibatches=1)
    learner._trainers[0].optimizer.param_groups[0]["lr"] = 0.0
    groups = play_groups(policies)
    sequences = [
        # An advantage that is not 0, whatever the reward was.
        replace(sequence, advantage=(-1.0) ** place)
        for group in groups
        for place, sequence in enumerate(learner.sequences(group, ("solver_0",)))
    ]
    (row, *_) = learner._trainers[0].update(sequences, 1)
    assert row["ratio_min"] == row["ratio_max"] == 1.0
    assert 0 < row["mismatch_max"] < 1e-5 and 0 <= row["mismatch_kl"] < 1e-9
    assert row["masked_share"] == 0.0
