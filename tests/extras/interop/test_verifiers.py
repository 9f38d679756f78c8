"""A team as an environment of verifiers, played for real; `make door-verifiers` installs it.

The models are a server on this machine; between it and the environment are verifiers' own harness,
runtime and interception, none of them replaced.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("verifiers.v1")

import verifiers.v1 as vf  # noqa: E402
from verifiers.v1.utils.generic import concrete_type  # noqa: E402

from laconic import envs  # noqa: E402
from laconic.envs.errors import UnknownNameError  # noqa: E402
from laconic.extras.interop.verifiers import SILENCE, team  # noqa: E402

pytestmark = pytest.mark.door
MODULE = """
from laconic.extras.interop.verifiers import team

TeamTaskset, TeamEnv = team("gsm8k", **{settings})
__all__ = ["TeamTaskset", "TeamEnv"]
"""
SETTINGS = {
    "free": True,
    "information": "split",
    "schedule": ["helper", "solver"],
    "topology": "star",
    "reward": {"price": 0.5, "normalizer": 50},
}


class Models:
    """A server of streamed chat completions; `say` answers the prompt."""

    def __init__(self):
        self.asked = []
        self.say = lambda messages: ""
        models = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                models.asked.append(body["messages"])
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for delta, end in (({"content": models.say(body["messages"])}, None), ({}, "stop")):
                    choice = {"index": 0, "delta": delta, "finish_reason": end}
                    head = {"id": "x", "object": "chat.completion.chunk", "created": 1}
                    row = json.dumps({**head, "model": "m", "choices": [choice]})
                    self.wfile.write(f"data: {row}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"


@pytest.fixture
def models():
    models = Models()
    yield models
    models.http.shutdown()


@pytest.fixture
def play(tmp_path, monkeypatch, models):
    """Play the first task of a module as a user writes it; gives its traces by agent."""
    (tmp_path / "my_team.py").write_text(MODULE.replace("{settings}", repr(SETTINGS)))
    monkeypatch.syspath_prepend(tmp_path)
    # The harness is a script that uv runs.
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )

    async def episode(**seats):
        import my_team

        kind = concrete_type(my_team.TeamEnv, vf.EnvConfig, origin=vf.Env)
        env = my_team.TeamEnv(kind(taskset={"id": "my_team", "tasks": 2}, **seats))
        task = next(iter(env.taskset))
        client = vf.EvalClientConfig(base_url=models.url)
        context = vf.ModelContext(model="m", client=client, sampling=vf.SamplingConfig())
        async with env.serving():
            return await env.run_episode(task, context)

    yield lambda **seats: asyncio.run(episode(**seats))
    sys.modules.pop("my_team", None)


def test_a_team_plays_is_paid_and_is_measured(play, models):
    env = envs.make("gsm8k", tasks=2, **SETTINGS)
    env.reset(seed=0, options={"task": next(iter(env.tasks))})
    shares = {a: [env.task.statements[i] for i in env.shares[a]] for a in env.possible_agents}

    def say(messages):
        text = str(messages[-1]["content"])
        agent = next(a for a in shares if f"You are {a}." in text)
        if agent == "solver_0":
            return env.task.answer_text
        # Helpers say what they hold; the last one keeps silent.
        return SILENCE if agent == "helper_2" else " ".join(shares[agent])

    models.say = say
    episode = play()
    assert episode.ok and not episode.errors
    traces = {trace.task.data.name: trace for trace in episode.traces}
    assert {name: trace.agent.name for name, trace in traces.items()} == {
        a: a.partition("_")[0] for a in env.possible_agents
    }
    solver, mute, loud = traces["solver_0"], traces["helper_2"], traces["helper_0"]
    assert solver.metrics["solved"] == 1.0 and solver.rewards["team"].score == pytest.approx(1.0)
    assert (mute.metrics["silence"], mute.metrics["tokens_said"]) == (1.0, 0.0)
    assert mute.rewards["team"].score == pytest.approx(1.0)
    tokens = len(env.tokenize(" ".join(shares["helper_0"])))
    assert loud.metrics["tokens_said"] == tokens > 0 and loud.metrics["silence"] == 0.0
    assert loud.rewards["team"].score == pytest.approx(1 - tokens / 100)
    assert loud.metrics["informed"] in (0.0, 1.0) and "informed" not in solver.metrics
    # Silence was said to nobody, and everybody was told how to keep it.
    assert not any(SILENCE in str(prompt[-1]["content"]) for prompt in models.asked)
    assert all(SILENCE in str(prompt[0]["content"]) for prompt in models.asked)


def test_an_agent_whose_run_has_ended_is_silent_and_the_others_play_on(play, models):
    models.say = lambda messages: "#### 1"
    episode = play(helper={"harness": {"id": "null"}, "max_output_tokens": 0})
    tokens_said = {trace.task.data.name: trace.metrics["tokens_said"] for trace in episode.traces}
    assert tokens_said["helper_0"] == 0.0 and tokens_said["solver_0"] > 0.0


def test_an_unknown_benchmark_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="gsm8k"):
        team("gsm9k")
