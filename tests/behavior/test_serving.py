"""A team behind the server that ships with transformers, with and without a proxy that fails."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from laconic import envs
from laconic.learners.agents.hf import HFTeam, SamplingSettings
from laconic.learners.agents.recipes import SHIPPED
from laconic.learners.metrics import SPENDING
from laconic.learners.rollout.play import Start, play

pytestmark = pytest.mark.slow

TASKS = 8
COMMON = [f"evaluation.tasks={TASKS}", "evaluation.batch=3", "threads=1"]
FAULTS = [
    *("429 0.2", "", "429", "500", "", "slow 16", "half", "", "hangup", "503 0.1", ""),
    *("send {not json", 'send {"choices": []}', "", 'send {"usage": {}}', "", "hangup", "half"),
]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Start `transformers serve` with the shipped weights; return its base address."""
    for name in ("fastapi", "uvicorn", "openai"):
        pytest.importorskip(name, reason="pip install 'transformers[serving]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = open(tmp_path_factory.mktemp("serve") / "log", "w+b")
    start = "from transformers.cli.transformers import main; main()"
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    process = subprocess.Popen(
        [sys.executable, "-c", start, "serve", str(SHIPPED), *options],
        stdout=log,
        stderr=log,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()
        log.close()


def wait_for(address, process, log, seconds=240):
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    log.seek(0)
    pytest.fail(f"transformers serve did not start:\n{log.read().decode()[-2000:]}")


@pytest.fixture
def proxied(fault_server, real):
    """Put the real server behind one that fails and counts; return the command that uses it."""
    fault_server.upstream = real
    return [
        "agent=api",
        f"agent.model={SHIPPED}",
        f"agent.base_url={fault_server.base_url}",
        f"agent.tokenizer={SHIPPED}",
        "env.instructions=brief",
        "agent.sampling.explain_silence=false",
        "agent.sampling.max_reply_tokens=49",
        "agent.limits.concurrency=3",
        "agent.limits.timeout_seconds=15",
        *COMMON,
    ]


@pytest.fixture(scope="module")
def local(run, tmp_path_factory):
    """Return the folder of an evaluation of the same weights in this process."""
    folder = tmp_path_factory.mktemp("local") / "run"
    assert run("evaluate", "agent=tiny", *COMMON, f"hydra.run.dir={folder}").code == 0
    return folder


def without_spending(path):
    row = json.loads(path.read_text())
    return {name: value for name, value in row.items() if name[5:] not in SPENDING}


def assert_alike(folder, local):
    assert without_spending(folder / "metrics.jsonl") == without_spending(local / "metrics.jsonl")
    assert (folder / "transcripts.jsonl").read_text() == (local / "transcripts.jsonl").read_text()


def test_served_weights_say_word_for_word_what_local_ones_say(
    run, proxied, fault_server, local, rows, tmp_path
):
    outcome = run("evaluate", *proxied, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    assert_alike(tmp_path / "run", local)
    (row,) = rows(tmp_path / "run" / "metrics.jsonl")
    assert row["eval/accuracy"] > 0.8 and row["eval/silence_rate"] > 0
    assert fault_server.calls == TASKS * row["eval/calls"] == TASKS * 4
    assert fault_server.most == 3
    # The server counts the very tokens that the same weights read and write here.
    played = play_here()
    assert row["eval/prompt_tokens"] == counted(played, "prompt_ids") / TASKS
    assert row["eval/completion_tokens"] == counted(played, "reply_ids") / TASKS


def play_here():
    sampling = SamplingSettings(explain_silence=False, max_reply_tokens=49)
    team = HFTeam(str(SHIPPED), sampling=sampling, device="cpu")
    from hydra import compose, initialize_config_dir
    from hydra.utils import instantiate

    from laconic.experiments.command_line.tree import CONF

    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("evaluate", ["agent=tiny", *COMMON])
    env = instantiate(
        cfg.env, _convert_="all", split="evaluation", tasks=TASKS, tokenize=team.tokenize
    )
    assert isinstance(env, envs.DialogueEnv)
    starts = [Start(seed, key) for seed, key in enumerate(env.tasks)]
    return play([env], team.policies(env), starts, seed=0, greedy=True)


def counted(episodes, name):
    return sum(len(getattr(turn, name)) for episode in episodes for turn in episode.turns)


def test_faults_on_the_way_change_nothing_but_the_calls(
    run, proxied, fault_server, local, rows, tmp_path
):
    fault_server.faults.extend(FAULTS)
    outcome = run("evaluate", *proxied, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    assert_alike(tmp_path / "run", local)
    failed = sum(bool(fault) for fault in FAULTS)
    (row,) = rows(tmp_path / "run" / "metrics.jsonl")
    assert fault_server.calls == TASKS * row["eval/calls"] == TASKS * 4 + failed
    # The slow one is still at work when it has been given up.
    assert fault_server.most <= 4


def test_killed_twice_and_refused_once_it_asks_for_nothing_twice(
    processes, proxied, fault_server, local, tmp_path
):
    command = ["evaluate", *proxied, f"hydra.run.dir={tmp_path}/run", "resume=true"]
    for row in (7, 9):
        die = ("laconic.experiments.run_folder.folder._append", row, "torn")
        assert processes.run(*command, die=die).code == -9
    fault_server.faults.extend(["", "", "403"])
    refused = processes.run(*command)
    assert refused.code == 1 and "HTTP 403" in refused.err, refused.err
    outcome = processes.run(*command)
    assert outcome.code == 0, outcome.err
    assert_alike(tmp_path / "run", local)
    # A kill loses what is under way, three requests at most, and the reply it kept from the file.
    assert TASKS * 4 + 1 <= fault_server.calls <= TASKS * 4 + 1 + 2 * 4
