"""Faults of servers lose no reply, and no step trains on wrong weights."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from laconic.learners.engines import pool
from laconic.learners.engines.server import RetryPolicy, Server
from laconic.learners.errors import ServerError

SOON = {"patience_seconds": 0.3}


@pytest.fixture
def synced(make_team, start_server, opened, play_groups):
    """Return a team, its server and engine after a sync, and groups without any fault."""
    policies = make_team()
    server = start_server(policies)
    engine = opened(policies, server)
    engine.sync()
    return policies, server, engine, play_groups(policies)


def test_a_server_that_is_busy_paused_slow_or_drops_a_request_changes_no_group(synced, play_groups):
    policies, server, engine, undisturbed = synced
    for faults in (["503", "429"], ["hangup"], ["slow 0.3"], ["502", "hangup"]):
        engine.metrics()
        server.faults.extend(["", "", *faults])
        assert play_groups(policies) == undisturbed, faults
        metrics = engine.metrics()
        assert metrics["retries"] == sum(not fault.startswith("slow") for fault in faults)
        assert metrics["restores"] == ("hangup" in faults)
    # A pause by another client answers every request with 503 until it ends.
    server.paused = True
    threading.Timer(0.2, setattr, (server, "paused", False)).start()
    assert play_groups(policies) == undisturbed
    assert engine.metrics()["retries"] > 0


def test_a_server_that_is_killed_and_restarted_is_given_its_weights_again(synced, play_groups):
    policies, server, engine, undisturbed = synced
    server.seconds, request_count = 0.05, len(server.asked)

    def disturb():
        while len(server.asked) < request_count + 5:
            time.sleep(0.01)
        server.kill()
        time.sleep(0.3)
        server.start()

    thread = threading.Thread(target=disturb)
    thread.start()
    assert play_groups(policies) == undisturbed
    thread.join()
    assert engine.metrics()["restores"] == 1 and len(server.adapters) == 2


def test_a_restart_between_rollouts_is_noticed_by_the_first_request(synced, play_groups):
    policies, server, _, undisturbed = synced
    server.kill()
    server.start()
    assert server.adapters == {}
    assert play_groups(policies) == undisturbed


@pytest.mark.slow
def test_episodes_by_a_server_that_lost_a_whole_model_are_never_trained_on(
    make_team, start_server, opened, play_groups, nudge
):
    policies = make_team("shared")
    server = start_server(policies)
    engine = opened(policies, server)
    nudge(policies)
    engine.sync()
    undisturbed = play_groups(policies)
    server.kill()
    server.start()
    # After 2 seconds no connection is left that would show the restart, so the probe has to.
    time.sleep(2.2)
    with pytest.raises(ServerError, match="after episodes were played"):
        play_groups(policies)
    server.kill()
    threading.Timer(0.3, server.start).start()
    assert play_groups(policies) == undisturbed


def test_a_server_that_stays_away_ends_the_rollout_with_its_address(
    make_team, start_server, opened, play_groups
):
    policies = make_team()
    server = start_server(policies)
    opened(policies, server, **SOON).sync()
    server.kill()
    began = time.monotonic()
    with pytest.raises(ServerError, match=rf"{server.url}.*for 0.3 seconds"):
        play_groups(policies)
    assert time.monotonic() - began < 5


def test_an_invalid_reply_stops_the_rollout(synced, play_groups):
    policies, server, _, _ = synced
    for fault, message in {
        "retokenised": "prompt tokens were sent",
        "short": "log-probabilities",
        "beyond": "continues after the end token|; expected 1 to|and they differ",
        "nan": "expected a finite number as .*token_logprobs",
    }.items():
        server.faults.extend([""] * 3 + [fault] * 20)
        with pytest.raises(ServerError, match=message):
            play_groups(policies)
        server.faults.clear()


def test_token_ids_that_are_off_by_one_fail_the_probe(make_team, start_server, opened):
    policies = make_team()
    server = start_server(policies)
    engine = opened(policies, server)
    server.faults.extend(["off by one"] * 4)
    with pytest.raises(ServerError, match="version 0 of solver_0 sampled at"):
        engine.sync()


def test_a_failed_sync_stops_the_run_before_anything_is_sampled(synced, play_groups, nudge):
    policies, server, engine, _ = synced
    # A version between the base and the versions that fail, so that the probe can name it.
    nudge(policies, seed=1)
    engine.sync()
    undisturbed = play_groups(policies)
    for number, (fault, message) in enumerate(
        {
            "stale": "samples with the version before",
            "base": "samples with the base",
            "refuse": "no room for the adapter",
            "half": "no room for the adapter",
        }.items()
    ):
        nudge(policies, seed=number)
        server.sync_fault = fault
        with pytest.raises(ServerError, match=message):
            engine.sync()
    # The version before is still live, under its own names.
    assert play_groups(policies) == undisturbed
    server.sync_fault = ""
    engine.sync()
    assert play_groups(policies) != undisturbed


def test_a_load_that_fails_on_one_of_two_servers_leaves_both_with_the_version_before(
    make_team, start_server, opened, play_groups, nudge
):
    policies = make_team()
    servers = [start_server(policies) for _ in range(2)]
    engine = opened(policies, *servers)
    engine.sync()
    undisturbed = play_groups(policies)
    nudge(policies)
    servers[1].sync_fault = "refuse"
    with pytest.raises(ServerError, match=f"{servers[1].url}.*no room for the adapter"):
        engine.sync()
    assert play_groups(policies) == undisturbed
    servers[1].sync_fault = ""
    engine.sync()
    assert [{name[-6:] for name in server.adapters} for server in servers] == [{"v00002"}] * 2


@pytest.mark.parametrize(
    ("fault", "tied", "message"),
    [("stale", False, "samples with the version before"), ("tied", True, "tied output head")],
)
def test_a_whole_model_that_was_reloaded_in_part_or_not_at_all_stops_the_run(
    fault, tied, message, make_team, start_server, opened, nudge
):
    policies = make_team("shared", tied=tied)
    server = start_server(policies)
    engine = opened(policies, server)
    engine.sync()
    nudge(policies)
    server.sync_fault = fault
    with pytest.raises(ServerError, match=message):
        engine.sync()


def test_a_server_that_never_comes_up_is_given_up_after_its_patience():
    server = Server("http://127.0.0.1:9", RetryPolicy(1.0, 0.2))

    async def wait():
        await pool.wait_until_up(server, "/health", lambda: None)

    with pytest.raises(ServerError, match="for 0.2 seconds"):
        asyncio.run(wait())
