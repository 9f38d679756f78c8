"""New weights are loaded and proved beside those that speak: no reply waits or changes."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future

import pytest
from engine_checks import mismatch, turns

from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Prompt
from laconic.learners.rollout.play import Start, play


def beside(work) -> Future:
    """Do something in a thread."""
    found: Future = Future()

    def run():
        try:
            found.set_result(work())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return found


def wait_for(condition):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture
def slow_play(make_team, start_server, opened, nudge):
    """A team after a sync, whose server holds back the replies of rollouts until it is let go."""
    policies = make_team()
    server, go = start_server(policies), threading.Event()
    engine = opened(policies, server, max_staleness=1, timeout_seconds=60, patience_seconds=60)
    nudge(policies, seed=9)
    engine.sync()
    complete = server.complete

    def held(ids, *, limit, **how):
        # The probe asks for fewer tokens than a rollout.
        assert limit < 6 or go.wait(60)
        return complete(ids, limit=limit, **how)

    server.complete = held
    return policies, server, engine, go


def test_a_sync_neither_waits_for_replies_under_way_nor_holds_others_back(
    slow_play, play_groups, nudge
):
    policies, server, engine, go = slow_play
    begun = beside(lambda: play_groups(policies))
    wait_for(lambda: server._now >= 4)
    nudge(policies)
    engine.sync()
    assert not begun.done() and server._now >= 4
    assert {name[-6:] for name in server.adapters} == {"v00000", "v00001"}
    later = beside(lambda: play_groups(policies))
    go.set()
    # What was begun goes on as it began, through all its rounds; what begins takes the new ones.
    assert {turn.version for turn in turns(begun.result(60))} == {0}
    newest = later.result(60)
    assert {turn.version for turn in turns(newest)} == {1}
    assert mismatch(newest, policies) < 1e-5


@pytest.mark.parametrize(
    "fault", ["stale", *(pytest.param(one, marks=pytest.mark.slow) for one in ("base", "half"))]
)
def test_weights_that_are_not_proved_never_speak_and_replies_under_way_are_those_of_before(
    fault, slow_play, play_groups, nudge
):
    policies, server, engine, go = slow_play
    undisturbed = beside(lambda: play_groups(policies))
    wait_for(lambda: server._now >= 4)
    nudge(policies)
    server.sync_fault = fault
    with pytest.raises(ServerError):
        engine.sync()
    go.set()
    assert {turn.version for turn in turns(undisturbed.result(60))} == {0}
    assert play_groups(policies) == undisturbed.result()
    engine.close()
    # Those that failed are unloaded too.
    assert server.adapters == {}


def test_an_episode_is_played_by_the_newest_weights_of_its_beginning(slow_play, make_env, nudge):
    policies, server, engine, go = slow_play
    environments = [make_env(team={"solver": 1, "helper": 1}, rounds=2)]
    starts = [Start(seed, "fruit") for seed in range(3)]
    begun = beside(lambda: play(environments, policies, starts, seed=1))
    wait_for(lambda: server._now >= 2)
    nudge(policies)
    engine.sync()
    go.set()
    versions = [{turn.version for turn in one.turns} for one in begun.result(60)]
    assert versions == [{0}, {1}, {1}]


def test_weights_that_are_gone_are_not_asked_for(slow_play, nudge):
    policies, server, engine, go = slow_play
    go.set()
    for seed in range(2):
        nudge(policies, seed=seed)
        engine.sync()
    asked = len(server.asked)
    prompt = Prompt((3, 4), 6, policies["solver_0"].end_ids, 1.0, seed=0, version=0)
    with pytest.raises(ServerError, match=r"version 0 of the weights speaks no more \(2 does\)"):
        engine.run(engine.ask("solver_0", prompt))
    assert len(server.asked) == asked


def test_a_server_that_came_back_has_every_version_that_speaks_proved(slow_play, nudge):
    policies, server, engine, go = slow_play
    go.set()
    nudge(policies)
    engine.sync()
    server.kill()
    server.start()
    server.sync_fault = "base"
    prompt = Prompt((3, 4), 6, policies["solver_0"].end_ids, 1.0, seed=0)
    with pytest.raises(ServerError, match="version 0 was loaded again.*speaks with the base"):
        engine.run(engine.ask("solver_0", prompt))


def test_a_server_that_is_lost_while_it_is_given_new_weights_is_given_them_again(
    slow_play, play_groups, nudge
):
    policies, server, engine, go = slow_play
    go.set()
    nudge(policies)
    server.faults.append("hangup")
    engine.sync()
    assert engine.metrics()["restores"] == 1
    assert mismatch(play_groups(policies), policies) < 1e-5
