"""Writes the table of differences that the comparisons kept.

    python tests/parity/table.py <folder of rows> <page>

Needs nothing but Python, so that `make parity` can call it from any of its environments.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

INTRODUCTION = """\
# Parity

Losses, gradients and advantages of `conf/learner/<config>.yaml` against those of other libraries.
`make parity` installs the libraries, runs the comparisons and writes this page.

A difference is the largest one over all seeds, entries and clips (3e-4 / 4e-4 and 0.2 / 0.28), as
a share of the largest entry. Everything is in float32, in which neighbors of 1 are 1.2e-7 apart.
[Each quantity](evidence/parity.csv) is in a table of its own. The top of each test says what a
library does differently.

"""
Row: TypeAlias = dict[str, Any]
COLUMNS = {
    "loss": "loss",
    "gradient in log-probabilities": "gradient in log-probabilities",
    "gradient in parameters": "gradient in parameters",
    "advantages": "advantages",
    "advantages, whitened": "whitened",
}
"""Quantity of the rows -> column of the table of all quantities."""
SHORT = {
    "gradient in log-probabilities": "gradients",
    "gradient in parameters": "gradients",
    "whitened": "advantages",
}
"""Column of the table -> its name on the page, if another."""
NOTES = """
Not compared:

- TRL 1.16 has no token form of GSPO. Ours is compared with its sequence form, which is equal while
  a sequence has one advantage, and with verl's token form.
- TRL computes its advantages inside the rollout. Verl's are compared instead.
- No library has `mc_grpo`, or the moving average of `rae`. They are worked out by hand in
  `tests/learners/advantages/test_group.py` and `test_role_average.py`.
"""


def main(rows: Path, page: Path) -> None:
    """Join the rows of all libraries into one page, and a table of all quantities beside it."""
    all_rows = [row for path in sorted(rows.glob("*.json")) for row in json.loads(path.read_text())]
    if not all_rows:
        raise SystemExit(f"no rows in {rows}: run the comparisons with PARITY_ROWS={rows} first")
    page.write_text(INTRODUCTION + "\n".join(lines(all_rows)) + "\n" + NOTES)
    with (page.parent / "evidence" / "parity.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["config", "library", "its name there", *COLUMNS.values()])
        for key, quantities in methods(all_rows):
            writer.writerow([*key, *(cell(quantities.get(name, [])) for name in COLUMNS.values())])


def methods(all_rows: Iterable[Row]) -> list[tuple[tuple[str, ...], dict[str, list[Row]]]]:
    """Return the rows of each method of a library by quantity, sorted by name."""
    groups: dict[tuple[str, ...], dict[str, list[Row]]] = {}
    for row in all_rows:
        key = tuple(row[name] for name in ("ours", "library", "theirs"))
        groups.setdefault(key, {}).setdefault(COLUMNS[row["quantity"]], []).append(row)
    return sorted(groups.items())


def lines(all_rows: Sequence[Row]) -> Iterable[str]:
    """Yield the lines of the table, one for each method of a library."""
    seeds = {row["seed"] for row in all_rows}
    yield f"Seeds {min(seeds)} to {max(seeds)}:\n"
    yield "| config | library | its name there | compared | largest difference |"
    yield "|---|---|---|---|---|"
    for (ours, library, theirs), quantities in methods(all_rows):
        compared = ", ".join(
            dict.fromkeys(SHORT.get(name, name) for name in COLUMNS.values() if name in quantities)
        )
        share = max(relative(members) for members in quantities.values())
        yield f"| `{ours}` | {library} | {theirs} | {compared} | {share:.0e} |"


def relative(rows: Sequence[Row]) -> float:
    """Return the largest difference of a quantity as a share of its largest entry."""
    return max(row["difference"] for row in rows) / max(row["size"] for row in rows)


def cell(rows: Sequence[Row]) -> str:
    """Return the largest difference and the largest entry of a quantity; empty without rows."""
    if not rows:
        return ""
    difference = max(row["difference"] for row in rows)
    return f"{difference:.1e} of {max(row['size'] for row in rows):.2g}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
