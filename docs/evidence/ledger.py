"""The tables of docs/results/index.md: one row per claim, those of former economies apart."""

from __future__ import annotations

from collections.abc import Iterator

from claims import CLAIMS, PRESENT, Claim
from figures import Cells
from rows import provenance


def commits(claim: Claim) -> str:
    """Return the commits that the runs were made at, and those that added rows without any."""
    entries = [entry for run in claim.runs for entry in provenance(run)]
    known = dict.fromkeys(str(entry["commit"])[:8] for entry in entries)
    added = f"rows added in {claim.added}" if claim.added else ""
    return ", ".join(filter(None, [*known, added]))


def rows(former: bool) -> Iterator[Cells]:
    """Yield the rows of today's economy, or of former ones."""
    for claim in (claim for claim in CLAIMS if (claim.rate not in PRESENT) == former):
        made = (claim.command, commits(claim), f"seeds {claim.seeds}", claim.rate)
        yield [claim.text, claim.value().replace("; ", "<br>"), claim.limits, "<br>".join(made)]


def ledger(former: bool) -> list[Cells]:
    """Return the ledger, or the claims of former economies, the head first."""
    made = "command; commit; seeds; credit, price of a token, charged"
    return [["claim", "value, 95 % intervals", "limits", made], *rows(former)]
