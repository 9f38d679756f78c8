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
0.2 / 0.28), "of" the largest absolute entry. Everything is in float32, in which neighbors of
1 are 1.2e-7 apart. The top of each test says what a library does differently.

"""
COLUMNS = {
    "loss": "loss",
    "gradient in log-probabilities": "gradient in log-probabilities",
    "gradient in parameters": "gradient in parameters",
    "advantages": "advantages",
    "advantages, whitened": "whitened",
}
"""Quantity of the rows -> column of the page."""
NOTES = """
Not compared:

- TRL 1.16 has no token form of GSPO. Ours is compared with its sequence form, which is equal while
  a sequence has one advantage, and with verl's token form.
- TRL computes its advantages inside the rollout. Verl's are compared instead.
- No library has `mc_grpo`, or the moving average of `rae`. They are worked out by hand in
  `tests/learners/advantages/test_group.py` and `test_role_average.py`.
"""


def main(rows: Path, page: Path) -> None:
    """Join the rows of all libraries into one page."""
    found = [row for path in sorted(rows.glob("*.json")) for row in json.loads(path.read_text())]
    if not found:
        raise SystemExit(f"no rows in {rows}: run the comparisons with PARITY_ROWS={rows} first")
    page.write_text(INTRODUCTION + "\n".join(lines(found)) + "\n" + NOTES)


def lines(found: Iterable[dict[str, Any]]) -> Iterable[str]:
    """Yield the lines of the table, one for each method of a library."""
    groups: dict[tuple[str, ...], dict[str, list[dict[str, Any]]]] = {}
    seeds = set()
    for row in found:
        key = tuple(row[name] for name in ("ours", "library", "theirs"))
        groups.setdefault(key, {}).setdefault(COLUMNS[row["quantity"]], []).append(row)
        seeds.add(row["seed"])
    yield f"Seeds {min(seeds)} to {max(seeds)}:\n"
    yield f"| config | library | its name there | {' | '.join(COLUMNS.values())} |"
    yield f"|{'---|' * (3 + len(COLUMNS))}"
    for (ours, library, theirs), quantities in sorted(groups.items()):
        cells = " | ".join(cell(quantities.get(name, [])) for name in COLUMNS.values())
        yield f"| `{ours}` | {library} | {theirs} | {cells} |"


def cell(members: Iterable[dict[str, Any]]) -> str:
    """Return the largest difference and the largest entry of a quantity; empty without rows."""
    rows = list(members)
    if not rows:
        return ""
    difference = max(row["difference"] for row in rows)
    return f"{difference:.1e} of {max(row['size'] for row in rows):.2g}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
