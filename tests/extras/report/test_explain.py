"""Explanation of the advantages of a logged group."""

from __future__ import annotations

import json

import pytest
from logged_groups import CONTRAST, learner

from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.run_folder.group_log import log_group
from laconic.extras.report import explain


def test_the_table_has_every_number_of_the_sum(tmp_path, capsys) -> None:
    log_group(RunFolder(tmp_path), learner(CONTRAST), (CONTRAST,), 1)
    explain.main([str(tmp_path), "step=7"])
    output = capsys.readouterr().out
    assert output.startswith("note: no group was recorded at step 7; this is the nearest one")
    assert "step 1, task t, 2 episodes" in output and "s_0" in output
    cells = ["0", "yes", "10", "1.000", "0.400", "0.600", "-0.300", "1.000", "0.900"]
    assert cells in [line.split() for line in output.splitlines()]
    assert "A = (1.000 - 0.400 - (-0.300)) / 1.000 = 0.900" in output
    assert "\n1 of 2 episodes solved\n" in output
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{folder}/none"], "there is no folder"),
        (["{folder}"], "has no group in groups.jsonl"),
    ],
)
def test_mistakes_are_answered_in_one_line(tmp_path, capsys, arguments, words) -> None:
    with pytest.raises(SystemExit) as stopped:
        explain.main([each.format(folder=tmp_path) for each in arguments])
    output = capsys.readouterr().err
    assert stopped.value.code == 1 and words in output and output.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["step=1"], ["1"]])
def test_a_step_that_was_recorded_needs_no_note(tmp_path, capsys, arguments) -> None:
    log_group(RunFolder(tmp_path), learner(CONTRAST), (CONTRAST,), 1)
    explain.main([str(tmp_path), *arguments])
    assert capsys.readouterr().out.startswith("step 1, task t, 2 episodes\n")


@pytest.mark.parametrize("row", [{}, {"task": "t"}, {"episodes": 3, "sequences": [{}]}])
def test_a_file_of_another_form_is_refused_in_one_line(tmp_path, capsys, row) -> None:
    (tmp_path / "groups.jsonl").write_text(json.dumps({"step": 1, **row}) + "\n")
    with pytest.raises(SystemExit):
        explain.main([str(tmp_path)])
    assert "does not hold groups as this version" in capsys.readouterr().err
