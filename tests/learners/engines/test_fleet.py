"""What goes wrong with servers: nothing is lost, and no step is trained on wrong weights."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from laconic.learners.engines import fleet
from laconic.learners.engines.http import Counts, Patience, Server
from laconic.learners.errors import ServerError

SOON = {"patience_seconds": 0.3}


@pytest.fixture
def quiet_play(make_team, start_server, opened, play_groups):
    """A team with its server after a sync, and the groups that it plays undisturbed."""
    policies = make_team()
    server = start_server(policies)
    engine = opened(policies, server)
    engine.sync()
    return policies, server, engine, play_groups(policies)


def test_a_server_that_is_busy_paused_slow_or_drops_a_request_changes_no_group(
    quiet_play, play_groups
):
    policies, server, engine, undisturbed = quiet_play
    for faults in (["503", "429"], ["hangup"], ["slow 0.3"], ["502", "hangup"]):
        engine.metrics()
        server.faults.extend(["", "", *faults])
        assert play_groups(policies) == undisturbed, faults
        found = engine.metrics()
        assert found["retries"] == sum(not one.startswith("slow") for one in faults)
        assert found["restores"] == ("hangup" in faults)
    # Somebody else's pause answers every request with 503 until it ends.
    server.paused = True
    threading.Timer(0.2, setattr, (server, "paused", False)).start()
    assert play_groups(policies) == undisturbed
    assert engine.metrics()["retries"] > 0


def test_a_server_that_is_killed_and_comes_back_empty_is_given_its_weights_again(
    quiet_play, play_groups
):
    policies, server, engine, undisturbed = quiet_play
    server.seconds, begun = 0.05, len(server.asked)

    def disturb():
        while len(server.asked) < begun + 5:
            time.sleep(0.01)
        server.kill()
        time.sleep(0.3)
        server.start()

    thread = threading.Thread(target=disturb)
    thread.start()
    assert play_groups(policies) == undisturbed
    thread.join()
    assert engine.metrics()["restores"] == 1 and len(server.adapters) == 2


def test_a_server_that_came_back_between_plays_is_noticed_by_the_first_request(
    quiet_play, play_groups
):
    policies, server, _, undisturbed = quiet_play
    server.kill()
    server.start()
    assert server.adapters == {}
    assert play_groups(policies) == undisturbed


@pytest.mark.slow
def test_a_whole_model_that_a_server_lost_between_plays_is_never_trained_on(
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
    # Its connections are gone, so the loss is noticed; one that nobody notices is found at the end.
    time.sleep(2.2)
    with pytest.raises(ServerError, match="after episodes were played"):
        play_groups(policies)
    server.kill()
    threading.Timer(0.3, server.start).start()
    assert play_groups(policies) == undisturbed


def test_a_server_that_stays_away_ends_the_play_with_its_address(
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


def test_a_reply_that_cannot_be_one_stops_the_play(quiet_play, play_groups):
    policies, server, _, _ = quiet_play
    for fault, word in {
        "retokenised": "prompt tokens that were sent",
        "short": "log-probabilities",
        "beyond": "goes on after the end token|were asked for|differ|others",
        "nan": "is no log-probability",
    }.items():
        server.faults.extend([""] * 3 + [fault] * 20)
        with pytest.raises(ServerError, match=word):
            play_groups(policies)
        server.faults.clear()


def test_ids_that_are_off_by_one_are_found_by_the_probe(make_team, start_server, opened):
    policies = make_team()
    server = start_server(policies)
    engine = opened(policies, server)
    server.faults.extend(["off by one"] * 4)
    with pytest.raises(ServerError, match="version 0 of solver_0 sampled at"):
        engine.sync()


def test_a_sync_that_did_not_happen_stops_the_run_before_anything_is_played(
    quiet_play, play_groups, nudge
):
    policies, server, engine, _ = quiet_play
    # A version of its own lies between the base and the ones that fail.
    nudge(policies, seed=1)
    engine.sync()
    undisturbed = play_groups(policies)
    for number, (fault, word) in enumerate(
        {
            "stale": "speaks with the version before",
            "base": "speaks with the base",
            "refuse": "no room for the adapter",
            "half": "no room for the adapter",
        }.items()
    ):
        nudge(policies, seed=number)
        server.sync_fault = fault
        with pytest.raises(ServerError, match=word):
            engine.sync()
    # What speaks is still the version before, under names of its own.
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
    assert [{name[-6:] for name in one.adapters} for one in servers] == [{"v00002"}] * 2


@pytest.mark.parametrize(
    ("fault", "tied", "word"),
    [("stale", False, "speaks with the version before"), ("tied", True, "tied output head")],
)
def test_a_whole_model_that_was_reloaded_in_part_or_not_at_all_stops_the_run(
    fault, tied, word, make_team, start_server, opened, nudge
):
    policies = make_team("shared", tied=tied)
    server = start_server(policies)
    engine = opened(policies, server)
    engine.sync()
    nudge(policies)
    server.sync_fault = fault
    with pytest.raises(ServerError, match=word):
        engine.sync()


def test_a_server_that_is_never_up_is_waited_for_as_long_as_its_patience_is():
    server = Server("http://127.0.0.1:9", Patience(1.0, 0.2), Counts())

    async def wait():
        await fleet.wait_until_up(server, "/health", lambda: None)

    with pytest.raises(ServerError, match="for 0.2 seconds"):
        asyncio.run(wait())
