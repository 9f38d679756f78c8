from __future__ import annotations

import json

import pytest

from laconic import envs
from laconic.envs.benchmarks.sources import held_out
from laconic.envs.errors import SettingError, SplitError
from laconic.envs.task import Task

TASKS = tuple(Task(f"t/{number}", f"question {number}", (), "1") for number in range(10))


def test_the_two_parts_are_the_whole_in_order_and_the_share_is_as_large_as_said():
    train, evaluation = (held_out(TASKS, split, 0.3, 0) for split in ("train", "evaluation"))
    assert len(evaluation) == 3 and sorted(train + evaluation, key=TASKS.index) == list(TASKS)
    assert list(train) == sorted(train, key=TASKS.index)


def test_the_seed_decides_which_they_are_and_nothing_else_does():
    first, again, other = (held_out(TASKS, "evaluation", 0.3, seed) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize(("share", "count"), [(0.001, 1), (0.999, 9), (0.25, 2)])
def test_either_part_has_a_task(share, count):
    # 0.25 of 10 is 2.5, which Python rounds to the even number.
    assert len(held_out(TASKS, "evaluation", share, 0)) == count


def test_one_task_cannot_be_parted():
    with pytest.raises(SettingError, match="needs two tasks to part; got 1"):
        held_out(TASKS[:1], "train", 0.5, 0)


def write(path, count):
    rows = [{"question": f"What is {n} + 1?", "answer": f"#### {n + 1}"} for n in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("name", ["all.jsonl", "train.jsonl", "test.jsonl"])
def test_an_environment_of_a_file_or_of_a_folder_with_one_split_has_both_parts(tmp_path, name):
    write(tmp_path / name, 8)
    source = str(tmp_path / name if name == "all.jsonl" else tmp_path)
    parts = {
        split: {*envs.make("gsm8k", free=True, source=source, split=split, holdout=0.25).tasks}
        for split in ("train", "evaluation")
    }
    assert [len(value) for value in parts.values()] == [6, 2]
    assert not parts["train"] & parts["evaluation"]
    assert len(envs.make("gsm8k", free=True, source=source, holdout=0.25, tasks=3).tasks) == 3


def test_a_folder_without_the_split_says_so_and_a_share_must_be_one(tmp_path):
    write(tmp_path / "test.jsonl", 3)
    with pytest.raises(SplitError, match=r"expected train.jsonl .* the folder holds test.jsonl"):
        envs.make("gsm8k", free=True, source=str(tmp_path), split="train")
    for share in (0, 1, -0.1, True, "half"):
        with pytest.raises(SettingError, match=r"^env\.holdout must be"):
            envs.make("gsm8k", free=True, source=str(tmp_path), holdout=share)
