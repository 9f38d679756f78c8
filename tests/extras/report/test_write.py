"""The program `report`: its output, its files, its errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from laconic.experiments.statistics.words import LABELS
from laconic.extras.report.write import main, write_report


@pytest.fixture
def run(tmp_path: Path, build_run: Callable[..., Path]) -> Path:
    return build_run(tmp_path / "run", steps=4, every=2)


def test_the_terminal_shows_the_table_and_the_paths(run: Path, tmp_path: Path) -> None:
    console = Console(width=160, record=True, quiet=False, file=(tmp_path / "out").open("w"))
    path = write_report(run, console)
    text = console.export_text()
    assert "tokens said" in text and "before training" in text
    assert str(path) in text.replace("\n", "")


@pytest.mark.usefixtures("without_pictures")
def test_a_narrow_terminal_shows_changes_without_their_intervals(run: Path, tmp_path: Path) -> None:
    line_at = {}
    for width in (100, 160):
        console = Console(width=width, record=True, file=(tmp_path / "out").open("w"))
        write_report(run, console)
        lines = console.export_text().splitlines()
        (line_at[width],) = [line for line in lines if line.strip().startswith("tokens read")]
    # Brackets of the levels before and after, and on a wide one that of the change.
    assert (line_at[100].count("["), line_at[160].count("[")) == (2, 3)


@pytest.mark.usefixtures("without_pictures")
def test_in_80_columns_no_label_and_no_number_is_broken(run: Path, tmp_path: Path) -> None:
    console = Console(width=80, record=True, file=(tmp_path / "out").open("w"))
    write_report(run, console)
    lines = console.export_text().partition("report:")[0].splitlines()
    assert max(map(len, lines)) <= 80
    starts = [line.strip() for line in lines]
    labels = [label for label in LABELS.values() if any(s.startswith(label) for s in starts)]
    assert {"tokens said", "silent with nothing useful", "spoke with something useful"} <= {*labels}
    # Every line begins with a whole label, or holds intervals below their means alone.
    table = starts[starts.index(next(start for start in starts if start.startswith("─"))) + 1 :]
    assert table
    for line in filter(None, table):
        begins = any(line.startswith(label) for label in labels)
        assert begins or re.fullmatch(r"(\[\S+, \S+\]\s*){0,2}([−+]\d+ %)?", line), line


@pytest.mark.usefixtures("without_pictures")
def test_in_80_columns_a_sweep_names_its_settings_and_shows_whole_intervals(
    tmp_path: Path, build_multirun: Callable[[Path], Path]
) -> None:
    console = Console(width=80, record=True, file=(tmp_path / "out").open("w"))
    write_report(build_multirun(tmp_path / "sweep"), console)
    lines = console.export_text().partition("report:")[0].splitlines()
    table = lines[next(i for i, line in enumerate(lines) if line.strip().startswith("─")) :]
    assert max(map(len, table)) <= 80
    first = "".join(line[:17].strip() for line in table)
    assert "beforetrainingenv.reward.price=0.0env.reward.price=0.5" in first
    assert "…" not in "".join(table)


@pytest.mark.usefixtures("without_pictures")
def test_a_report_is_called_by_its_environment_learner_and_seed(run: Path) -> None:
    config = (run / "config.yaml").read_text().replace("env:\n", "env:\n  name: math\n")
    learner = "learner: {_target_: laconic.learners.algorithms.group.GroupLearner}\n"
    (run / "config.yaml").write_text(config + learner)
    page = write_report(run).read_text()
    title = "math · group.GroupLearner · seed 0"
    assert f"<title>Laconic: {title}</title>" in page and f"<h1>{title}</h1>" in page
    # The folder stands below it.
    assert f'<p class="muted">{run.name} · ' in page


@pytest.mark.slow
def test_a_report_of_the_same_folder_is_the_same_file(run: Path) -> None:
    first = write_report(run).read_bytes()
    assert write_report(run).read_bytes() == first


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_without_runs_is_refused_with_advice(tmp_path: Path, exists: bool) -> None:
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
