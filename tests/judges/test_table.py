"""The page of the judges' outcomes; runs everywhere."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def table() -> Any:
    spec = importlib.util.spec_from_file_location("table", Path(__file__).with_name("table.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def write(tmp_path: Path, table: Any) -> Any:
    """Writes rows of a client and the page; returns the exit status and the page."""

    def make(*rows: dict[str, Any], modules: tuple[str, ...] = ("torchrl",)) -> tuple[int, str]:
        common = {"client": "TorchRL", "version": "0.14.1", "beside": {"python": "3.11"}}
        common |= {"face": "Text gsm8k", "check": "a", "outcome": "passes", "note": ""}
        whole = [{"figures": {}, **common, **row} for row in rows]
        (tmp_path / "torchrl.json").write_text(json.dumps(whole))
        page = tmp_path / "page.md"
        return table.main(tmp_path, page, list(modules)), page.read_text()

    return make


def test_views_benchmarks_and_checks_with_one_outcome_share_a_line(
    write: Any, tmp_path: Path
) -> None:
    faces = [f"{view} {name}" for view in ("Text", "Ids") for name in ("gsm8k", "math")]
    rows = [{"face": face, "check": check} for face in faces for check in "ab"]
    status, page = write(*rows, {"face": "Text tldr"})
    assert status == 0
    assert "| TorchRL 0.14.1 | Text; Ids | gsm8k, math, tldr | passes |  |\n" in page
    # The table beside the page has what was checked.
    assert (tmp_path / "evidence" / "judges.csv").read_text().splitlines() == [
        "client,view,benchmark,check,outcome,note",
        'TorchRL 0.14.1,Text; Ids,"gsm8k, math",a; b,passes,',
        "TorchRL 0.14.1,Text,tldr,a,passes,",
    ]


def test_a_failure_and_a_module_that_did_not_run_are_shown_and_end_in_an_error(write: Any) -> None:
    status, page = write({"outcome": "failed: KeyError"})
    assert status == 1 and "| failed: KeyError |" in page
    status, page = write({}, modules=("torchrl", "sb3"))
    assert status == 1 and "| sb3 |  | - | failed: " in page


def test_seeds_share_an_outcome_and_have_figures_of_their_own(write: Any) -> None:
    rows = [{"outcome": "learns", "figures": {"seed": seed, "solved": 0.9}} for seed in (0, 1)]
    _, page = write(*rows)
    assert page.count("| learns |") == 1
    assert "| seed | solved |\n| --- | --- |\n| 0 | 0.900 |\n| 1 | 0.900 |\n" in page
