"""Evaluations that end early at any moment continue to exactly the same figures."""

from __future__ import annotations

import json
import shutil
import signal
from collections import Counter

import pytest

FILES = ("metrics.jsonl", "evaluations.jsonl", "transcripts.jsonl")


def said(body):
    """Return an answer that depends on the whole conversation; some answers are silent."""
    prompt = "".join(message["content"] for message in body["messages"])
    commits = len(body["messages"]) > 1 and "You are solver" in prompt
    answer = f"I say {len(prompt)}" + (f" #### {len(prompt) % 7}" if commits else "")
    return answer if commits or len(prompt) % 3 else "<silence>"


def command_for(server):
    """Return arguments of four episodes, two at a time, with one request at a time."""
    server.say = said
    return [
        "agent=api",
        "agent.model=m",
        f"agent.base_url={server.base_url}",
        "agent.limits.concurrency=1",
        "agent.limits.attempts=3",
        "agent.prices.prompt=1000000",
        "env.schedule=all",
        "env.budget.episode=null",
        "evaluation.tasks=4",
        "evaluation.batch=2",
        "threads=1",
    ]


@pytest.fixture
def api(fault_server):
    return command_for(fault_server)


@pytest.fixture(scope="module")
def whole(run, make_fault_server, tmp_path_factory):
    """Return the folder of an uninterrupted evaluation, and its requests."""
    server, folder = make_fault_server(), tmp_path_factory.mktemp("whole") / "run"
    outcome = run("evaluate", *command_for(server), f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    assert server.calls == 32
    return folder, asked_of(server)


@pytest.fixture
def copied(whole, tmp_path):
    """Copy that folder."""
    return shutil.copytree(whole[0], tmp_path / "copied")


def asked_of(server):
    return Counter(json.dumps(body) for body in server.bodies)


def figures(folder):
    return [(folder / name).read_text() for name in FILES]


def state(folder):
    return json.loads((folder / "status.json").read_text())["state"]


def test_costs_are_figures_of_an_evaluation(whole, rows):
    (row,) = rows(whole[0] / "metrics.jsonl")
    assert row["eval/calls"] == 8
    # Ten tokens for each message, one and then three of them, and a unit for each token.
    assert row["eval/cost"] == row["eval/prompt_tokens"] == 4 * (10 + 30)
    assert 0 < row["eval/silence_rate"] < 1 and row["eval/uncounted"] == 0
    (intervals,) = rows(whole[0] / "evaluations.jsonl")
    assert intervals["intervals"]["cost"]["mean"] == 160


@pytest.mark.slow
# Rows are written for 16 replies and then 2 episodes of each batch, and for the figures at the end.
@pytest.mark.parametrize(
    ("row", "when", "lost"),
    [
        (12, "torn", 1),
        (18, "before", 0),
        (36, "torn", 0),
        pytest.param(1, "torn", 1, marks=pytest.mark.slow),
        pytest.param(16, "after", 0, marks=pytest.mark.slow),
        pytest.param(17, "torn", 0, marks=pytest.mark.slow),
        pytest.param(30, "before", 1, marks=pytest.mark.slow),
        pytest.param(38, "after", 0, marks=pytest.mark.slow),
    ],
)
def test_killed_anywhere_it_asks_again_for_nothing_that_came(
    processes, api, fault_server, whole, tmp_path, row, when, lost
):
    folder = f"hydra.run.dir={tmp_path}/cut"
    die = ("laconic.experiments.run_folder.folder._append", row, when)
    assert processes.run("evaluate", *api, folder, die=die).code == -9
    outcome = processes.run("evaluate", *api, folder, "resume=true")
    assert outcome.code == 0, outcome.err
    assert figures(tmp_path / "cut") == figures(whole[0])
    # Only a reply that the kill kept from its file is asked for again, and the one under way then.
    again = asked_of(fault_server) - whole[1]
    assert lost <= sum(again.values()) <= lost + 1
    assert not whole[1] - asked_of(fault_server)


@pytest.mark.parametrize("fault", ["404", pytest.param("429 3600", marks=pytest.mark.slow)])
def test_after_an_error_it_reports_the_progress_and_can_be_resumed(
    run, api, fault_server, whole, tmp_path, fault
):
    folder = tmp_path / "cut"
    fault_server.faults.extend([""] * 20 + [fault])
    outcome = run("evaluate", *api, f"hydra.run.dir={folder}")
    assert outcome.code == 1
    assert f"HTTP {fault.split()[0]}" in outcome.message
    assert "2 of 4 episodes are done and saved; resume with" in outcome.message
    assert state(folder) == "failed" and not (folder / "metrics.jsonl").exists()
    assert run("evaluate", *api, f"hydra.run.dir={folder}", "resume=true").code == 0
    assert figures(folder) == figures(whole[0])
    # The one that was refused.
    assert sum((asked_of(fault_server) - whole[1]).values()) == 1
    assert state(folder) == "finished"


def test_an_interrupt_stops_at_the_next_reply_and_keeps_it(
    processes, api, fault_server, rows, whole, tmp_path
):
    folder = tmp_path / "cut"
    die = ("laconic.experiments.run_folder.folder._append", 24, "after")
    ended = processes.run(
        "evaluate", *api, f"hydra.run.dir={folder}", die=die, number=signal.SIGINT
    )
    assert ended.code == 130 and ended.err.endswith("interrupted\n")
    # Two episodes, and the sixth reply of the second batch.
    assert 22 <= fault_server.calls <= 23
    assert state(folder) == "interrupted" and "2 of 4 episodes are done" in ended.out
    assert rows(folder / "evaluations.jsonl")[0]["episodes"] == 2
    assert processes.run("evaluate", *api, f"hydra.run.dir={folder}", "resume=true").code == 0
    assert figures(folder) == figures(whole[0])
    assert 32 <= fault_server.calls <= 33


def test_an_interrupt_before_the_first_episode_ends_is_one_as_well(processes, api, tmp_path):
    folder = tmp_path / "cut"
    die = ("laconic.experiments.run_folder.folder._append", 2, "after")
    ended = processes.run(
        "evaluate", *api, f"hydra.run.dir={folder}", die=die, number=signal.SIGINT
    )
    assert ended.code == 130 and ended.err.endswith("interrupted\n")
    assert state(folder) == "interrupted" and "0 of 4 episodes are done" in ended.out


def test_faults_that_pass_change_no_figure_but_that_of_calls(
    run, api, fault_server, rows, whole, tmp_path
):
    fault_server.faults.extend(["500", "", "429 0.05", "half", "", "send {", "hangup"])
    assert run("evaluate", *api, f"hydra.run.dir={tmp_path}/cut").code == 0
    (row,) = rows(tmp_path / "cut" / "metrics.jsonl")
    (expected,) = rows(whole[0] / "metrics.jsonl")
    assert row.pop("eval/calls") == expected.pop("eval/calls") + 5 / 4
    assert row == expected


def test_a_finished_evaluation_asks_nothing(run, api, fault_server, copied, whole):
    assert run("evaluate", *api, f"hydra.run.dir={copied}", "resume=true").code == 0
    assert fault_server.calls == 0 and figures(copied) == figures(whole[0])


def test_where_and_how_patiently_it_asks_may_change_and_nothing_else(run, api, copied):
    command = ["evaluate", *api, f"hydra.run.dir={copied}"]
    assert run(*command, "agent.limits.concurrency=8", "resume=true").code == 0
    outcome = run(*command, "agent.model=other", "resume=true")
    assert outcome.code == 1 and "agent.model: was 'm', now 'other'" in outcome.message
    outcome = run(*command)
    assert outcome.code == 1 and "or resume=true to continue" in outcome.message


def test_a_key_is_nowhere_in_the_run_folder(run, api, fault_server, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-123")
    # The first batch is answered, so that there is a folder with rows: 32 calls in 2 batches.
    fault_server.faults.extend([*[""] * 16, "refuse bad key secret-123"])
    folder = tmp_path / "run"
    outcome = run("evaluate", *api, "agent.api_key_env=MY_KEY", f"hydra.run.dir={folder}")
    assert outcome.code == 1 and "***" in outcome.message
    assert fault_server.keys == ["Bearer secret-123"] * 17
    written = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert written and not any(b"secret-123" in text for text in written)
    assert "secret-123" not in outcome.out + outcome.err


@pytest.mark.slow
def test_a_local_policy_killed_midway_plays_no_finished_episode_again(
    run, processes, policy_folder, tmp_path
):
    command = [
        "evaluate",
        f"agent.model={policy_folder}",
        "agent.sampling.max_reply_tokens=6",
        "evaluation.tasks=10",
        "evaluation.batch=2",
        "threads=1",
    ]
    reply = "laconic.learners.agents.hf.HFPolicy.reply"
    for greedy in ("true", "false"):
        how = f"evaluation.greedy={greedy}"
        whole, cut = tmp_path / f"whole_{greedy}", tmp_path / f"cut_{greedy}"
        assert run(*command, how, f"hydra.run.dir={whole}").code == 0
        # Two rounds of two tasks at a time: killed in the second round of the second batch.
        cut_command = [*command, how, f"hydra.run.dir={cut}"]
        assert processes.run(*cut_command, die=(reply, 4, "before")).code == -9
        # Four batches are left, eight calls; a ninth would kill it.
        again = processes.run(*cut_command, "resume=true", die=(reply, 9, "before"))
        assert again.code == 0, again.err
        assert figures(cut) == figures(whole)


def test_a_server_speaks_for_some_of_a_mixed_team(run, api, fault_server, rows, tmp_path):
    sizes = [text for text in api if not text.startswith("agent")]
    own = [text for text in api[1:] if "agent." in text]
    member = [text.replace("agent.", "agent.members.helper.") for text in own]
    outcome = run(
        "evaluate",
        *sizes,
        "agent=mixed",
        "agent@agent.members.helper=api",
        "agent@agent.members.solver=scripted",
        *member,
        "~agent.members.solver.frozen",
        f"hydra.run.dir={tmp_path}/run",
    )
    assert outcome.code == 0, outcome.err
    (row,) = rows(tmp_path / "run" / "metrics.jsonl")
    # Three helpers in two rounds of four episodes.
    assert fault_server.calls == 24 and row["eval/calls"] == 6


def test_a_training_of_it_is_refused(run, small, tmp_path):
    sizes = [text for text in small if not text.startswith("agent.")]
    outcome = run("train", *sizes, "agent=api", "agent.model=m", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1
    assert "no agent of the team has weights to train (solver_0: ApiPolicy" in outcome.message


def test_an_expert_of_a_server_is_built_from_the_command_line(run, fault_server, tmp_path):
    fault_server.say = lambda body: "Mind the units."
    outcome = run(
        "evaluate",
        "env=tldr",
        "env.rounds=2",
        "agent=scripted",
        "evaluation.tasks=2",
        "threads=1",
        "env.feedback=expert",
        "+env.expert._target_=laconic.extras.api.ApiExpert",
        "+env.expert.model=m",
        f"+env.expert.base_url={fault_server.base_url}",
        f"hydra.run.dir={tmp_path}/run",
    )
    assert outcome.code == 0, outcome.err
    # Both authors of both episodes, between the two rounds.
    assert fault_server.calls == 4
