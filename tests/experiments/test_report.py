"""The report as a program: what it prints, where it writes, what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from laconic.experiments.report import main, write_report


@pytest.fixture
def run(tmp_path: Path, build_run: Callable[..., Path]) -> Path:
    return build_run(tmp_path / "run", steps=4, every=2)


def test_the_terminal_shows_the_table_and_the_paths(run: Path, tmp_path: Path) -> None:
    console = Console(width=160, record=True, quiet=False, file=(tmp_path / "out").open("w"))
    path = write_report(run, console)
    text = console.export_text()
    assert "tokens said" in text and "before training" in text
    assert str(path) in text.replace("\n", "")


def test_a_narrow_terminal_shows_changes_without_their_intervals(run: Path, tmp_path: Path) -> None:
    shown = {}
    for width in (90, 160):
        console = Console(width=width, record=True, file=(tmp_path / "out").open("w"))
        write_report(run, console)
        lines = console.export_text().splitlines()
        (shown[width],) = [line for line in lines if line.strip().startswith("tokens read")]
    # Brackets of the levels before and after, and on a wide one that of the change.
    assert (shown[90].count("["), shown[160].count("[")) == (2, 3)


@pytest.mark.slow
def test_a_report_of_the_same_folder_is_the_same_file(run: Path) -> None:
    first = write_report(run).read_bytes()
    assert write_report(run).read_bytes() == first


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_without_runs_is_refused_with_what_to_do(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "typo"
    if exists:
        folder.mkdir()
    with pytest.raises(FileNotFoundError, match="typo"):
        write_report(folder)


def test_the_command_ends_with_an_error_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "typo")])
    assert "expected the folder of a run" in capsys.readouterr().err
