from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from omegaconf import OmegaConf

from laconic import envs
from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.run_folder.runs import read_transcript
from laconic.experiments.session.evaluation import (
    EvaluationRun,
    digest,
    distance_to_best,
    evaluate,
    evaluation_starts,
    make_hooks,
    play_greedily,
    play_within,
    record,
    transcript,
)
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.episode import Episode, Turn
from laconic.learners.rollout.play import Start

CFG = OmegaConf.create()


@pytest.fixture
def environments():
    return [
        envs.make(
            "gsm8k",
            free=True,
            tasks=5,
            split="evaluation",
            information="split",
            generator={"level": 1},
        )
        for _ in range(2)
    ]


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


def test_every_task_is_started_once_with_the_same_seed_at_every_evaluation(environments):
    starts = evaluation_starts(environments)
    assert [start.task for start in starts] == list(environments[0].tasks)
    assert [start.seed for start in starts] == [0, 1, 2, 3, 4]
    assert starts == evaluation_starts(environments[1:])
    assert evaluation_starts(environments, most=2) == starts[:2]


def test_an_environment_without_task_keys_plays_the_configured_number_of_episodes():
    assert evaluation_starts([object()], most=3) == [Start(0), Start(1), Start(2)]
    assert len(evaluation_starts([object()])) == 256


def test_an_evaluation_is_recorded_and_its_metrics_returned(environments, folder, rows):
    policies = ScriptedTeam("oracle").policies(environments[0])
    starts = evaluation_starts(environments)
    metrics = evaluate(EvaluationRun(CFG, environments, policies, starts, folder, step=7), 2)
    assert metrics["eval/accuracy"] == 1.0
    (row,) = rows(folder.evaluations)
    assert row["step"] == 7 and row["episodes"] == 5
    # 5 of 5 solved: the Wilson interval ends at 1 and begins at 5 / (5 + 1.96^2) = 0.5655.
    assert row["intervals"]["accuracy"] == {
        "mean": 1.0,
        "low": pytest.approx(0.565518, abs=1e-6),
        "high": 1.0,
        "count": 5,
    }
    assert {f"eval/{name}" for name in row["intervals"]} == set(metrics)
    transcripts = rows(folder.transcripts)
    assert [row["task"] for row in transcripts] == list(environments[0].tasks)[:2]
    assert all(row["solved"] and row["answer"] == row["reference"] for row in transcripts)


def test_an_evaluation_plays_as_many_tasks_as_fit_into_its_time(environments, folder, rows):
    policies = ScriptedTeam("oracle").policies(environments[0])
    starts = evaluation_starts(environments) * 4
    run = EvaluationRun(CFG, environments, policies, starts, folder)
    # Twenty starts: a first portion of 8, then at most three times as many as before.
    everything, nothing_more = play_within(run, 1e9), play_within(run, 0.0)
    assert [len(result.episodes) for result in (everything, nothing_more)] == [20, 8]
    assert nothing_more.starts == starts[:8] and everything.starts == starts
    evaluate(nothing_more, 0)
    assert rows(folder.evaluations)[-1]["episodes"] == 8
    assert list(nothing_more.episodes) == list(everything.episodes)[:8]


def test_hooks_after_an_evaluation_add_figures_metrics_and_facts(
    environments, folder, rows, outside
):
    nodes = {"first": {"_target_": "after.Longest"}}
    nodes |= {"second": {"_target_": "after.count_episodes", "prefix": "yours"}}
    hooks = make_hooks(OmegaConf.create(nodes))
    policies = ScriptedTeam("silent").policies(environments[0])
    starts = evaluation_starts(environments)
    metrics = evaluate(EvaluationRun(CFG, environments, policies, starts, folder), 0, hooks)
    assert (metrics["eval/longest_message"], metrics["yours/episodes"]) == (0.0, 5.0)
    (row,) = rows(folder.evaluations)
    assert row["intervals"]["longest_message"]["mean"] == 0.0 and row["yours"] == "noted"
    # A resumed run drops its rows after the checkpoint, as those of all files.
    assert rows(folder.path / "yours.jsonl") == [{"step": 0}]
    folder.rewind(-1)
    assert rows(folder.path / "yours.jsonl") == []


def test_nothing_runs_after_it_by_default():
    assert make_hooks(None) == make_hooks(OmegaConf.create()) == []


def test_no_transcripts_are_kept_where_none_are_wanted(environments, folder, rows):
    policies = ScriptedTeam("silent").policies(environments[0])
    starts = evaluation_starts(environments)
    evaluate(EvaluationRun(CFG, environments, policies, starts, folder), 0)
    assert rows(folder.transcripts) == []


def test_no_episode_at_all_is_recorded_as_such(environments, folder, rows):
    record(EvaluationRun(CFG, environments, {}, [], folder), 3)
    row = {"step": 0, "episodes": 0, "intervals": {}, "tasks": digest([]), "outcomes": {}}
    assert rows(folder.evaluations) == [row]


def test_outcomes_are_kept_by_task(environments, folder, rows):
    policies = ScriptedTeam("silent").policies(environments[0])
    starts = evaluation_starts(environments, 3)
    for run in (starts, starts[::-1]):
        evaluate(EvaluationRun(CFG, environments, policies, run, folder), 0)
    row, other = rows(folder.evaluations)
    assert row["outcomes"]["accuracy"] == {"sums": [0.0] * 3, "counts": [1.0] * 3}
    # Nobody speaks, so all turns of those who hold something count, and none of them was used.
    informed = row["outcomes"]["spoke_if_informed"]
    assert sum(informed["sums"]) == 0 and sum(informed["counts"]) > 0
    assert row["tasks"] == digest(starts) != other["tasks"]


def test_a_part_of_an_evaluation_is_compared_with_no_other(environments, folder, rows):
    policies = ScriptedTeam("silent").policies(environments[0])
    starts = evaluation_starts(environments, 3)
    run = EvaluationRun(CFG, environments, policies, starts, folder)
    record(replace(run, episodes=play_greedily(run, starts[:2])), 0)
    assert rows(folder.evaluations)[0]["tasks"] == ""


def test_a_transcript_has_every_message_and_the_outcome(environments):
    task = next(iter(environments[0].tasks.values()))
    episode = Episode(
        task=task.key,
        turns=(
            Turn("helper_0", 0, "two", tokens_said=1, informed=True),
            Turn("solver_0", 1, "#### 2", tokens_said=3, cut=True, read="Go on.", truncated=True),
        ),
        rewards={"helper_0": (0.0, 1.0), "solver_0": (0.0, 1.0)},
        score=1.0,
        solved=True,
        answer="2",
        tokens_said={"helper_0": 1, "solver_0": 3},
        task_rewards={"helper_0": (0.0, 1.0), "solver_0": (0.0, 1.0)},
        bills={"helper_0": (0.1, 0.0), "solver_0": (0.0, 0.0)},
        ended_by="answer",
    )
    turn = {"agent": "helper_0", "round": 0, "text": "two", "tokens": 1}
    assert json.loads(json.dumps(transcript(episode, task, step=4).row())) == {
        "step": 4,
        "task": task.key,
        "question": task.question,
        "statements": list(task.statements),
        "reference": task.answer,
        "messages": [
            {**turn, "cut": False, "informed": True, "truncated": False, "read": ""},
            {
                "agent": "solver_0",
                "round": 1,
                "text": "#### 2",
                "tokens": 3,
                "cut": True,
                "informed": None,
                "truncated": True,
                "read": "Go on.",
            },
        ],
        "solved": True,
        "score": 1.0,
        "answer": "2",
        "tokens_said": 4,
        "rewards": {"helper_0": [0.0, 1.0], "solver_0": [0.0, 1.0]},
        "task_rewards": {"helper_0": [0.0, 1.0], "solver_0": [0.0, 1.0]},
        "bills": {"helper_0": [0.1, 0.0], "solver_0": [0.0, 0.0]},
        "ended_by": "answer",
    }


def test_a_transcript_is_read_with_or_without_rewards():
    paid = Episode("a", (), {"b_0": (0.5,)}, task_rewards={"b_0": (1.0,)}, bills={"b_0": (0.5,)})
    for episode in (paid, Episode("a", (), {"b_0": (0.5,)}), Episode("a", (), {})):
        row = json.loads(json.dumps(transcript(episode, None, step=0).row()))
        assert read_transcript(row) == transcript(episode, None, step=0)
    # What strangers wrote there is no error.
    odd = read_transcript({"step": 0, "task": "a", "bills": {"b_0": ["x", 1], "c_0": 7}})
    assert odd.bills["b_0"][1:] == (1.0,) and math.isnan(odd.bills["b_0"][0])
    assert odd.bills["c_0"] == () and odd.rewards == {}


def test_a_transcript_without_a_task_leaves_its_words_empty():
    row = transcript(Episode("5", (), {}), None, step=0)
    assert (row.task, row.question, row.statements, row.reference) == ("5", "", (), "")


def test_a_transcript_has_thoughts_only_if_there_are_any():
    turns = (
        Turn("helper_0", 0, "two", tokens_said=1, thought="hm, two", tokens_thought=3),
        Turn("solver_0", 1, "#### 2", tokens_said=3),
    )
    tokens_said, thought = {"helper_0": 1, "solver_0": 3}, {"helper_0": 3, "solver_0": 0}
    thinking = Episode("a", turns, {}, tokens_said=tokens_said, tokens_thought=thought)
    row = transcript(thinking, None, step=0).row()
    assert (row["tokens_said"], row["tokens_thought"]) == (4, 3)
    thoughts = [(message["thought"], message["tokens_thought"]) for message in row["messages"]]
    assert thoughts == [("hm, two", 3), ("", 0)]
    plain = transcript(Episode("a", turns[1:], {}, tokens_said=tokens_said), None, step=0).row()
    assert not {"thought", "tokens_thought"} & {*plain, *plain["messages"][0]}


def test_an_evaluation_of_all_states_is_exact_and_says_the_distance_to_the_best(folder, rows):
    price = {"price": 0.2, "normalizer": 2}
    worlds = [envs.make("jury", split="evaluation", reward=price) for _ in range(64)]
    starts = evaluation_starts(worlds)
    assert sum(start.weight for start in starts) == pytest.approx(1)
    policies = ScriptedTeam("verbose").policies(worlds[0])
    run = EvaluationRun(CFG, worlds, policies, starts, folder)
    metrics = evaluate(run, 0)
    # The best rule at 0.1 a word says half a word; everybody's three words earn .8419 - .3.
    assert metrics["eval/accuracy"] == pytest.approx(0.841884, abs=1e-6)
    assert metrics["eval/distance_to_best"] == pytest.approx(
        (0.82321 - 0.05) - (0.841884 - 0.3), abs=2e-5
    )
    (row,) = rows(folder.evaluations)
    assert row["intervals"]["distance_to_best"]["mean"] == metrics["eval/distance_to_best"]
    assert math.isnan(float(row["intervals"]["accuracy"]["low"] or math.nan))
    assert distance_to_best(replace(run, environments=[object()])) is None
