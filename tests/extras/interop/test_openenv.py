"""Our environments behind a real OpenEnv server; `make door-openenv` installs it and runs this."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("openenv")

import uvicorn  # noqa: E402
from openenv.core.generic_client import GenericEnvClient  # noqa: E402
from pettingzoo.test import parallel_api_test  # noqa: E402

from laconic import envs  # noqa: E402
from laconic.envs.contract import check_env  # noqa: E402
from laconic.envs.dialogue.reward import PAY_RULES  # noqa: E402
from laconic.envs.errors import UnknownNameError  # noqa: E402
from laconic.envs.wrappers import Oracle  # noqa: E402
from laconic.extras.interop.openenv import plain, seat_app, team_app  # noqa: E402
from laconic.extras.interop.openenv_client import RemoteTeam  # noqa: E402

pytestmark = pytest.mark.door
SETTINGS: dict[str, Any] = {"information": "split", "tasks": 8, "budget": {"message": 60}}
SETTINGS |= {"schedule": ["helper", "solver"], "topology": "star"}
PRICED = {**SETTINGS, "reward": {"price": 0.5, "normalizer": 50}}


def make():
    return envs.make("gsm8k", free=True, **PRICED)


@contextmanager
def served(app):
    """Start a server of an application on a free port; yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="module")
def team():
    with served(team_app(make)) as address:
        yield address


def test_health_and_schema_are_those_of_the_protocol(team):
    assert b"healthy" in urllib.request.urlopen(f"{team}/health").read()
    schema = urllib.request.urlopen(f"{team}/schema").read().decode()
    assert '"messages"' in schema and '"tokens_left"' in schema


def test_an_episode_on_the_server_is_the_episode_here(team):
    here, there = make(), RemoteTeam(team)
    assert there.possible_agents == here.possible_agents
    rules = {key: here.metadata[key] for key in PAY_RULES}
    assert {**there.metadata, **rules} == there.metadata and rules["reward"] == "common"
    assert list(there.tasks) == list(here.tasks)
    task = list(here.tasks)[3]
    oracle = Oracle(here)
    results = {env: env.reset(seed=5, options={"task": task}) for env in (here, there)}
    while here.agents:
        observations, infos = results[here]
        assert {a: o["text"] for a, o in observations.items()} == {
            a: o["text"] for a, o in results[there][0].items()
        }
        for agent, observation in observations.items():
            assert (observation["tokens_left"] == results[there][0][agent]["tokens_left"]).all()
        assert plain(infos) == results[there][1]
        messages = {a: oracle(a, observations[a], infos[a]) for a in here.agents}
        stepped = {env: env.step(messages) for env in (here, there)}
        assert stepped[here][1] == pytest.approx(stepped[there][1])
        assert stepped[here][2:4] == stepped[there][2:4]
        results = {env: (result[0], result[4]) for env, result in stepped.items()}
    assert there.agents == [] and results[there][1]["solver_0"]["solved"] is True
    there.close()


def test_the_client_is_an_environment_of_ours(team):
    environments = []

    def remote():
        environments.append(RemoteTeam(team))
        return environments[-1]

    parallel_api_test(remote(), num_cycles=6)
    check_env(remote, episodes=1)
    with pytest.raises(UnknownNameError):
        environments[0].reset(seed=0)
        environments[0].step({"nobody_0": "x"})
    for env in environments:
        env.close()


def test_sessions_do_not_see_each_other(team):
    env, other = RemoteTeam(team), RemoteTeam(team)
    env.reset(seed=0)
    before, _ = other.reset(seed=1)
    env.step(dict.fromkeys(env.agents, "hello"))
    _, _, _, _, infos = other.step({})
    assert {info["round"] for info in infos.values()} == {1}
    assert other.reset(seed=1)[0]["solver_0"]["text"] == before["solver_0"]["text"]
    env.close(), other.close()


def test_a_seat_is_one_agent_with_scalar_rewards():
    plain_settings = {**PRICED, "schedule": "all", "rounds": 1}
    with served(
        seat_app(lambda: envs.make("gsm8k", free=True, **plain_settings), "helper_0")
    ) as address:
        with GenericEnvClient(base_url=address).sync() as client:
            first = client.reset(seed=3)
            assert first.observation["tokens_left"] == 60 and not first.done
            again = client.reset(seed=3)
            assert again.observation["text"] == first.observation["text"]
            last = client.step({"message": "one two three four five"})
            # Five tokens at 0.01 each, and a silent team solves nothing.
            assert last.done and last.reward == pytest.approx(-0.05)
            info = last.observation["info"]
            assert (info["solved"], info["ended_by"]) == (False, "rounds")
            assert (info["task_reward"], info["billed"]) == (0.0, pytest.approx(0.05))
            assert client.state()["step_count"] == 1


def test_an_unknown_seat_is_refused_when_the_server_is_made():
    with pytest.raises(UnknownNameError, match="solver_0"):
        seat_app(make, "solver_9")


def test_an_invalid_action_is_refused_and_the_session_continues(team):
    with GenericEnvClient(base_url=team).sync() as client:
        client.reset(seed=0)
        with pytest.raises(Exception, match="(?i)messages|extra|valid"):
            client.step({"speech": "hello"})
        assert client.step({"messages": {"solver_0": "hello"}}).observation["rewards"]
