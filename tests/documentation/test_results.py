"""The tables of the results are those that their rows give, and the README agrees with them."""

from __future__ import annotations

import importlib
import math
import re
import sys

import numpy as np
import pytest
from places import ROOT

from laconic.envs.library.jury import theory

EVIDENCE = ROOT / "docs" / "evidence"
sys.path.append(str(EVIDENCE))
RESULTS = importlib.import_module("results")
CLAIMS = importlib.import_module("claims")
EXACT = importlib.import_module("exact_fidelity")
LEDGER = importlib.import_module("ledger")
ROWS = importlib.import_module("rows")
PAGES = {path.name: path.read_text("utf-8") for path in sorted(RESULTS.PAGES.glob("*.md"))}
FIGURE = re.compile(r"-?\d+\.\d+(?: %)? \[-?\d+\.\d+, -?\d+\.\d+\]")
"""A mean with its interval."""
MEAN = re.compile(r"(?<![\w.=])\d+\.\d(?![\d.])")
"""A number with one decimal."""
FORMER_RATE = re.compile(r"0\.0[26]|always|solved episodes|/ 50|by pass rate squared")
"""Words of the rate of a former economy; a rate of today has none of them."""
FORMER_NOTE = re.compile(r"\[former rule\]\([\w/.]*index\.md#former-economies\)")
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


def test_the_ledger_names_no_former_rate_and_the_other_table_no_other():
    ledger, former = (
        [row[-1].rpartition("<br>")[2] for row in RESULTS.TABLES[name]()[1:]]
        for name in ("ledger", "former")
    )
    assert len(ledger) >= 10
    assert len(ledger) + len(former) == len(CLAIMS.CLAIMS)
    assert [rate for rate in ledger if FORMER_RATE.search(rate)] == []
    assert [rate for rate in former if not FORMER_RATE.search(rate)] == []


def test_exactly_the_pages_under_a_former_rule_say_so_and_link_to_its_table():
    assert "\n## Former economies\n" in PAGES["index.md"]
    rows = [row[0] for row in RESULTS.TABLES["former"]()[1:]]
    links = set(re.findall(r"\(([\w/.]+\.md)(?:#[\w-]+)?\)", " ".join(rows)))
    pages = {(RESULTS.PAGES / link).resolve() for link in links}
    assert len(pages) >= len(rows) - 2
    for page in pages:
        assert FORMER_NOTE.search(page.read_text("utf-8")), f"{page.name} does not say so"
    marked = {name for name, page in PAGES.items() if FORMER_NOTE.search(page)}
    assert marked == {page.name for page in pages if page.parent == RESULTS.PAGES}


def test_gspo_is_named_only_where_a_ratio_acted():
    naming = {name for name, page in PAGES.items() if "GSPO" in page}
    assert naming == {"gsm8k.md", "quickstart.md"}
    for seed in range(3):
        rows = ROWS.updates(f"gsm8k_harder/default_{seed}")
        assert max(row.get("learner/ratio_max", 1.0) for row in rows) > 1.1
    for seed in (1, 2, 3):
        # An update without contrast has no ratio.
        rows = ROWS.updates(f"gsm8k_level1/default_{seed}")
        assert len(rows) >= 30
        most = [row.get("learner/ratio_max", 1.0) for row in rows]
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
    for module in map(importlib.import_module, ("rows", "figures", "values")):
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
        "graders",
        "growth",
        "judges",
        "parity",
        "starts/three_minutes",
        "starts/yardstick",
    }
    assert names > linked
    assert names - used == linked
    assert sum(path.stat().st_size for path in EVIDENCE.rglob("*") if path.is_file()) < MOST_BYTES


def test_the_exact_values_of_messages_are_those_of_the_theory_of_the_world():
    earned, said = EXACT.outcomes(), EXACT.spoken()
    right = 0.0
    for color, eyes, seen, *words in np.ndindex(*earned.shape):
        view = theory.sight(2, theory.EYES[eyes])[color, seen] / 3
        chance = view * math.prod(said[color, word] for word in words) / 2
        right += chance * earned[color, eyes, seen, *words]
    # The teacher of the start is silent 44, 22 and 4.4 % of the time.
    assert right == pytest.approx(theory.accuracy(((0.56, 0.78, 0.956),) * 2, 3), abs=1e-9)


def test_exact_credits_of_a_state_are_what_they_say():
    # Red is hidden, both others say it, and the solver's sharp eyes saw blue: 9 to 1, which two
    # words of 2.9 to 1 do not outweigh, and three do.
    measured = EXACT.credits(EXACT.outcomes(), 0.1)
    row = np.ravel_multi_index((0, 2, 1, 1, 1), (2, 3, 2, 3, 3))
    silent, red, blue = measured["own"][0][row]
    assert (silent, red, blue) == pytest.approx((0.0, 0.9, -0.1))
    assert list(measured["team"][0][row]) == pytest.approx([-0.2, 0.7, -0.3])
    assert list(measured["silence"][0][row]) == pytest.approx([0.0, 0.9, -0.1])
    # Joining both others is worth 1, and a third of the orders do.
    assert list(measured["shapley"][0][row]) == pytest.approx([0.0, 1 / 3 - 0.1, -0.1])
    assert list(measured["c3"][0][row]) == pytest.approx([-0.4, 0.95, -0.55])
    assert measured["shapley"][1][row].tolist() == [1, 8, 8]
