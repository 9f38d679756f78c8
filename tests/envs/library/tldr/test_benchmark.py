from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from places import DATA
from written import check_refused, write

from laconic import envs
from laconic.envs.benchmarks.sources import rows
from laconic.envs.library.tldr.benchmark import BENCHMARK, Tldr
from laconic.envs.task import Task

ROOT = DATA
DATA = ROOT / "tldr"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no TLDR posts in {DATA}")

ROW = {
    "instruction": "I lost a key.\n\nWhat now? ",
    "title": "A key",
    "subreddit": "advice",
    "gold_response": " Key lost. ",
}
HUB_ROW = {
    "prompt": "SUBREDDIT: r/advice\n\nTITLE: A key\n\nPOST: I lost a key.\n\nWhat now?\n\nTL;DR:",
    "completion": " Key lost.",
}


def test_it_is_the_benchmark_of_its_name() -> None:
    assert isinstance(envs.benchmark("tldr"), Tldr)
    assert BENCHMARK.roles == ("concise", "detailed")


def test_a_post_is_read_with_its_heading_and_its_summary(tmp_path: Path) -> None:
    (task,) = BENCHMARK.load(write(tmp_path / "own.jsonl", ROW))
    question = "SUBREDDIT: r/advice\n\nTITLE: A key\n\nPOST: I lost a key.\n\nWhat now?"
    assert task == Task("own/1", question, (), "Key lost.")


def test_a_row_of_the_hub_is_the_same_task(tmp_path: Path) -> None:
    (own,) = BENCHMARK.load(write(tmp_path / "own.jsonl", ROW))
    assert BENCHMARK.load(write(tmp_path / "own.jsonl", HUB_ROW)) == (own,)


def test_a_folder_has_a_file_for_each_part(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", ROW, HUB_ROW)
    write(tmp_path / "test.jsonl", HUB_ROW)
    assert [task.key for task in BENCHMARK.load(tmp_path, "train")] == ["train/1", "train/2"]
    assert [task.key for task in BENCHMARK.load(tmp_path)] == ["test/1"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**ROW, "instruction": " "}, "expected a post; the field 'instruction' is empty"),
        ({**ROW, "instruction": None}, "field 'instruction' to be a str; got NoneType None"),
        ({**ROW, "title": 3}, "field 'title' to be a str; got int 3"),
        ({"instruction": "A.", "title": "B"}, "expected the field 'subreddit'"),
        ({**ROW, "gold_response": ["a"]}, "field 'gold_response' to be a str; got list"),
        ({"prompt": "A post."}, "expected the field 'completion'"),
        ({"prompt": " TL;DR:", "completion": ""}, "the field 'prompt' is empty"),
        ({"intsruction": "A."}, "Did you mean 'intsruction'"),
        (["a"], "expected a JSON object"),
    ],
)
def test_a_bad_row_is_refused_with_file_and_line(tmp_path: Path, row: Any, message: str) -> None:
    check_refused(BENCHMARK, tmp_path, ROW, row, message)


@needs_data
def test_all_real_rows_load_and_lose_no_word() -> None:
    tasks = BENCHMARK.load(DATA)
    assert len(tasks) == len({task.key for task in tasks}) == 250
    for task, (_, row) in zip(tasks, rows(DATA), strict=True):
        assert row["instruction"].strip() in task.question and row["title"] in task.question
        assert task.answer == row["gold_response"].strip()
        assert (task.statements, task.drafts) == ((), {})


@needs_data
def test_everybody_reads_the_whole_of_a_real_post() -> None:
    team = {"concise": 1, "detailed": 1}
    env = envs.make(
        "tldr", free=True, source=str(DATA), split="evaluation", team=team, answer="joint"
    )
    observations, infos = env.reset(seed=0)
    for agent in env.possible_agents:
        assert env.task.question in observations[agent]["text"]
        assert (infos[agent]["answering"], infos[agent]["share"]) == (True, ())


def test_no_words_are_free_of_charge() -> None:
    (task,) = BENCHMARK.generate(0, 1)
    for text in ("#### 4", task.answer, task.answer_text, ""):
        assert BENCHMARK.committed(text) is None


def test_every_role_gets_instructions() -> None:
    for role in (*BENCHMARK.roles, "verifier"):
        assert "8 to 256 words" in BENCHMARK.instructions(role)


def test_at_price_zero_a_return_is_the_score_of_every_round() -> None:
    team = {"concise": 1, "detailed": 1}
    env = envs.make(
        "tldr", free=True, team=team, answer="joint", rounds=2, reward={"paid": "round"}
    )
    env.reset(seed=0)
    drafts = env.task.drafts
    poor = {"concise_0": drafts["concise"][0], "detailed_0": drafts["detailed"][2]}
    assert list(env.step(poor)[1].values()) == [1.5, 1.5]
    # The concise author lets its text stand.
    rewards = env.step({"detailed_0": drafts["detailed"][0]})[1]
    assert list(rewards.values()) == pytest.approx([2.82, 2.82])
