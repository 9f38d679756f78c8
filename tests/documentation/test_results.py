"""The tables of the results are those that their rows give, and the README agrees with them."""

from __future__ import annotations

import importlib
import re
import sys

import pytest
from places import ROOT

EVIDENCE = ROOT / "docs" / "evidence"
sys.path.append(str(EVIDENCE))
RESULTS = importlib.import_module("results")
CLAIMS = importlib.import_module("claims")
LEDGER = importlib.import_module("ledger")
ROWS = importlib.import_module("rows")
PAGES = {path.name: path.read_text("utf-8") for path in sorted(RESULTS.PAGES.glob("*.md"))}
FIGURE = re.compile(r"-?\d+\.\d+(?: %)? \[-?\d+\.\d+, -?\d+\.\d+\]")
"""A mean with its interval."""
MEAN = re.compile(r"(?<![\w.=])\d+\.\d(?![\d.])")
"""A number with one decimal."""
MOST_LINES = 120
MOST_BYTES = 5_000_000


@pytest.mark.parametrize("name", PAGES)
def test_tables_of_a_page_are_those_of_its_rows(name):
    assert RESULTS.render(PAGES[name]) == PAGES[name], "run: make evidence-tables"
    assert len(PAGES[name].splitlines()) <= MOST_LINES


def test_every_table_stands_on_one_page_and_holds_figures():
    marks = re.findall(r"<!-- rows: (\w+) -->", "\n".join(PAGES.values()))
    assert sorted(marks) == sorted(RESULTS.TABLES)
    assert sum(bool(FIGURE.search(page)) for page in PAGES.values()) >= len(PAGES) - 1


def test_every_page_has_a_claim_and_every_claim_has_a_page():
    links = set(re.findall(r"\(([\w/.]+\.md)\)", " ".join(claim.text for claim in CLAIMS.CLAIMS)))
    inside = {link for link in links if not link.startswith("../")}
    assert inside == set(PAGES) - {"index.md"}
    for link in links:
        assert (RESULTS.PAGES / link).resolve().exists(), link


def test_every_claim_names_its_commit_command_and_limits():
    for claim in CLAIMS.CLAIMS:
        assert re.search(r"\b[0-9a-f]{8}\b", LEDGER.commits(claim)), claim.text
        assert claim.command and claim.seeds and claim.limits and claim.rate
        for run in claim.runs:
            assert ROWS.read(run) and ROWS.provenance(run), run


@pytest.mark.parametrize("name", sorted(set(PAGES) - {"index.md"}))
def test_a_page_has_the_form_of_all_pages(name):
    page = PAGES[name]
    parts = ("Question.", "Setup.", "Command.", "Expected results.", "What it does not show.")
    places = [page.find(f"**{part}**") for part in parts]
    assert -1 not in places and places == sorted(places)
    assert "```sh\n" in page
    assert "credit" in page.lower()


def test_pages_under_the_former_price_say_so_at_the_top():
    free = {"no price", *CLAIMS.PRESENT}
    former = {claim.text for claim in CLAIMS.CLAIMS if claim.rate not in free}
    names = {name for name in PAGES if any(f"({name})" in text for text in former)}
    marked = {name for name, page in PAGES.items() if "Made under the former price" in page[:300]}
    assert marked == names == {"former_price.md", "controls.md"}


def test_gspo_is_named_only_where_a_ratio_acted():
    naming = {name for name, page in PAGES.items() if "GSPO" in page}
    assert naming == {"former_price.md", "levels_default.md", "quickstart.md"}
    small = [f"harder/solved_{seed}" for seed in range(1, 6)]
    for run in (*small, *(f"gsm8k_harder/default_{seed}" for seed in range(3))):
        assert max(row.get("learner/ratio_max", 1.0) for row in ROWS.updates(run)) > 1.1
    once = ("gsm8k_level1/apart_1", "sports/at_once_7", "math/third_start_gspo_4")
    today = [f"gsm8k_level1/default_{seed}" for seed in (1, 2, 3)]
    for run in (*once, "gsm8k_harder/wordy_13", *today):
        # An update without contrast has no ratio.
        most = [row.get("learner/ratio_max", 1.0) for row in ROWS.updates(run)]
        assert len(most) >= (30 if run in today else 36)
        assert most == pytest.approx([1.0] * len(most))


def test_readme_has_no_figure_that_no_table_of_the_results_has():
    lines = [line for page in PAGES.values() for line in page.splitlines() if "|" in line]
    rows = [set(FIGURE.findall(line.replace("*", ""))) for line in lines]
    readme = (ROOT / "README.md").read_text("utf-8")
    checked = 0
    for line in readme.splitlines():
        figures = set(FIGURE.findall(line))
        if line.startswith("|") and figures:
            checked += 1
            assert any(figures <= row for row in rows), f"no row of docs/results/ has {line}"
    assert checked >= 2
    # Means of single seeds stand in one cell, without intervals.
    means = {mean for line in lines for mean in MEAN.findall(line)}
    section = readme.partition("## Results")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if "|" in line]
    on_page = [mean for line in table for mean in MEAN.findall(line)]
    assert len(on_page) >= 8
    assert [mean for mean in on_page if mean not in means] == []


def test_every_file_of_rows_is_read_by_a_table_a_picture_or_a_report(monkeypatch):
    pictures, reports = (importlib.import_module(name) for name in ("pictures", "reports"))
    used = {"provenance", *pictures.named(), *reports.named()}
    used |= {run for claim in CLAIMS.CLAIMS for run in claim.runs}
    read, table = ROWS.read.__wrapped__, ROWS.table.__wrapped__
    for module in map(importlib.import_module, ("rows", "figures", "values", "former")):
        monkeypatch.setattr(
            module, "read", lambda name: used.add(name) or read(name), raising=False
        )
        monkeypatch.setattr(module, "table", lambda name: used.add(name) or table(name))
    for make in RESULTS.TABLES.values():
        assert make()
    files = (str(path.relative_to(EVIDENCE)) for path in EVIDENCE.rglob("*"))
    matches = [re.fullmatch(r"(.+)\.(csv|jsonl|jsonl\.gz)", file) for file in files]
    names = {match[1] for match in matches if match}
    # Other pages link to these tables.
    linked = {
        "channel/numeric",
        "commons/numeric",
        "graders",
        "judges",
        "parity",
        "small/forms_comparison",
        "starts/one_policy",
        "starts/three_minutes_price_3",
        "starts/yardstick",
    }
    assert len(names) >= 100
    assert names - used == linked
    assert sum(path.stat().st_size for path in EVIDENCE.rglob("*") if path.is_file()) < MOST_BYTES
