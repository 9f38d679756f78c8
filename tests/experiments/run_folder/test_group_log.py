"""Training groups on disk: the choice of groups, and their number."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from logged_groups import CONTRAST, FLAT, learner
from small_models import tiny_tokenizer  # noqa: F401 - a fixture

from laconic.experiments.run_folder import group_log
from laconic.experiments.run_folder.folder import RunFolder, read_rows
from laconic.experiments.run_folder.group_log import log_group, nearest, token_texts
from laconic.learners.episode import Group


def test_a_group_with_contrast_is_written_in_the_first_update_and_every_tenth(tmp_path) -> None:
    folder, groups = RunFolder(tmp_path), (FLAT, CONTRAST)
    for step in range(1, 32):
        log_group(folder, learner(*groups), groups, step)
    rows = read_rows(folder.groups)
    assert [row["step"] for row in rows] == [1, 10, 20, 30]
    # X = 1 - 0.4 and 0 - 1.2, around -0.3.
    first, second = rows[0]["sequences"]
    assert [first[key] for key in ("task", "cost", "value")] == [1.0, 0.4, 0.6]
    assert (first["center"], first["scale"], first["advantage"]) == pytest.approx((-0.3, 1.0, 0.9))
    assert second["advantage"] == pytest.approx(-0.9)
    turn = rows[0]["episodes"][0]["turns"][0]
    assert (turn["reply_ids"], turn["logprobs"]) == ([2] * 10, [-0.123457] * 10)
    # -0.123456789 + 0.1.
    assert turn["learned"] is True
    assert (turn["texts"], turn["logprobs_after"]) == ([" so"] * 10, [-0.023457] * 10)


def test_with_sharded_weights_only_what_was_sampled_is_recorded(tmp_path) -> None:
    folder, sharded = RunFolder(tmp_path), learner(CONTRAST)
    sharded._processes = SimpleNamespace(sharded=True)
    log_group(folder, sharded, (CONTRAST,), 1)
    turn = read_rows(folder.groups)[0]["episodes"][0]["turns"][0]
    assert turn["learned"] is True and "logprobs_after" not in turn and turn["texts"]


def test_the_texts_of_tokens_are_those_behind_the_token_before(tiny_tokenizer) -> None:  # noqa: F811
    ids = tiny_tokenizer("Ann has 12 apples.")["input_ids"]
    texts = token_texts(tiny_tokenizer, ids)
    assert len(texts) == len(ids) > 4 and "".join(texts) == tiny_tokenizer.decode(ids)
    assert token_texts(tiny_tokenizer, ()) == []


def test_a_real_update_leaves_the_log_probabilities_before_and_after_it(
    run, small, tmp_path
) -> None:
    outcome = run("train", *small, "train.steps=1", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    (row,) = read_rows(tmp_path / "run" / "groups.jsonl")
    turns = [turn for episode in row["episodes"] for turn in episode["turns"]]
    assert turns and all(len(turn["texts"]) == len(turn["reply_ids"]) for turn in turns)
    pairs = [
        (before, after)
        for turn in turns
        for before, after in zip(turn["logprobs"], turn["logprobs_after"], strict=True)
    ]
    # The update moved the tokens, and not far.
    assert any(before != after for before, after in pairs)
    assert all(abs(before - after) < 1.0 for before, after in pairs)


def test_a_group_of_another_run_is_not_written_and_a_flat_one_only_alone(tmp_path) -> None:
    folder = RunFolder(tmp_path)
    foreign = Group("t", CONTRAST.episodes, own=False)
    log_group(folder, learner(foreign, FLAT), (foreign, FLAT), 1)
    (row,) = read_rows(folder.groups)
    assert [each["advantage"] for each in row["sequences"]] == [0.0, 0.0]
    log_group(folder, learner(foreign), (foreign,), 10)
    log_group(folder, SimpleNamespace(), (CONTRAST,), 20)
    assert len(read_rows(folder.groups)) == 1


def test_a_full_file_loses_every_second_group(tmp_path, monkeypatch) -> None:
    folder = RunFolder(tmp_path)
    log_group(folder, learner(CONTRAST), (CONTRAST,), 1)
    size = folder.groups.stat().st_size
    monkeypatch.setattr(group_log, "MOST_BYTES", 4 * size + 200)
    for step in range(10, 60, 10):
        log_group(folder, learner(CONTRAST), (CONTRAST,), step)
        assert folder.groups.stat().st_size <= group_log.MOST_BYTES
    # 1 10 20 30 fit; with 40 every second goes, and 50 fits again.
    assert [row["step"] for row in read_rows(folder.groups)] == [1, 20, 40, 50]


def test_a_resumed_run_drops_groups_after_its_checkpoint(tmp_path) -> None:
    folder = RunFolder(tmp_path)
    for step in (1, 10, 20):
        log_group(folder, learner(CONTRAST), (CONTRAST,), step)
    folder.rewind(12)
    assert [row["step"] for row in read_rows(folder.groups)] == [1, 10]


@pytest.mark.parametrize(("step", "expected"), [(None, 20), (4, 1), (6, 10), (15, 10), (999, 20)])
def test_the_nearest_group_is_taken(tmp_path, step, expected) -> None:
    folder = RunFolder(tmp_path)
    for each in (1, 10, 20):
        log_group(folder, learner(CONTRAST), (CONTRAST,), each)
    row = nearest(folder.groups, step)
    assert row is not None and row["step"] == expected
