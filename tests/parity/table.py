"""Writes the table of differences that the comparisons kept.

    python tests/parity/table.py <folder of rows> <page>

Needs nothing but Python, so that `make parity` can call it from any of its environments.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

INTRODUCTION = """\
# Parity

Losses, gradients and advantages of `conf/learner/<config>.yaml` against those of other libraries.
`make parity` installs the libraries, runs the comparisons and writes this page.

A difference is the largest absolute one over all seeds, entries and clips (3e-4 / 4e-4 and
0.2 / 0.28). *Up to* is the largest absolute entry. Everything is in float32, in which neighbors of
1 are 1.2e-7 apart. The top of each test says what a library does differently.

| config | library | its name there | compared | differs by at most | up to | seeds | test |
|---|---|---|---|---|---|---|---|
"""
NOTES = """
Not compared:

- TRL 1.16 has no token form of GSPO. Ours is compared with its sequence form, which is equal while
  a sequence has one advantage, and with verl's token form.
- TRL computes its advantages inside the rollout. Verl's are compared instead.
- No library has `mc_grpo` or `rae`. Their statistics are worked out by hand in
  `tests/learners/advantages/test_group.py` and `test_role_average.py`.
"""


def main(rows: Path, page: Path) -> None:
    """Join the rows of all libraries into one page."""
    found = [row for path in sorted(rows.glob("*.json")) for row in json.loads(path.read_text())]
    if not found:
        raise SystemExit(f"no rows in {rows}: run the comparisons with PARITY_ROWS={rows} first")
    page.write_text(INTRODUCTION + "\n".join(lines(found)) + "\n" + NOTES)


def lines(found: Iterable[dict[str, Any]]) -> Iterable[str]:
    """One line of the table for each thing compared."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in found:
        key = tuple(row[name] for name in ("ours", "library", "theirs", "quantity"))
        groups.setdefault(key, []).append(row)
    for (ours, library, theirs, quantity), members in sorted(groups.items()):
        seeds = sorted({row["seed"] for row in members})
        test = Path(members[0]["test"].partition("::")[0]).name
        yield (
            f"| `{ours}` | {library} | {theirs} | {quantity}"
            f" | {max(row['difference'] for row in members):.1e}"
            f" | {max(row['size'] for row in members):.2g}"
            f" | {seeds[0]} to {seeds[-1]} | `{test}` |"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
