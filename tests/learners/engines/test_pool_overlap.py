"""New adapters are loaded and probed beside the live ones: no reply waits or changes."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future

import pytest
from engine_checks import mismatch, turns

from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Prompt
from laconic.learners.rollout.play import Start, play


def in_thread(work) -> Future:
    """Call a function in a daemon thread."""
    future: Future = Future()

    def run():
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def held_back(make_team, start_server, opened, nudge):
    """Return a team after a sync, with a server that holds back rollouts until an event is set."""
    policies = make_team()
    server, go = start_server(policies), threading.Event()
    engine = opened(policies, server, max_staleness=1, timeout_seconds=60, patience_seconds=60)
    nudge(policies, seed=9)
    engine.sync()
    complete = server.complete

    def hold(ids, *, limit, **options):
        # Probes ask for one token after the first sync, and rollouts here for four.
        assert limit == 1 or go.wait(60)
        return complete(ids, limit=limit, **options)

    server.complete = hold
    return policies, server, engine, go


def test_a_sync_neither_waits_for_replies_in_progress_nor_delays_them(
    held_back, play_groups, nudge
):
    policies, server, engine, go = held_back
    first = in_thread(lambda: play_groups(policies))
    wait_for(lambda: server._now >= 4)
    nudge(policies)
    engine.sync()
    assert not first.done() and server._now >= 4
    assert {name[-6:] for name in server.adapters} == {"v00000", "v00001"}
    second = in_thread(lambda: play_groups(policies))
    go.set()
    # Episodes in progress keep their version through all rounds; new episodes take the new one.
    assert {turn.version for turn in turns(first.result(60))} == {0}
    groups = second.result(60)
    assert {turn.version for turn in turns(groups)} == {1}
    assert mismatch(groups, policies) < 1e-5


@pytest.mark.parametrize(
    "fault", ["stale", *(pytest.param(name, marks=pytest.mark.slow) for name in ("base", "half"))]
)
def test_weights_that_fail_the_probe_are_never_sampled_with(fault, held_back, play_groups, nudge):
    policies, server, engine, go = held_back
    undisturbed = in_thread(lambda: play_groups(policies))
    wait_for(lambda: server._now >= 4)
    nudge(policies)
    server.sync_fault = fault
    with pytest.raises(ServerError):
        engine.sync()
    go.set()
    assert {turn.version for turn in turns(undisturbed.result(60))} == {0}
    assert play_groups(policies) == undisturbed.result()
    engine.close()
    # The adapters that failed are unloaded too.
    assert server.adapters == {}


def test_an_episode_samples_with_the_newest_weights_at_its_beginning(held_back, make_env, nudge):
    policies, server, engine, go = held_back
    environments = [make_env(team={"solver": 1, "helper": 1}, rounds=2)]
    starts = [Start(seed, "fruit") for seed in range(3)]
    rollout = in_thread(lambda: play(environments, policies, starts, seed=1))
    wait_for(lambda: server._now >= 2)
    nudge(policies)
    engine.sync()
    go.set()
    episodes = rollout.result(60)
    assert [{turn.version for turn in episode.turns} for episode in episodes] == [{0}, {1}, {1}]


def test_weights_that_are_unloaded_are_not_requested(held_back, nudge):
    policies, server, engine, go = held_back
    go.set()
    for seed in range(2):
        nudge(policies, seed=seed)
        engine.sync()
    request_count = len(server.asked)
    prompt = Prompt((3, 4), 6, policies["solver_0"].end_ids, 1.0, seed=0, version=0)
    with pytest.raises(ServerError, match=r"began with version 0.*replaced \(newest: 2\)"):
        engine.run(engine.sample("solver_0", prompt))
    assert len(server.asked) == request_count


def test_a_restored_server_is_probed_for_every_live_version(held_back, nudge):
    policies, server, engine, go = held_back
    go.set()
    nudge(policies)
    engine.sync()
    server.kill()
    server.start()
    server.sync_fault = "base"
    prompt = Prompt((3, 4), 6, policies["solver_0"].end_ids, 1.0, seed=0)
    with pytest.raises(ServerError, match="version 0 was loaded again.*samples with the base"):
        engine.run(engine.sample("solver_0", prompt))


def test_a_server_that_is_lost_during_a_sync_is_given_the_new_weights_again(
    held_back, play_groups, nudge
):
    policies, server, engine, go = held_back
    go.set()
    nudge(policies)
    server.faults.append("hangup")
    engine.sync()
    assert engine.metrics()["restores"] == 1
    assert mismatch(play_groups(policies), policies) < 1e-5
