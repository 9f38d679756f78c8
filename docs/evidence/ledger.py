"""The ledger of docs/results/index.md: one row per claim, former economies aside."""

from __future__ import annotations

from collections.abc import Iterator

from claims import CLAIMS, Claim
from figures import Cells
from rows import provenance

FORMER = "(former_price.md)"
"""Link of the claims that stand on the page of former economies alone."""


def commits(claim: Claim) -> str:
    """Return the commits that the runs were made at, and those that added rows without any."""
    entries = [entry for run in claim.runs for entry in provenance(run)]
    known = dict.fromkeys(str(entry["commit"])[:8] for entry in entries)
    added = f"rows added in {claim.added}" if claim.added else ""
    return ", ".join(filter(None, [*known, added]))


def rows() -> Iterator[Cells]:
    """Yield the ledger's rows."""
    for claim in (claim for claim in CLAIMS if FORMER not in claim.text):
        made = (claim.command, commits(claim), f"seeds {claim.seeds}", claim.rate)
        yield [claim.text, claim.value().replace("; ", "<br>"), claim.limits, "<br>".join(made)]


def ledger() -> list[Cells]:
    """Return the ledger, its head first."""
    made = "command; commit; seeds; credit, price of a token, charged"
    return [["claim", "value, 95 % intervals", "limits", made], *rows()]
