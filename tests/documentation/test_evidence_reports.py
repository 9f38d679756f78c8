"""The reports beside the evidence say what its rows say."""

from __future__ import annotations

import html
import importlib
import re
import shutil
import sys

import pytest
from places import ROOT

from laconic.experiments.run_folder.runs import find_runs, read_run
from laconic.extras.report import sweep

EVIDENCE = ROOT / "docs" / "evidence"
pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None,
    reason="dates of some rows are those of their commits: needs a clone and git",
)


sys.path.append(str(EVIDENCE))
REPORTS = importlib.import_module("reports")


def means(cells: list[str]) -> list[str]:
    """Return the cells of a row without intervals, whose formula is that of the page's version."""
    return [re.sub(r" \[.*\]$", "", cell) for cell in cells]


def cells(page: str) -> list[list[str]]:
    """Return the text of the table's cells, row by row."""
    body = re.search(r"<tbody>(.*?)</tbody>", page, re.S)[1]
    return [
        [
            html.unescape(re.sub(r"<[^>]+>", "", cell))
            for cell in re.findall(r"<td>(.*?)</td>", row, re.S)
        ]
        for row in re.findall(r"<tr>(.*?)</tr>", body, re.S)
    ]


@pytest.mark.parametrize("name", REPORTS.SERIES)
def test_report_has_the_figures_of_its_rows(name, tmp_path):
    series = REPORTS.SERIES[name]
    for seed in series.seeds:
        REPORTS.lay_out(tmp_path / f"seed_{seed}", series, seed)
    sorted_out = sweep.sort_out([read_run(folder) for folder in find_runs(tmp_path)])
    assert len(sorted_out.runs) == len(series.seeds)
    recorded = cells((EVIDENCE / "reports" / f"{name}.html").read_text("utf-8"))
    now = [list(row) for row in sweep.rows(sorted_out)]
    assert len(now) >= 2
    assert [means(row) for row in recorded] == [means(row) for row in now]


def test_every_report_is_made_of_rows():
    pages = {path.stem for path in (EVIDENCE / "reports").glob("*.html")}
    assert pages == set(REPORTS.SERIES)
