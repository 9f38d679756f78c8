"""The folder of a program that stops at a mistake is removed, unless it holds other files."""

from __future__ import annotations

import pytest

from laconic.experiments.command_line.new_folder import expect, remove


def begin(folder, *names):
    expect(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    return folder


def test_a_new_folder_goes_with_the_parents_that_were_made_for_it(tmp_path):
    folder = begin(tmp_path / "outputs" / "today" / "now", ".hydra/config.yaml", "train.log")
    assert remove(folder)
    assert list(tmp_path.iterdir()) == []


def test_parents_that_were_there_or_hold_another_run_stay(tmp_path):
    (tmp_path / "outputs").mkdir()
    folder = begin(tmp_path / "outputs" / "today" / "now", "config.yaml")
    other = tmp_path / "outputs" / "today" / "earlier"
    other.mkdir()
    assert remove(folder)
    assert [path.name for path in (tmp_path / "outputs" / "today").iterdir()] == ["earlier"]
    other.rmdir()
    (tmp_path / "outputs" / "today").rmdir()
    assert remove(begin(tmp_path / "outputs" / "now", "status.json"))
    assert (tmp_path / "outputs").is_dir()


@pytest.mark.parametrize("name", ["metrics.jsonl", "engine/vllm.txt", "notes.md"])
def test_a_folder_with_rows_or_anything_else_stays(tmp_path, name):
    folder = begin(tmp_path / "run", ".hydra/config.yaml", name)
    assert not remove(folder)
    assert (folder / name).exists() and (folder / ".hydra" / "config.yaml").exists()


def test_a_folder_that_was_there_before_stays(tmp_path):
    (tmp_path / "run").mkdir()
    assert not remove(begin(tmp_path / "run", "config.yaml"))
    assert (tmp_path / "run" / "config.yaml").exists()


def test_a_folder_goes_once(tmp_path):
    folder = begin(tmp_path / "run", "config.yaml")
    assert remove(folder)
    folder.mkdir()
    assert not remove(folder)
