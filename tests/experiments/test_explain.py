"""Training groups on disk, and how their advantages are explained."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from laconic.experiments import explain
from laconic.experiments.running import group_log
from laconic.experiments.running.group_log import log_group, nearest
from laconic.experiments.running.run_folder import RunFolder, read_rows
from laconic.learners.advantages.credit import own
from laconic.learners.advantages.group import Advantages
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.training.sequences import sequences_of


def episode(solved: bool, tokens: int) -> Episode:
    bill = 0.04 * tokens
    said = Turn("s_0", 0, "x" * tokens, (1,), (2,) * tokens, (-0.123456789,) * tokens, tokens)
    return Episode(
        "t",
        (said,),
        {"s_0": (float(solved) - bill,)},
        solved=solved,
        task_rewards={"s_0": (float(solved),)},
        bills={"s_0": (bill,)},
        common=True,
    )


FLAT = Group("t", (episode(False, 10), episode(False, 10)))
CONTRAST = Group("t", (episode(True, 10), episode(False, 30)))


def learner(*groups: Group) -> GroupLearner:
    """What an update of one policy has left, without the update."""
    made = GroupLearner.__new__(GroupLearner)
    unscaled = Advantages(scale="none")
    made.compared = [
        [sequences_of(each, credit=own, advantages=unscaled, charge_power=1.0) for each in groups]
    ]
    return made


def test_a_group_with_contrast_is_written_in_the_first_update_and_every_tenth(tmp_path) -> None:
    folder, groups = RunFolder(tmp_path), (FLAT, CONTRAST)
    for step in range(1, 32):
        log_group(folder, learner(*groups), groups, step)
    rows = read_rows(folder.groups)
    assert [row["step"] for row in rows] == [1, 10, 20, 30]
    # X = 1 - 0.5 x 0.4 and 0 - 0.5 x 1.2, around 0.1.
    first, second = rows[0]["sequences"]
    assert [first[key] for key in ("task", "cost", "factor", "value")] == [1.0, 0.4, 0.5, 0.8]
    assert (first["center"], first["scale"], first["advantage"]) == pytest.approx((0.1, 1.0, 0.7))
    assert second["advantage"] == pytest.approx(-0.7)
    turn = rows[0]["episodes"][0]["turns"][0]
    assert (turn["reply_ids"], turn["logprobs"]) == ([2] * 10, [-0.123457] * 10)


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


@pytest.mark.parametrize(("step", "found"), [(None, 20), (4, 1), (6, 10), (15, 10), (999, 20)])
def test_the_nearest_group_is_taken(tmp_path, step, found) -> None:
    folder = RunFolder(tmp_path)
    for each in (1, 10, 20):
        log_group(folder, learner(CONTRAST), (CONTRAST,), each)
    row = nearest(folder.groups, step)
    assert row is not None and row["step"] == found


def test_the_table_has_every_number_of_the_sum(tmp_path, capsys) -> None:
    log_group(RunFolder(tmp_path), learner(CONTRAST), (CONTRAST,), 1)
    explain.main([str(tmp_path), "step=7"])
    told = capsys.readouterr().out
    assert "step 1, task t, 2 episodes" in told and "s_0" in told
    cells = ["0", "yes", "10", "1.000", "0.400", "0.500", "0.800", "0.100", "1.000", "0.700"]
    assert cells in [line.split() for line in told.splitlines()]
    assert "A = (1.000 - 0.500 x 0.400 - (0.100)) / 1.000 = 0.700" in told
    assert "1 of 2 episodes solved; charge factor w = 0.500" in told
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{folder}/none"], "there is no folder"),
        (["{folder}"], "has no group in groups.jsonl"),
        (["{folder}", "step=x"], "expected step=<number>, e.g. step=20; got 'step=x'"),
    ],
)
def test_mistakes_are_answered_in_one_line(tmp_path, capsys, arguments, words) -> None:
    with pytest.raises(SystemExit) as stopped:
        explain.main([each.format(folder=tmp_path) for each in arguments])
    told = capsys.readouterr().err
    assert stopped.value.code == 1 and words in told and told.count("\n") == 1


@pytest.mark.parametrize("row", [{}, {"task": "t"}, {"episodes": 3, "sequences": [{}]}])
def test_a_file_of_another_form_is_refused_in_one_line(tmp_path, capsys, row) -> None:
    (tmp_path / "groups.jsonl").write_text(json.dumps({"step": 1, **row}) + "\n")
    with pytest.raises(SystemExit):
        explain.main([str(tmp_path)])
    assert "does not hold groups as this version" in capsys.readouterr().err
